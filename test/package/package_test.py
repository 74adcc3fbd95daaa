#!/usr/bin/env python3
"""Installs a build into a temporary folder and uses it as strangers do, through pkg-config: shared, static and uninstalled; in a program with an
Asio of its own; and twice in one process. Looks at what the libraries show: only what the installed headers declare.

usage: package_test.py BUILD PKG_CONFIG SOURCES GUEST.cpp OTHER_BOOST COMPILER...

SOURCES is the folder of the programs, GUEST.cpp one that has Tutti on its own io_context, OTHER_BOOST a folder with the headers of a Boost of another version (`tools/install-dependencies --other-boost`).
"""

import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# Names of functions, constants, type information and thunks, all inside of tutti.
OURS = re.compile(r"_Z(?:T[ISV]|T[hv]\w*?_)?NK?5tutti(?P<rest>\w*)")


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


def identifiers(rest):
    """Of the nested name that follows `5tutti`: those up to the first template or the arguments."""
    found = []
    while length := re.match(r"\d+", rest):
        start = length.end()
        end = start + int(length[0])
        found.append(rest[start:end])
        rest = rest[end:]
    return found


def promised(symbol, words):
    """Whether the headers declare it. Constructors, destructors and operators have no identifier of their own."""
    ours = OURS.match(symbol)
    return bool(ours) and all(each in words for each in identifiers(ours["rest"]))


def check_symbols(library, dynamic, words):
    listed = run(["nm", *(["-D"] if dynamic else []), "--defined-only", "--extern-only", "--format=posix", library])
    symbols = [fields[0].split("@")[0] for line in listed.splitlines() if len(fields := line.split()) > 1]
    strangers = [each for each in symbols if not promised(each, words)]
    if strangers or not symbols:
        plain = run(["c++filt"], input="\n".join(strangers[:20]))
        sys.exit(f"{library.name} shows {len(symbols)} symbols, of which {len(strangers)} are not declared in its headers, such as\n{plain}")
    print(f"{library.name}: {len(symbols)} symbols, all of them declared in the headers")


class Workshop:
    """Compiles each source once for each set of flags, and links programs."""

    def __init__(self, compiler, sources, folder):
        self.compiler, self.sources, self.folder = [*compiler, "-std=c++20"], pathlib.Path(sources), pathlib.Path(folder)
        self.made = itertools.count()
        self.objects = {}

    def compile(self, source, flags):
        key = (source, *flags)
        if key not in self.objects:
            target = self.folder / f"{next(self.made)}.o"
            # Hidden and movable, as modules of Python are compiled.
            run([*self.compiler, "-fvisibility=hidden", "-fPIC", *flags, "-c", self.sources / source, "-o", target])
            self.objects[key] = target
        return self.objects[key]

    def link(self, objects, flags):
        target = self.folder / f"{next(self.made)}.out"
        run([*self.compiler, "-o", target, *objects, *flags])
        return target


def expect(title, sentence, command, libraries):
    said = run(command, env={**os.environ, "LD_LIBRARY_PATH": str(libraries)}, timeout=60)
    if sentence not in said:
        sys.exit(f"{title}: it did not say '{sentence}', but\n{said}")
    print(f"{title}: {sentence}")


def check_private(flags):
    """A program that only compiles gets no flags of what the library is made of."""
    strange = [flag for flag in flags if not flag.startswith("-I") and flag != "-pthread"]
    if strange:
        sys.exit(f"the flags for compiling say {' '.join(strange)}")


# The same one, and the same in other configurations, which change classes of the same names.
ASIOS = {"the same Asio": [], "an Asio without threads": ["-DBOOST_ASIO_DISABLE_THREADS"], "an Asio without epoll": ["-DBOOST_ASIO_DISABLE_EPOLL"]}


def check_own_asio(workshop, ways, compiling, other_boost, libraries):
    """Beside Tutti's, also that of another Boost."""
    asios = dict(ASIOS)
    if pathlib.Path(other_boost, "boost", "asio.hpp").exists():
        asios["another Boost"] = ["-isystem", other_boost]
    else:
        print(f"not tried: another Boost, which would be in {other_boost} (tools/install-dependencies --other-boost)")
    for asio, flags in asios.items():
        own = workshop.compile("own_asio.cpp", ["-fvisibility=default", *flags])  # what it shows might be taken for the library's
        objects = [workshop.compile("beside_asio.cpp", []), own, workshop.compile("tutti_works.cpp", compiling)]
        for way, linking in ways.items():
            expect(f"{way}, beside {asio}", "both work", [workshop.link(objects, linking)], libraries)


def check_guest(workshop, ways, compiling, guest, libraries):
    """A program that runs Tutti on its own Asio."""
    for asio, flags in ASIOS.items():
        compiled = workshop.compile(guest, [*compiling, *flags])
        for way, linking in ways.items():
            expect(f"{way}, as a guest of {asio}", "the average is 0", [workshop.link([compiled], linking)], libraries)


def check_copies(workshop, ways, compiling, libraries):
    """A program with one copy that shows all its symbols, and plugins with others."""
    works = workshop.compile("tutti_works.cpp", compiling)
    plugins = {way: workshop.link([workshop.compile("plugin.cpp", []), works], ["-shared", *linking]) for way, linking in ways.items()}
    for way, linking in ways.items():
        program = workshop.link([workshop.compile("with_plugin.cpp", []), works], ["-rdynamic", *linking, "-ldl"])
        expect(f"{way}, with plugins that are {' and '.join(plugins)}", "all copies work", [program, *plugins.values()], libraries)


def main(build, pkg_config, sources, guest, other_boost, *compiler):
    def flags(folder, *options):
        return run([pkg_config, *options, "tutti"], env={**os.environ, "PKG_CONFIG_PATH": str(folder)}).split()

    with tempfile.TemporaryDirectory() as folder:
        descriptions = install(build, folder)
        libraries = descriptions.parent
        words = set(re.findall(r"\w+", "\n".join(header.read_text() for header in pathlib.Path(folder).rglob("*.hpp"))))
        version = flags(descriptions, "--modversion")[0]
        compiling = flags(descriptions, "--cflags")
        check_private(compiling)
        ways = {}
        if (libraries / "libtutti.so").exists():
            ways["shared"] = flags(descriptions, "--libs")
            if not (libraries / name_for_the_loader(version)).exists():
                sys.exit(f"there is no {name_for_the_loader(version)} among {sorted(path.name for path in libraries.glob('libtutti*'))}")
            check_symbols(libraries / "libtutti.so", True, words)
        if (libraries / "libtutti.a").exists():
            ways["static"] = ["-l:libtutti.a" if flag == "-ltutti" else flag for flag in flags(descriptions, "--libs", "--static")]
            check_symbols(libraries / "libtutti.a", False, words)
        if not ways:
            sys.exit("no library was installed")

        workshop = Workshop(compiler, sources, folder)
        consumer = [workshop.compile(source, compiling) for source in ("consumer.cpp", "tutti_works.cpp")]
        sentence = f"the installed copy of {version} works"
        for way, linking in ways.items():
            expect(f"{way}, {' '.join(linking)}", sentence, [workshop.link(consumer, linking)], libraries if way == "shared" else "/nowhere")
        if "shared" in ways:
            uninstalled = pathlib.Path(build, "meson-uninstalled")
            objects = [workshop.compile(source, flags(uninstalled, "--cflags")) for source in ("consumer.cpp", "tutti_works.cpp")]
            expect("uninstalled", sentence, [workshop.link(objects, flags(uninstalled, "--libs"))], build)
        check_own_asio(workshop, ways, compiling, other_boost, libraries)
        check_guest(workshop, ways, compiling, guest, libraries)
        check_copies(workshop, ways, compiling, libraries)


if __name__ == "__main__":
    main(*sys.argv[1:])
