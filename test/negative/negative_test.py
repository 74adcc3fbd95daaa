#!/usr/bin/env python3
"""Compiles programs that are wrong, and expects the sentence that tells why.

Every *.cpp beside this file begins with lines of these kinds:

    // expect: SENTENCE   a regular expression, to be found in an error of the compiler; each of several such lines is
    // flags: FLAGS       for the compiler, where the program is wrong

With RIGHT defined the same file has to compile, without those flags: so it is wrong for the reason that is looked for.

usage: negative_test.py SOURCE_ROOT BUILD_ROOT COMPILER...
"""

import concurrent.futures
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

# What most programs begin with; compiled once for all of them.
COMMON = "#include <tutti/communicator.hpp>"
# A caret shows the line that an error is in, which may hold the sentence itself.
ERROR = re.compile(r"^[^ ].*\berror: ")


def compile_it(compiler, flags, file):
    """Returns whether it compiles, and what the compiler said."""
    done = subprocess.run([*compiler, "-std=c++20", *flags, "-fsyntax-only", str(file)], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    return done.returncode == 0, done.stderr


def precompiled(compiler, flags, folder):
    """Returns the flag that makes use of the common header."""
    header = pathlib.Path(folder, "common.hpp")
    header.write_text(COMMON + "\n")
    subprocess.run([*compiler, "-std=c++20", *flags, "-x", "c++-header", str(header), "-o", f"{header}.gch"], check=True)
    return ["-include", str(header)]


def wrong_with(file, compiler, flags, common):
    """Returns what is to be said about one program: empty where all is as it should be."""
    lines = file.read_text().splitlines()
    expected = [line.removeprefix("// expect: ") for line in lines if line.startswith("// expect: ")]
    more = [flag for line in lines if line.startswith("// flags: ") for flag in shlex.split(line.removeprefix("// flags: "))]
    if not expected:
        return f"{file.name} expects nothing: its first line is `// expect: SENTENCE`"
    if COMMON in lines and not more:
        flags = [*flags, *common]
    compiles, said = compile_it(compiler, [*flags, "-DRIGHT"], file)
    if not compiles:
        return f"{file.name} does not compile with -DRIGHT:\n{said}"
    compiles, said = compile_it(compiler, [*flags, *more], file)
    if compiles:
        return f"{file.name} compiles, and should not"
    errors = [line for line in said.splitlines() if ERROR.match(line)]
    missing = [sentence for sentence in expected if not any(re.search(sentence, line) for line in errors)]
    return "".join(f"{file.name}: no error says '{sentence}':\n{said}" for sentence in missing)


def silent_header(header, compiler, flags):
    """An old compiler hears of what is needed before anything else, whichever header comes first."""
    said = subprocess.run([*compiler, "-std=c++17", *flags, "-fsyntax-only", "-Wfatal-errors", "-x", "c++", "-include", str(header), "/dev/null"],
                          capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stderr
    return "" if "Tutti needs C++20" in said else f"{header.name} does not say first that it needs C++20:\n{said}"


def main():
    source, build, *compiler = sys.argv[1:]
    flags = [f"-I{source}/include", f"-I{build}/include"]
    programs = sorted(pathlib.Path(__file__).parent.glob("*.cpp"))
    headers = sorted(pathlib.Path(source, "include/tutti").glob("*.hpp"))
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        common = precompiled(compiler, flags, folder)
        found = [*pool.map(lambda file: wrong_with(file, compiler, flags, common), programs),
                 *pool.map(lambda header: silent_header(header, compiler, flags), headers)]
    wrong = [each for each in found if each]
    print(*wrong, f"{len(programs)} programs and {len(headers)} headers, {len(wrong)} wrong", sep="\n")
    return 1 if wrong or not programs else 0


if __name__ == "__main__":
    sys.exit(main())
