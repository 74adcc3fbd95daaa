#!/usr/bin/env python3
"""Compiles every header alone, two at a time, but for those with which a source of this build begins, as most do: that is the proof. A header
that has passed is not compiled again until it or what it includes changes.

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


def compile_alone(header, source, build, compiler, flags):
    """Returns what the compiler said when it fails."""
    name = header.relative_to(source).as_posix().replace("/", "-")
    stamp = build / "test" / "lint" / "headers" / f"{name}.stamp"
    depfile = stamp.with_suffix(".d")
    command = [*compiler, *flags, "-fsyntax-only", "-x", "c++", "-Werror", "-MD", "-MF", str(depfile), "-include", str(header), "/dev/null"]
    if up_to_date(stamp, shlex.join(command)):
        return None
    done = subprocess.run(command, cwd=build, capture_output=True, text=True)
    if done.returncode != 0:
        return f"{header.relative_to(source)} does not compile alone:\n{done.stderr}"
    read = depfile.read_text().replace("\\\n", " ").split(":", 1)[1].split()
    stamp.write_text("\n".join([shlex.join(command), *((build / name).resolve().as_posix() for name in read)]))
    return None


def begins_with(source, build):
    """The headers that sources of this build include before anything else."""
    found = set()
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = (build / entry["file"]).resolve()
        if (source / "src") in path.parents and (first := re.search(r'^#include ["<]([^">]+)', path.read_text(), re.M)):
            found |= {source / "src" / first[1], source / "include" / first[1]}
    return found


def needs_toolkit(header, sources):
    """Whether CUDA's headers are reached from this one, by whatever way."""
    reached, left = set(), [header]
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
    headers = [path for folder in ("include", "src") for path in sorted((source / folder).rglob("*.hpp")) if not NOT_ALONE.search(path.name)]
    flags = flags_of(build)
    if not any("cuda" in flag for flag in flags):
        headers = [path for path in headers if not needs_toolkit(path, source / "src")]
    proven = begins_with(source, build)
    alone = [path for path in headers if path not in proven]
    (build / "test" / "lint" / "headers").mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers = [answer for answer in pool.map(lambda header: compile_alone(header, source, build, compiler, flags), alone) if answer]
    print("\n".join(answers))
    print(f"{len(headers)} headers, of which {len(headers) - len(alone)} begin a source; {len(answers)} do not compile alone")
    return 1 if answers else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
