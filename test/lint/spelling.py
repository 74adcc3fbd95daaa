#!/usr/bin/env python3
"""Looks for misspelled words in the whole tree with codespell. spelling.txt holds words that are right all the same."""

import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ["include", "src", "test", "tools", "examples", "bench", "docs", ".ci/run", "subprojects/packagefiles"]
FILES = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "meson.build", "meson_options.txt"]

if not shutil.which("codespell"):
    print("skipped: codespell was not found; tools/install-dependencies installs it")
    sys.exit(77)
found = subprocess.run(["codespell", "--check-hidden", "--ignore-words", "test/lint/spelling.txt", "--skip", "__pycache__", *FOLDERS, *FILES],
                       cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
print(found.stdout, end="")
sys.exit(1 if found.stdout or found.returncode else 0)  # its own code is a number of words, which 77 and 256 would hide
