"""Finds sentences that read badly in pages of Markdown and in the comments of C++, without false alarms. lint.py uses it."""

import pathlib
import re

FOLDERS = ("docs/", "include/", "src/", "test/", "tools/", "bench/", "examples/")
PAGES = {"README.md", "CONTRIBUTING.md", "SECURITY.md"}

MAX_WORDS = 45

CODE_WORD = "\x01"  # stands for every letter of `code` and of an address, so that one of them is one word
FENCED = re.compile(r"^[ ]*(?P<fence>```+|~~~+).*?^[ ]*(?P=fence)|<!--.*?-->", re.M | re.S)
SPAN = re.compile(r"(?P<tick>`+)(?!`)(?:(?!\n[ ]*\n).)+?(?<!`)(?P=tick)(?!`)|(?:https?://|mailto:)[^\s)>]+", re.S)
ITEM = re.compile(r"\s*(?:[-*+]|\d+\.)\s+")
TABLE_RULE = re.compile(r"\s*\|[\s:|-]+$")
COMMENT = re.compile(r'(?P<code>(?:[^"/]|/(?!/)|"(?:\\.|[^"\\])*")*?)(?P<mark>///?)<?(?!/)(?P<text>.*)$')
DRAWING = re.compile(r"\s{3}|.*\S\s{3,}\S")  # a line of a table, a picture or an example in a comment
SENTENCE_END = re.compile(r'(?<!e\.g)(?<!i\.e)(?<!\bcf)(?<!\bvs)[.!?:][)"*_]*(?=\s+["(*_\[]*[A-Z\x01])|\Z')

# Each with the reason why it is a rule, and what it says.
EVERYWHERE = [
    # A clause as subject: the reader learns at the verb only whom the sentence is about.
    (re.compile(r"\A[*_(\"]*(?:Who|Whoever|What)\b(?!.*\?[)\"*_]*$)", re.S),
     "a sentence that begins with who or what; name the sender, the caller, the value"),
    # These subjects leave open which rank, thread or program is meant.
    (re.compile(r"\b(?i:nobody|somebody|whoever)\b"), "nobody, somebody, whoever: name the rank, the thread or the program"),
    # A genitive without a noun or a verb. With a comma it may be a sentence: "Of the three algorithms, one is chosen."
    (re.compile(r"\AOf (?:an?|the)\b[^,]*$"), "of what, without a verb; say what it is"),
    # A number without a name, where the parameter has one.
    (re.compile(r"\b(?:so and so many|(?:at\s+most|at\s+least|the\s+first|of|for)\s+so\s+many)\b(?!\s+that\b)"),
     "so many: name the number, as `count`"),
    # It says that a person did it, and stands for: without the library, in plain code, separately.
    (re.compile(r"(?<!written )(?<!edited )(?<!installed )(?<!started )\b[Bb]y\s+hand\b"), "by hand: say how it is done"),
    # The field has words for these, which readers know and can search for.
    (re.compile(r"\b(?:doorman|lodging|journey|mend(?:s|ed|ing)?)\b"),
     "not the field's word; for doorman, lodging, journey, mend: link acceptor, loop-local value, transfer, repair"),
]
# The first sentence of a comment.
COMMENT_BEGINS = [
    # A comment that describes a thing begins with what it does or is.
    (re.compile(r"\AOf (?:an?|the)\b"), "a comment that begins with of what; begin with what it is"),
]
DOCUMENTATION_BEGINS = [
    # The verb is missing: a function returns it, a value says it.
    (re.compile(r"\A[Ww]hether\b"), "documentation that begins with whether; begin with 'Returns whether' or name the condition"),
]


def paragraphs(page):
    """Yields (line, text) of the paragraphs, items of lists and cells of tables; not of headings, heads of tables and code."""
    lines = [*FENCED.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), page).split("\n"), ""]
    block, first = [], 0
    for number, line in enumerate(lines, 1):
        text = re.sub(r"^\s*>\s?", "", line)
        heading, row, item = re.match(r"#{1,6}\s", text), text.lstrip().startswith("|"), ITEM.match(text)
        if block and (not text.strip() or heading or row or item):
            yield first, "\n".join(block)
            block = []
        if row:
            if not TABLE_RULE.match(text) and not TABLE_RULE.match(lines[number]):
                yield from ((number, cell) for cell in re.split(r"(?<!\\)\|", SPAN.sub(one_word, text)))
        elif text.strip() and not heading and (block or item or not text.startswith("    ")):
            first = first if block else number
            block.append(text[item.end():] if item else text)


def comments(source):
    """Yields (line, mark, text) of the comments; those below each other, with the same mark in the same column, are one."""
    block, first, last = [], 0, None
    for number, line in enumerate([*source.split("\n"), ""], 1):
        found = COMMENT.match(line)
        text = found["text"] if found and not DRAWING.match(found["text"]) else ""
        place = (found["mark"], len(found["code"])) if found else None
        if block and not (text.strip() and place == last and not found["code"].strip()):
            yield first, last[0], "\n".join(block)
            block = []
        if text.strip():
            first, last = (first if block else number), place
            block.append(text)


def one_word(match):
    return re.sub(r"[^\n]", CODE_WORD, match.group())


def sentences(text):
    """Yields (position, sentence)."""
    start = 0
    for end in SENTENCE_END.finditer(text):
        sentence = text[start:end.end()]
        yield start + len(sentence) - len(sentence.lstrip()), sentence.strip()
        start = end.end()


def problems(name, text):
    """Yields (line, what) of the file called `name`."""
    if not (name.startswith(FOLDERS) or name in PAGES):
        return
    page = pathlib.PurePath(name).suffix == ".md"
    blocks = ((line, "", block) for line, block in paragraphs(text)) if page else comments(text)
    for first, mark, block in blocks:
        block = SPAN.sub(one_word, block)
        for number, (position, sentence) in enumerate(sentences(block)):
            begins = [] if number else [*(COMMENT_BEGINS if mark else []), *(DOCUMENTATION_BEGINS if mark == "///" else [])]
            line = first + block.count("\n", 0, position)
            yield from ((line, what) for rule, what in EVERYWHERE + begins if rule.search(sentence))
            words = len(re.findall(r"\S*[\w\x01]\S*", sentence))
            if words > MAX_WORDS:  # a reader has lost its beginning by then
                yield line, f"a sentence of {words} words; at most {MAX_WORDS}"
