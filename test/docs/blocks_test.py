#!/usr/bin/env python3
"""Compiles every block of C++ in the README and the manual.

A block that is no whole program stands behind a comment, which readers do not see, with what is around it:

    <!-- around
    task<> example(communicator& world) {
        ...
    }
    -->

The block takes the place of the line `...`. All have <tutti/tutti.hpp>, and the namespace tutti.

usage: blocks_test.py SOURCE_ROOT BUILD_ROOT GPU COMPILER...    GPU: true where the build knows devices
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"(?:^<!-- around\n(?P<around>.*?)^-->\n\n?)?^```cpp\n(?P<code>.*?)^```$", re.M | re.S)
COMMON = "#include <tutti/tutti.hpp>\n"


def blocks(page):
    """Yields the line that a block begins in, and the program that it is."""
    text = page.read_text()
    for found in BLOCK.finditer(text):
        line = text.count("\n", 0, found.start("code")) + 1
        code = f'#line {line} "{page.name}"\n{found["code"]}'
        around = found["around"]
        if around is None:
            yield line, code
        else:
            before, _, after = around.partition("...\n")
            yield line, f"using namespace tutti;\n{before.rstrip(' ')}\n{code}{after}"


def complaint(page, line, program, compiler, flags, folder):
    file = pathlib.Path(folder, f"{page.name}-{line}.cpp")
    file.write_text(program)
    done = subprocess.run([*compiler, "-std=c++20", *flags, "-fsyntax-only", str(file)], capture_output=True, text=True)
    return "" if done.returncode == 0 else f"{page}:{line}:\n{done.stderr}"


def main():
    source, build, gpu, *compiler = sys.argv[1:]
    root = pathlib.Path(source)
    flags = [f"-I{build}/include", f"-I{source}/include", f"-I{source}/src"]
    pages = [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").glob("*.md"))]
    programs = [(page, line, program) for page in pages for line, program in blocks(page) if gpu == "true" or "gpu" not in program]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        header = pathlib.Path(folder, "common.hpp")
        header.write_text(COMMON)
        subprocess.run([*compiler, "-std=c++20", *flags, "-x", "c++-header", str(header), "-o", f"{header}.gch"], check=True)
        flags += ["-include", str(header)]
        found = pool.map(lambda each: complaint(*each, compiler, flags, folder), programs)
        wrong = [each for each in found if each]
    print(*wrong, f"{len(programs)} blocks, {len(wrong)} do not compile", sep="\n")
    return 1 if wrong or not programs else 0


if __name__ == "__main__":
    sys.exit(main())
