#!/usr/bin/env python3
"""Compiles every source of the library and every header by itself, two at a time, but for the headers with which a source begins, as most do: that
is the proof. In a build several sources are one, and what a source does not include may come with another. A file that has passed is not compiled
again until it or what it includes changes.

usage: self_contained.py SOURCE_ROOT BUILD_ROOT COMPILER...
"""

import concurrent.futures
import json
import pathlib
import re
import shlex
import subprocess
import sys

# Compiled several times by the file that includes it, once for each instruction set; alone it means nothing.
NOT_ALONE = re.compile(r"_inl\.hpp$")


def flags_of(build):
    """What the floors are compiled with: include folders, definitions, language, warnings."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if "/src/" in f"/{entry['file']}" and "subprojects" not in entry["file"]:
            words = shlex.split(entry["command"])
            for first, second in zip(words, [*words[1:], ""]):
                if first == "-isystem":
                    found[first + second] = None
                elif re.match(r"-(I|D|isystem.|std=|W|pthread)", first) and first != "-Werror":
                    found[first] = None
    return list(found)


def up_to_date(stamp, signature):
    """The stamp holds the flags in its first line, then every file that was read."""
    if not stamp.exists():
        return False
    first, *read = stamp.read_text().splitlines()
    written = stamp.stat().st_mtime
    return first == signature and all(pathlib.Path(name).exists() and pathlib.Path(name).stat().st_mtime < written for name in read)


def compile_alone(file, source, build, compiler, flags):
    """Returns what the compiler said when it fails."""
    name = file.relative_to(source).as_posix().replace("/", "-")
    stamp = build / "test" / "lint" / "alone" / f"{name}.stamp"
    depfile = stamp.with_suffix(".d")
    what = [str(file)] if file.suffix == ".cpp" else ["-x", "c++", "-include", str(file), "/dev/null"]
    command = [*compiler, *flags, "-fsyntax-only", "-Werror", "-MD", "-MF", str(depfile), *what]
    if up_to_date(stamp, shlex.join(command)):
        return None
    done = subprocess.run(command, cwd=build, capture_output=True, text=True)
    if done.returncode != 0:
        return f"{file.relative_to(source)} does not compile alone:\n{done.stderr}"
    read = depfile.read_text().replace("\\\n", " ").split(":", 1)[1].split()
    stamp.write_text("\n".join([shlex.join(command), *((build / name).resolve().as_posix() for name in read)]))
    return None


def begins_with(sources, source):
    """The headers that these files include before anything else."""
    found = set()
    for path in sources:
        if first := re.search(r'^#include ["<]([^">]+)', path.read_text(), re.M):
            found |= {source / "src" / first[1], source / "include" / first[1]}
    return found


def needs_toolkit(file, sources):
    """Whether CUDA's headers are reached from this one, by whatever way."""
    reached, left = set(), [file]
    while left:
        text = left.pop().read_text()
        if re.search(r"^#include <(cuda|nccl)\.h>", text, re.M):
            return True
        ours = {sources / name for name in re.findall(r'^#include "([^"]+)"', text, re.M)} - reached
        reached |= ours
        left += [path for path in ours if path.exists()]
    return False


def main(source, build, *compiler):
    source, build = pathlib.Path(source).resolve(), pathlib.Path(build).resolve()
    files = [path for pattern in ("include/**/*.hpp", "src/**/*.hpp", "src/**/*.cpp") for path in sorted(source.glob(pattern))]
    flags = flags_of(build)
    if not any("cuda" in flag for flag in flags):
        files = [path for path in files if not needs_toolkit(path, source / "src")]
    proven = begins_with([path for path in files if path.suffix == ".cpp"], source)
    alone = [path for path in files if path not in proven and not NOT_ALONE.search(path.name)]
    (build / "test" / "lint" / "alone").mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers = [answer for answer in pool.map(lambda file: compile_alone(file, source, build, compiler, flags), alone) if answer]
    print("\n".join(answers))
    print(f"{len(alone)} files compiled alone; {len(answers)} failed")
    return 1 if answers else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
