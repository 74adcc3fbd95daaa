#!/usr/bin/env python3
"""Reads the tree and reports what breaks the rules of the house: floors, sizes, names, tests, coroutine hazards, loose ends, dead links, prose.

It knows C++ by its brackets only, which is enough for code that keeps to the style. Whether headers compile alone is another
test (test/lint/self_contained.py), because it needs a compiler.

usage: lint.py [ROOT]; prints `file:line: rule: what` and exits with 1 when there is anything to print.
"""

import pathlib
import re
import sys

import prose

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60

# A floor may include floors of a smaller number only.
LEVELS = {
    "base": 0,
    "runtime": 1, "schedule": 1, "reduce": 1,
    "transport": 2, "rendezvous": 2,
    "algorithm": 3,
    "proof": 4, "engine": 4,
    "gpu": 5, "handshake": 5, "validation": 5,
    "group": 6,
    "join": 7,
    "communicator": 8,
    "reducer": 9,
    "device": 10,
}
# Plans and arithmetic are data and pure functions: no loop, no coroutine, no socket.
PURE_FLOORS = {"schedule", "algorithm", "proof", "reduce"}
ASIO_FILES = {"src/runtime/asio.hpp", "src/runtime/asio.cpp", "include/tutti/asio.hpp",
              "include/tutti/detail/asio_host.hpp", "include/tutti/detail/async_run.hpp", "include/tutti/detail/completion.hpp",  # parts of tutti/asio.hpp
              "src/runtime/readiness.cpp"}
ASIO = re.compile(r"^(boost/asio|asio)(/|\.hpp)|^boost/system/")
PURE_FORBIDDEN = re.compile(r"^(coroutine|boost/|asio|sys/socket\.h|netinet/)|^tutti/(task|future|scope|event_loop|asio)\.hpp$")

# Sources without a test file of their own name, and where they are tested instead. A key that ends in / covers a folder.
TESTED_ELSEWHERE = {
    "src/base/check.cpp": "it ends the process; every test relies on it",
    "src/algorithm/": "test/proof/catalogue_test.cpp verifies every builder at every size",
    "src/validation/arguments.cpp": "test/communicator/arguments_test.cpp",
    "src/communicator/context.cpp": "test/communicator/group_test.cpp",
    "src/communicator/communicator.cpp": "test/communicator/collectives_test.cpp and arguments in test/process/failure_test.cpp",
    "src/join/contact.cpp": "test/communicator/join_test.cpp",
    "src/join/gathering.cpp": "test/communicator/join_test.cpp",
    "src/join/members.cpp": "test/communicator/join_test.cpp",
    "src/device/parts.cpp": "test/device/parts_test.cpp",
    "src/handshake/greeting.cpp": "test/handshake/link_acceptor_test.cpp",
    "src/group/control.cpp": "test/communicator/control_test.cpp",
    "src/group/group.cpp": "test/communicator/group_test.cpp",
    "src/group/monitor.cpp": "test/communicator/monitor_test.cpp",
    "src/proof/expected.cpp": "test/proof/catalogue_test.cpp",
    "src/gpu/nccl_types.cpp": "test/device/nccl_types_test.cpp",
    "src/group/group_closing.cpp": "test/communicator/group_test.cpp",
    "src/group/group_tree.cpp": "test/communicator/control_test.cpp",
    "src/group/context_state.cpp": "test/communicator/group_test.cpp",
    "src/communicator/join.cpp": "test/communicator/group_test.cpp",
    "src/communicator/run.cpp": "test/process/failure_test.cpp",
    "src/reducer/gradient_marks.cpp": "test/reducer/reducer_test.cpp",
    "src/engine/": "by subject: order, mismatch, failure, algorithms in test/engine",
    "src/communicator/sibling.cpp": "test/device/operation_test.cpp",
    "src/device/communicator.cpp": "test/device/operation_test.cpp",
    "src/device/join.cpp": "test/device/failure_test.cpp",
    "src/device/reducer.cpp": "test/device/reducer_test.cpp",
    "src/device/parameters.cpp": "test/device/reducer_failure_test.cpp",
    "src/device/offer.cpp": "test/device/offer_test.cpp",
    "src/device/staged_carrier.cpp": "test/device/staged_operation_test.cpp",
    "src/device/staged_chunk.cpp": "test/device/staged_collectives_test.cpp",
    "src/device/staged_exchange.cpp": "test/device/staged_exchange_test.cpp",
    "src/device/staging.cpp": "test/device/staged_collectives_test.cpp",
    "src/gpu/arrival.cpp": "test/gpu/poller_test.cpp",
    "src/gpu/device_pointer.cpp": "test/device/failure_test.cpp",
    "src/gpu/device_request.cpp": "test/device/failure_test.cpp",
    "src/gpu/event_pool.cpp": "test/gpu/event_test.cpp",
    "src/gpu/identity.cpp": "test/gpu/availability_test.cpp",
    "src/gpu/library.cpp": "test/gpu/libraries_test.cpp",
    "src/gpu/issuer.cpp": "test/device/operation_test.cpp",
    "src/gpu/nccl_comm.cpp": "test/device/collectives_test.cpp",
    "src/gpu/device_engine_progress.cpp": "test/device/failure_test.cpp and threads_test.cpp",
    "src/gpu/nccl_carrier.cpp": "test/device/failure_test.cpp",
    "src/gpu/operation_state.cpp": "test/device/operation_test.cpp",
    "src/gpu/stream_line.cpp": "test/gpu/poller_test.cpp",
    "src/gpu/stream_shelf.cpp": "test/gpu/polling_modes_test.cpp",
    "src/gpu/workplace.cpp": "test/gpu/lifecycle_test.cpp",
    "src/rendezvous/dial.cpp": "test/rendezvous/names_test.cpp",
    "src/rendezvous/name_service.cpp": "test/rendezvous/names_test.cpp",
    "src/runtime/task_group.cpp": "test/runtime/scope_test.cpp",
    "src/runtime/stack_pool.cpp": "test/runtime/fiber_test.cpp",
    "src/transport/borrowing.cpp": "test/transport/lending_test.cpp",
    "src/transport/stream_lane.cpp": "test/transport/lane_test.cpp",
    "src/transport/connect_retry.cpp": "test/transport/conformance_test.cpp, for every kind of transport, as are the other small parts",
    "src/transport/host_transport.cpp": "test/transport/shm_transport_test.cpp, as are the parts below it",
    "src/transport/listener.cpp": "test/transport/conformance_test.cpp",
    "src/transport/local_socket.cpp": "test/transport/shm_transport_test.cpp",
    "src/transport/shared_memory.cpp": "test/transport/shm_transport_test.cpp",
    "src/transport/shm_link.cpp": "test/transport/shm_transport_test.cpp",
    "src/transport/lingering_socket.cpp": "test/transport/tcp_link_test.cpp",
    "src/transport/memory_link.cpp": "test/transport/memory_transport_test.cpp",
    "src/transport/simulated_line.cpp": "test/transport/simulated_transport_test.cpp",
    "src/transport/simulated_link.cpp": "test/transport/simulated_transport_test.cpp",
    "src/transport/switchboard.cpp": "test/transport/conformance_test.cpp",
    "src/transport/tcp_address.cpp": "test/transport/tcp_transport_test.cpp",
    "src/runtime/asio.cpp": "test/runtime/guest_test.cpp",
    "src/runtime/readiness.cpp": "test/runtime/guest_test.cpp",
    "src/rendezvous/address.cpp": "test/rendezvous/open_store_test.cpp",
    "src/rendezvous/asking_store.cpp": "test/rendezvous/store_suite.hpp, for every kind of store",
    "src/rendezvous/frame_socket.cpp": "test/rendezvous/tcp_store_test.cpp",
    "src/rendezvous/key_table.cpp": "test/rendezvous/memory_store_test.cpp",
    "src/rendezvous/launcher.cpp": "test/rendezvous/world_test.cpp",
    "src/rendezvous/log_file.cpp": "test/rendezvous/file_store_test.cpp",
    "src/rendezvous/prefixed_store.cpp": "test/rendezvous/memory_store_test.cpp",
    "src/rendezvous/store_connection.cpp": "test/rendezvous/tcp_store_test.cpp",
    "src/rendezvous/tcp_channel.cpp": "test/rendezvous/tcp_store_test.cpp",
    "src/rendezvous/tcp_store_server.cpp": "test/rendezvous/tcp_store_test.cpp",
}

BAD_NAME = re.compile(r"(^|_)(helpers?|utils?|utilities|managers?|impl|misc|common)(_|$)")
GOOD_NAME = re.compile(r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$")
LOOSE_END = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")  # in parts, so that this line is none
PORT_GUESS = re.compile(r"\b\w*(free|unused|available|random)_(tcp_)?port\w*|\b(find|pick|guess)_\w*port\w*", re.I)

FOLDERS = ["include", "src", "test", "tools", "examples", "bench", "docs", ".ci", "subprojects/packagefiles"]
ROOT_PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md"]
CODE = {".cpp", ".hpp"}
COMMENTED = CODE | {".c", ".cu"}  # with comments as in C++
TEXT = COMMENTED | {".py", ".build", ".md", ".sh", ""}
NOT_READ = {"test/lint/lint_test.py"}  # full of what must be found


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def blank(text):
    """Keeps the newlines, so that lines keep their numbers."""
    return re.sub(r"[^\n]", " ", text)


def without_text(source):
    """The code with comments, literals and preprocessor lines blanked out."""
    token = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Za-z_])\'(?:\\.|[^\'\\\n])+\'', re.S)

    def replace(match):
        found = match.group()
        return blank(found) if found[0] == "/" else '"' + blank(found[1:-1]) + '"'

    code = token.sub(replace, source)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda match: blank(match.group()), code, flags=re.M)


def without_code(page):
    """A page of Markdown with its blocks of code, its comments and its `code` blanked out."""
    code = re.compile(r"^[ ]*(?P<fence>```+|~~~+).*?^[ ]*(?P=fence)|<!--.*?-->|(?P<tick>`+)(?!`)(?:(?!\n\n).)+?(?<!`)(?P=tick)(?!`)", re.M | re.S)
    return code.sub(lambda match: blank(match.group()), page)


def anchors(page):
    """What may follow the # in a link to this page: its own marks, and its headings by GitHub's rule."""
    outside = without_code(page)
    found = set(re.findall(r'<a name="([^"]+)">', outside))
    for match in re.finditer(r"^#{1,6}[ \t]+(\S.*)$", page, re.M):
        if outside[match.start()] != "#":
            continue  # a comment in a block of code
        words = re.sub(r"\]\([^)]*\)", "", match[1]).rstrip("# \t").lower()  # of a link its text alone
        plain = anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        repeats = 0
        while anchor in found:
            repeats += 1
            anchor = f"{plain}-{repeats}"
        found.add(anchor)
    return found


def closing(code, start):
    """The position of the bracket that closes the one at `start`, or the end of the code."""
    pairs = {"(": ")", "[": "]", "{": "}"}
    expected = []
    for position in range(start, len(code)):
        letter = code[position]
        if letter in pairs:
            expected.append(pairs[letter])
        elif expected and letter == expected[-1]:
            expected.pop()
            if not expected:
                return position
    return len(code)


def lambdas(code):
    """Yields (position, captures, body) of every lambda."""
    for match in re.finditer(r"\[", code):
        start = match.start()
        before = code[:start].rstrip()
        if code.startswith("[[", start) or before.endswith("["):
            continue  # an attribute
        if re.search(r"[\w)\]>\"]$", before) and not re.search(r"\b(return|co_return|co_yield|co_await|case|else)$", before):
            continue  # an index, an array, delete[]
        end = closing(code, start)
        head = re.match(r"\s*(<[^{};]*?>)?\s*(\((?:[^()]|\([^()]*\))*\))?[^(){};=,]*?(?:->[^{};]*?)?\{", code[end + 1:])
        if head:
            body = end + head.end()
            yield start, code[start + 1:end].strip(), code[body:closing(code, body) + 1]


def own_code(body):
    """A lambda's body without the lambdas inside it."""
    for start, _, inner in lambdas(body):
        at = body.find(inner, start)
        if at >= 0:  # else it was inside one already blanked
            body = body[:at] + blank(inner) + body[at + len(inner):]
    return body


def expression_after(code, start):
    """From `start` to the end of the expression: a semicolon, or the bracket around it."""
    position = start
    while position < len(code) and code[position] not in ";)]}":
        if code[position] in "([{":
            position = closing(code, position)
        position += 1
    return code[start:position]


def functions(code):
    """Yields (position, first line, last line) of every outermost function body."""
    position = head = 0
    while position < len(code):
        letter = code[position]
        if letter in ";}":
            head = position + 1
        elif letter == "{":
            before = re.sub(r"\b(public|private|protected)\s*:", " ", code[head:position]).strip()
            scope = re.match(r"(template\s*<.*>\s*)?(export\s+)?(inline\s+)?(namespace|class|struct|union|enum|extern)\b", before, re.S)
            if "(" in before and not (scope and not re.search(r"\)\s*(const|noexcept|override|final|->.*)?\s*$", before)):
                end = closing(code, position)
                first = head + len(code[head:position]) - len(code[head:position].lstrip())
                yield position, line_of(code, first), line_of(code, end)
                position = end
            head = position + 1
        position += 1


class tree:
    """The files under a root, read once, and what is wrong with them."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.problems = []
        self.files = {}
        for folder in FOLDERS:
            for path in sorted((self.root / folder).rglob("*")):
                name = path.relative_to(self.root).as_posix()
                if path.is_file() and path.suffix in TEXT and name not in NOT_READ and "__pycache__" not in name:
                    self.files[name] = path.read_text(errors="replace")
        for name in ROOT_PAGES:
            if (self.root / name).is_file():
                self.files[name] = (self.root / name).read_text(errors="replace")
        for path in sorted((self.root / "subprojects").glob("*.wrap")):  # not what they unpack beside themselves
            self.files[path.relative_to(self.root).as_posix()] = path.read_text(errors="replace")

    def report(self, name, line, rule, what):
        self.problems.append((name, line, rule, what))

    def includes(self, name):
        for match in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', self.files[name], re.M):
            yield line_of(self.files[name], match.start()), match.group(1)

    def level_of_public(self, header, seen=()):
        """A public header stands as high as its source file, or as the highest header it includes."""
        name = f"include/{header}"
        if name not in self.files or header in seen:
            return 0
        stem = pathlib.PurePath(header).stem
        levels = [level for floor, level in LEVELS.items() if f"src/{floor}/{stem}.cpp" in self.files]
        below = [self.level_of_public(inner, (*seen, header)) for _, inner in self.includes(name) if inner.startswith("tutti/")]
        return max([min(levels, default=0), *below])

    def check_floors(self, name):
        parts = pathlib.PurePath(name).parts
        floor = parts[1] if parts[0] == "src" and len(parts) == 3 else None
        if parts[0] == "src" and floor and floor not in LEVELS:
            self.report(name, 1, "floors", f"'{floor}' is no floor")
            return
        for line, header in self.includes(name):
            if ASIO.search(header) and name not in ASIO_FILES and parts[0] in ("src", "include"):
                self.report(name, line, "floors", f"<{header}>: Asio comes through runtime/asio.hpp or tutti/asio.hpp only")
            if floor is None:
                if parts[0] == "include" and "/" in header and header.split("/")[0] in LEVELS:
                    self.report(name, line, "floors", f"a public header includes the internal '{header}'")
                continue
            if floor in PURE_FLOORS and PURE_FORBIDDEN.search(header):
                self.report(name, line, "floors", f"<{header}>: {floor} knows no loop, no coroutine and no socket")
            target = header.split("/")[0] if "/" in header else floor
            if target in LEVELS and target != floor and LEVELS[target] >= LEVELS[floor]:
                self.report(name, line, "floors", f"{floor} includes '{header}', which is not below it")
            if header.startswith("tutti/") and self.level_of_public(header) > LEVELS[floor]:
                self.report(name, line, "floors", f"{floor} includes <{header}>, which belongs to a floor above it")

    def check_asio_names(self, name, code):
        for match in re.finditer(r"\bboost\s*::\s*asio\b", code):
            if name not in ASIO_FILES and name.startswith("src/"):
                self.report(name, line_of(code, match.start()), "floors", "boost::asio: its names come through runtime/asio.hpp")

    def check_threads(self, name, code):
        """A thread of the library that takes signals takes them from the program."""
        if not name.startswith("src/") or name.startswith("src/base/quiet_thread"):
            return
        for match in re.finditer(r"\bstd\s*::\s*(j?thread|async)\b|\bpthread_create\b", code):
            self.report(name, line_of(code, match.start()), "threads", "a thread of the library is a quiet_thread")
        resolves = re.search(r"\basync_resolve\b", code)  # Asio starts a thread for it
        if resolves and not re.search(r"\bsignals_blocked\b", code):
            self.report(name, line_of(code, resolves.start()), "threads", "async_resolve starts a thread: signals_blocked before it")

    def check_sizes(self, name, code):
        lines = self.files[name].count("\n")
        if lines > MAX_FILE_LINES:
            self.report(name, lines, "size", f"{lines} lines; at most {MAX_FILE_LINES}")
        for _, first, last in functions(code):
            if last - first + 1 > MAX_FUNCTION_LINES:
                self.report(name, first, "size", f"a function of {last - first + 1} lines; at most {MAX_FUNCTION_LINES}")

    def check_coroutines(self, name, code):
        def found(position, what):
            self.report(name, line_of(code, position), "coroutine", what)

        for position, captures, body in lambdas(code):
            if captures and re.search(r"\bco_(await|return|yield)\b", own_code(body)):
                found(position, "a lambda coroutine with captures: they die with the lambda; pass arguments")
        for match in re.finditer(r"\bauto\s*(?:const\s*)?&{0,2}\s*\[[^\]]*\]\s*=\s*co_await\b", code):
            found(match.start(), "a structured binding of co_await (gcc 15 destroys it twice in loops); name the value first")
        for match in re.finditer(r"\bco_await\b", code):
            awaited = expression_after(code, match.end())
            if any(captures for _, captures, _ in lambdas(awaited)):
                found(match.start(), "a capturing lambda inside a co_await expression (g++ 12 destroys it twice); name it first")
            if re.search(r"\{\s*\.\s*\w", awaited):
                found(match.start(), "an aggregate inside a co_await expression (g++ 12 destroys it twice); name it first")
        for match in re.finditer(r"\bawait_suspend\s*\(", code):
            body = code.find("{", closing(code, match.end() - 1))
            end = code.find(";", closing(code, match.end() - 1))
            if body >= 0 and (end < 0 or body < end) and re.search(r"[.>]\s*destroy\s*\(\s*\)", code[body:closing(code, body)]):
                found(match.start(), "a coroutine frame destroyed inside await_suspend (g++ 15.2 still uses it)")
        for match in re.finditer(r"\btask<[^;{}()]*>\s+[\w:]+\s*\(", code):
            parameters = code[match.end():closing(code, match.end() - 1)]
            if re.search(r"(\bunique_ptr<[^&]*>|\bvector<[^&]*>|\bstring)\s+\w+,.*\bfuture<[^&]*>\s+\w+\s*(,|$)", parameters, re.DOTALL):
                found(match.start(), "a future behind what its operation may use (g++ destroys parameters from the first on); one object for both")

    def check_names(self, name):
        stem = pathlib.PurePath(name).stem
        if not GOOD_NAME.match(stem):
            self.report(name, 1, "name", "file names are snake_case")
        if BAD_NAME.search(stem):
            self.report(name, 1, "name", f"'{stem}' does not say what the file is about")

    def check_test(self, name):
        if not name.startswith("src/") or not name.endswith(".cpp"):
            return
        if any(name == key or (key.endswith("/") and name.startswith(key)) for key in TESTED_ELSEWHERE):
            return
        test = f"test/{name.removeprefix('src/').removesuffix('.cpp')}_test.cpp"
        if test not in self.files:
            self.report(name, 1, "test", f"there is no {test} (or list it in tools/lint.py with where it is tested)")

    def check_wrap(self, name):
        """Meson puts the files of a wrap's patch_directory into what it downloads, and fails without them."""
        for number, line in enumerate(self.files[name].split("\n"), 1):
            folder = re.match(r"\s*patch_directory\s*=\s*(\S+)", line)
            if folder and f"subprojects/packagefiles/{folder[1]}/meson.build" not in self.files:
                self.report(name, number, "wrap", f"there is no subprojects/packagefiles/{folder[1]}/meson.build")

    def check_links(self, name):
        root = self.root.resolve()
        text = without_code(self.files[name])
        for match in re.finditer(r"\]\(\s*([^)\s]+)", text):
            if re.match(r"[A-Za-z][\w+.-]*:", match[1]):
                continue  # a page elsewhere
            line = line_of(text, match.start(1))
            path, _, anchor = match[1].partition("#")
            target = (root / name).parent.joinpath(path).resolve() if path else root / name
            if not target.exists() or not target.is_relative_to(root):
                self.report(name, line, "link", f"'{match[1]}': there is no such file")
            elif anchor and anchor not in anchors(self.files.get(target.relative_to(root).as_posix(), "")):
                self.report(name, line, "link", f"'{match[1]}': there is no such heading")

    def check_text(self, name):
        for number, line in enumerate(self.files[name].split("\n"), 1):
            if LOOSE_END.search(line):
                self.report(name, number, "loose end", "finish it or file it; the code says what is")
            if PORT_GUESS.search(line):
                self.report(name, number, "port", "a port that was free is not free: bind port 0 and ask for the number")

    def check_prose(self, name):
        for line, what in prose.problems(name, self.files[name]):
            self.report(name, line, "prose", what)

    def check(self):
        for name in self.files:
            self.check_text(name)
            if name.endswith(".wrap"):
                self.check_wrap(name)
            suffix = pathlib.PurePath(name).suffix
            if suffix == ".md":
                self.check_links(name)
            if suffix == ".md" or suffix in COMMENTED:
                self.check_prose(name)
            if suffix not in CODE:
                continue
            code = without_text(self.files[name])
            self.check_floors(name)
            self.check_asio_names(name, code)
            self.check_threads(name, code)
            self.check_sizes(name, code)
            self.check_coroutines(name, code)
            self.check_names(name)
            self.check_test(name)


def main(root):
    house = tree(root)
    house.check()
    problems = sorted(house.problems)
    for name, line, rule, what in problems:
        print(f"{name}:{line}: {rule}: {what}")
    print(f"lint: {len(house.files)} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    if sys.argv[1:] in (["--help"], ["-h"]):
        sys.exit(print(__doc__.strip()))
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent))
