#!/usr/bin/env python3
"""Installs a build into a temporary folder and builds a consumer against it through pkg-config: shared, static, and uninstalled.

usage: package_test.py BUILD PKG_CONFIG CONSUMER.cpp COMPILER...
"""

import os
import pathlib
import subprocess
import sys
import tempfile


def run(command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def install(build, folder):
    """Installs below `folder` and makes the pkg-config file say so. Returns the file's folder."""
    run(["meson", "install", "-C", build, "--no-rebuild", "--destdir", folder])
    description = next(pathlib.Path(folder).rglob("tutti.pc"))
    lines = description.read_text().splitlines()
    moved = [f"prefix={folder}{line.removeprefix('prefix=')}" if line.startswith("prefix=") else line for line in lines]
    description.write_text("\n".join(moved) + "\n")
    return description.parent


def name_for_the_loader(version):
    """Before 1.0 a minor version may break what an earlier one kept."""
    major, minor, _ = version.split(".")
    return f"libtutti.so.{f'0.{minor}' if major == '0' else major}"


def check(title, compiler, consumer, flags, program, libraries, version):
    environment = {**os.environ, "LD_LIBRARY_PATH": str(libraries)}
    run([*compiler, "-std=c++20", "-fvisibility=hidden", consumer, "-o", program, *flags])  # as modules of Python are compiled
    if f"the installed copy of {version} works" not in run([program], env=environment, timeout=60):
        sys.exit(f"{title}: the consumer did not say that it works")
    print(f"{title}: {' '.join(flags)}")


def main(build, pkg_config, consumer, *compiler):
    def flags(folder, *options):
        return run([pkg_config, *options, "--cflags", "--libs", "tutti"], env={**os.environ, "PKG_CONFIG_PATH": str(folder)}).split()

    with tempfile.TemporaryDirectory() as folder:
        descriptions = install(build, folder)
        libraries = descriptions.parent
        program = pathlib.Path(folder, "consumer")
        version = run([pkg_config, "--modversion", "tutti"], env={**os.environ, "PKG_CONFIG_PATH": str(descriptions)}).strip()
        shared = (libraries / "libtutti.so").exists()
        if shared:
            check("shared", compiler, consumer, flags(descriptions), program, libraries, version)
            if not (libraries / name_for_the_loader(version)).exists():
                sys.exit(f"there is no {name_for_the_loader(version)} among {sorted(path.name for path in libraries.glob('libtutti*'))}")
            check("uninstalled", compiler, consumer, flags(pathlib.Path(build, "meson-uninstalled")), program, build, version)
        if (libraries / "libtutti.a").exists():
            whole = ["-l:libtutti.a" if flag == "-ltutti" else flag for flag in flags(descriptions, "--static")]
            check("static", compiler, consumer, whole, program, "/nowhere", version)
        elif not shared:
            sys.exit("no library was installed")


if __name__ == "__main__":
    main(*sys.argv[1:])
