"""The public headers as Doxygen reads them: with the same lines, and the comments that are written with two slashes for those who open a header.

- The comment at the top describes the file.
- A comment behind a member, or behind a value of an enumeration, describes it, with the lines below that begin in the same column.
- A comment within a class that has empty lines around it begins a group of functions. Its first sentence is their title.
"""

import re

import lint

BEHIND = re.compile(r"(?P<code>\s*\S.*?[;,{}\w])\s{2,}// (?P<text>\S.*)$")
ALONE = re.compile(r"(?P<indent>\s*)// (?P<text>\S.*)$")
END = "/**@}*/ "
GROUP_END = re.compile(r"(private:|protected:|\};)")


def described(source):
    lines = source.split("\n")
    code = lint.without_text(source).split("\n")
    bodies = {number for _, first, last in lint.functions(lint.without_text(source)) for number in range(first - 1, last)}
    name_the_file(lines)
    open_group = False
    number, column = 0, None
    while number < len(lines):
        line = lines[number]
        behind = BEHIND.match(line) if number not in bodies and code[number].strip() else None
        alone = ALONE.match(line) if number not in bodies else None
        if behind and not line.startswith("#"):
            column = line.index("// ", len(behind["code"]))
            lines[number] = line[:column] + "///< " + behind["text"]
        elif alone and column is not None and len(alone["indent"]) == column:
            lines[number] = alone["indent"] + "///< " + alone["text"]
        elif alone and len(alone["indent"]) == 4:
            last = number
            while ALONE.match(lines[last]):
                last += 1
            if not lines[last].strip() and not lines[number - 1].strip():
                begin_group(lines, number, last)
                lines[number - 1] = END * open_group + lines[number - 1]
                open_group, number = True, last
            column = None
        else:
            column = None
            if open_group and GROUP_END.match(line):
                lines[number] = END + line
                open_group = False
        number += 1
    return "\n".join(lines)


def name_the_file(lines):
    """The comment at the top ends with `#pragma once`, whose line is free for the command."""
    top = lines.index("#pragma once")
    for number in range(top):
        lines[number] = "/" + lines[number]
    lines[top] = "/// \\file"


def begin_group(lines, first, last):
    """The lines from `first` up to `last`, and the empty ones around them, become a title and a description."""
    text = " ".join(ALONE.match(line)["text"] for line in lines[first:last])
    title, _, rest = text.partition(". ")
    lines[first - 1:last + 1] = ["    /// \\name " + title.rstrip("."), "    /// " + rest, *["    ///"] * (last - first - 1), "    /**@{*/"]
