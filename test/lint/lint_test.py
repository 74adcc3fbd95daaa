#!/usr/bin/env python3
"""The linter itself: what it must find, and what it must let pass."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import lint  # noqa: E402

LONG_FUNCTION = "void f() {\n" + "    g();\n" * 60 + "}\n"

# file, its text, the rule it breaks, the line
BAD = [
    ("src/runtime/a.hpp", '#include "engine/engine.hpp"\n', "floors", 1),
    ("src/transport/a.hpp", '\n#include "rendezvous/world.hpp"\n', "floors", 2),
    ("src/attic/a.hpp", "", "floors", 1),
    ("src/runtime/a.hpp", "#include <tutti/communicator.hpp>\n", "floors", 1),
    ("src/schedule/a.hpp", "#include <coroutine>\n", "floors", 1),
    ("src/algorithm/a.hpp", '#include "runtime/asio.hpp"\n#include <sys/socket.h>\n', "floors", 2),
    ("src/reduce/a.hpp", "#include <tutti/task.hpp>\n", "floors", 1),
    ("src/transport/a.hpp", "#include <boost/asio/ip/tcp.hpp>\n", "floors", 1),
    ("src/transport/a.hpp", "\nboost::asio::any_io_executor x;\n", "floors", 2),
    ("include/tutti/a.hpp", '#include "base/check.hpp"\n', "floors", 1),
    ("src/base/a.hpp", "int x;\n" * 401, "size", 401),
    ("src/base/a.hpp", "namespace a {\n" + LONG_FUNCTION + "}\n", "size", 2),
    ("src/base/a.hpp", "class a {\npublic:\n    a() : b_{1}, c_(2) {\n" + "        g();\n" * 60 + "    }\n};\n", "size", 3),
    ("test/base/a_test.cpp", 'TEST_CASE("a long one")' + LONG_FUNCTION[8:], "size", 1),
    ("src/runtime/a.hpp", "auto x = [&]() -> task<> { co_await y; };\n", "coroutine", 1),
    ("src/runtime/a.hpp", "auto x = [this](int i) mutable -> task<int> {\n    if (i) { co_return 1; }\n};\n", "coroutine", 1),
    ("src/runtime/a.hpp", "void f() {\n    g([n] { co_await n; });\n}\n", "coroutine", 2),
    ("src/runtime/a.hpp", "task<> f() {\n    auto [a, b] = co_await g();\n}\n", "coroutine", 2),
    ("src/runtime/a.hpp", "task<> f() {\n    const auto& [a, b] = co_await g();\n}\n", "coroutine", 2),
    ("src/runtime/a.hpp", "task<> f() {\n    co_await g([&] { return 1; });\n}\n", "coroutine", 2),
    ("src/runtime/a.hpp", "task<> f() {\n    co_await g({.bucket = 3});\n}\n", "coroutine", 2),
    ("src/runtime/a.hpp", "struct a {\n    void await_suspend(handle h) { h.destroy(); }\n};\n", "coroutine", 2),
    ("src/runtime/a.hpp", "\ntask<> f(std::unique_ptr<int> memory,\n         future<> end);\n", "coroutine", 2),
    ("src/transport/a.hpp", "\nauto thread = std::thread([] {});\n", "threads", 2),
    ("src/gpu/a.hpp", "std::jthread thread;\n", "threads", 1),
    ("src/rendezvous/a.hpp", "\nresolver.async_resolve(host, port, done);\n", "threads", 2),
    ("src/base/string_utils.hpp", "", "name", 1),
    ("src/base/manager.hpp", "", "name", 1),
    ("src/base/BadName.hpp", "", "name", 1),
    ("src/base/a.cpp", "", "test", 1),
    ("tools/perf/a.cpp", "int x;\nint free_port();\n", "port", 2),
    ("test/support/a.hpp", "int find_unused_port();\n", "port", 1),
    ("src/base/a.hpp", "// TODO: finish\n", "loose end", 1),
    ("docs/a.md", "\nFIXME\n", "loose end", 2),
    ("subprojects/a.wrap", "[wrap-file]\npatch_directory = b\n", "wrap", 2),
    ("docs/a.md", "\nRead [this](nowhere.md).\n", "link", 2),
    ("README.md", "![a picture](docs/nowhere.svg)\n", "link", 1),
    ("SECURITY.md", "[`code`](src/nowhere/)\n", "link", 1),
    ("examples/a/README.md", "two\n[lines\nof text](../nowhere.md)\n", "link", 3),
    ("docs/a.md", "[not of the tree](../../)\n", "link", 1),
    ("docs/a.md", "[not relative](/docs/a.md)\n", "link", 1),
    ("docs/a.md", "# One\n[two](#two)\n", "link", 2),
    ("docs/a.md", "[here](../CONTRIBUTING.md#not-there)\n", "link", 1),
    ("docs/a.md", "# One\n# One\n[only two of them](#one-2)\n", "link", 3),
    ("docs/a.md", "```\n# No heading\n```\n[code](#no-heading)\n", "link", 4),
    ("docs/a.md", "[a line](../src/communicator/communicator.cpp#L1)\n", "link", 1),
    ("docs/a.md", "One. Who comes\nlate waits.\n", "prose", 1),
    ("docs/a.md", "\nOne.\nNobody waits.\n", "prose", 3),
    ("docs/a.md", "- One.\n- **What it does**, it does.\n", "prose", 2),
    ("docs/a.md", "| a | b |\n|---|---|\n| `c` | What it does. |\n", "prose", 3),
    ("docs/a.md", "> Whoever comes late waits.\n", "prose", 1),
    ("README.md", "The lock is held for somebody.\n", "prose", 1),
    ("docs/a.md", "Of the second rank.\n", "prose", 1),
    ("SECURITY.md", "It takes at most so\nmany bytes.\n", "prose", 1),
    ("docs/a.md", "A sum by hand.\n", "prose", 1),
    ("docs/a.md", "Rank 0 mends the tree.\n", "prose", 1),
    ("docs/a.md", "One. A" + " word" * 45 + ".\n", "prose", 1),
    ("src/base/a.hpp", "int x;  // What it is\n", "prose", 1),
    ("src/base/a.hpp", "/// One.\n/// Who waits,\n/// sleeps.\nint x;\n", "prose", 2),
    ("bench/a.hpp", "/// Whether it waits.\nbool waits();\n", "prose", 1),
    ("tools/a/a.hpp", "// Of a rank, with its links.\n", "prose", 1),
    ("include/tutti/a.hpp", "f(\"//\");  // as nobody waits\n", "prose", 1),
    ("test/base/a_test.cpp", "// What waits.\n", "prose", 1),
    ("examples/a/a.cu", "// As nobody waits.\n", "prose", 1),
    ("examples/a/a.cpp", "// One" + "\n// word" * 45 + "\n", "prose", 1),
]

GOOD = [
    ("src/runtime/a.hpp", "task<> f(future<> end, std::unique_ptr<int> memory);\ntask<> g(std::vector<int>& memory, future<> end);\n"),
    ("src/engine/a.hpp", '#include "transport/frame.hpp"\n#include "algorithm/catalogue.hpp"\n#include <algorithm>\n'),
    ("src/runtime/asio.hpp", "#include <boost/asio/ip/tcp.hpp>\n"),
    ("src/runtime/a.hpp", "auto x = [&] { return 1; };\nauto y = [](int n) -> task<> { co_await n; };\n"),
    ("src/runtime/a.hpp", "void f() {\n    auto x = [&] { return [](int n) -> task<> { co_await n; }; };\n}\n"),
    ("src/runtime/a.hpp", "task<> f() {\n    auto g = [&] { return 1; };\n    co_await h(g);\n    list[1] = 2;\n}\n"),
    ("src/runtime/a.hpp", "task<> f() {\n    co_await g(); // not [&] { this }\n    auto [a, b] = pair;\n}\n"),
    ("src/runtime/a.hpp", "[[nodiscard]] task<> f() {\n    int a[3] = {};\n    co_await g(a[1]);\n    later([&] {});\n}\n"),
    ("src/base/a.hpp", "class a {\n" + "    void f() {}\n" * 70 + "};\n"),
    ("src/base/a.hpp", "const char* text = \"[&] { co_await x; }\";\nconst char quote = '\"';\nint n = 1'000'000;\n"),
    ("src/base/a.hpp", "struct impl;\n"),
    ("src/runtime/a.hpp", "std::this_thread::yield();\nquiet_thread thread;\n"),
    ("src/transport/a.hpp", "const signals_blocked guard;\nresolver.async_resolve(host, port, done);\n"),
    ("src/algorithm/ring.cpp", ""),
    ("subprojects/a.wrap", "[wrap-file]\ndirectory = b\npatch_directory = a\n"),
    ("docs/a.md", "[elsewhere](https://nowhere.example/a.md#one), [mail](mailto:somebody@nowhere.example)\n"),
    ("docs/a.md", "[a file](../src/communicator/communicator.cpp), [a folder](../src), [itself](a.md), [a heading](../CONTRIBUTING.md#add-a-test)\n"),
    ("README.md", "# One, and `two_three`: it's 4-5!\n[one](#one-and-two_three-its-4-5) and [one](README.md#one-and-two_three-its-4-5)\n"),
    ("docs/a.md", "# One\n## One\n# One\n[the first](#one), [the second](#one-1), [the third](#one-2)\n"),
    ("docs/a.md", "<a name=\"a-mark\"></a>*A mark.* [It](#a-mark)\n"),
    ("docs/a.md", "# [Linked](../src) ##\n[its text](#linked)\n"),
    ("docs/a.md", "# What it does\n| What | Who |\n|---|---|\n| `nobody` | <https://nowhere.example/nobody> |\n"),
    ("docs/a.md", "What does it do? It waits. Of the two ranks, one waits. Of so many that wait, one sleeps.\n"),
    ("docs/a.md", "A loop that is written by hand; so many ranks that it waits.\n```\nnobody # Who waits?\n```\n\n    nobody\n"),
    ("docs/a.md", "A" + " word" * 44 + ". A `" + "word " * 60 + "word` of code:\n- one" + " word" * 30 + "\n- two" + " word" * 30 + "\n"),
    ("src/base/a.hpp", "auto text = \"// Who waits\";  // the caller, see nobody_waits\n// Says whether it waits.\n"),
    ("src/base/a.hpp", "// As drawn:\n//     nobody    waits\n/// One" + " word" * 30 + "\n// one" + " word" * 30 + "\n"),
    ("docs/a.md", "```cpp\nf([&](int n) {});\n```\n<!-- around\nf([](a b) {});\n-->\nor `[](auto x) {}`, ``[`](nowhere)``\n"),
]


def problems(name, text):
    with tempfile.TemporaryDirectory() as root:
        path = pathlib.Path(root, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        task = pathlib.Path(root, "include", "tutti", "communicator.hpp")
        task.parent.mkdir(parents=True, exist_ok=True)
        task.write_text("#include <coroutine>\n")
        source = pathlib.Path(root, "src", "communicator", "communicator.cpp")
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text("")
        page = pathlib.Path(root, "CONTRIBUTING.md")
        page.write_text("# Contributing\n\n## Add a test\n")
        overlay = pathlib.Path(root, "subprojects", "packagefiles", "a", "meson.build")
        overlay.parent.mkdir(parents=True, exist_ok=True)
        overlay.write_text("")
        house = lint.tree(root)
        house.check()
        return [problem for problem in house.problems if problem[0] == name]


class what_the_linter_does(unittest.TestCase):
    def test_it_finds_what_breaks_a_rule(self):
        for name, text, rule, line in BAD:
            with self.subTest(name=name, text=text[:80]):
                self.assertIn((name, line, rule), [problem[:3] for problem in problems(name, text)])

    def test_it_lets_good_code_pass(self):
        for name, text in GOOD:
            with self.subTest(name=name, text=text[:80]):
                self.assertEqual([], problems(name, text))

    def test_every_excuse_is_needed(self):
        root = pathlib.Path(lint.__file__).resolve().parent.parent
        for key in lint.TESTED_ELSEWHERE:
            with self.subTest(key=key):
                self.assertTrue((root / key).exists())


if __name__ == "__main__":
    unittest.main()
