"""The pages as Doxygen reads them: headings have names, links lead to pages of the site, and comments are gone."""

import pathlib
import re

import lint

LINK = re.compile(r"(?<!!)\[(?P<text>(?:[^\[\]]|\[[^\[\]]*\])*)\]\(\s*(?P<path>[^)#\s]*)(?:#(?P<anchor>[^)\s]*))?\)")
EITHER = re.compile(LINK.pattern + r"|!\[(?P<about>[^\]]*)\]\((?P<picture>[^)\s]+)\)")
HEADING = re.compile(r"^(#{1,6})[ \t]+(\S.*)$", re.M)
ELSEWHERE = re.compile(r"[A-Za-z][\w+.-]*:")
CODE = re.compile(r"^[ ]*(?P<fence>```+|~~~+).*?^[ ]*(?P=fence)|<!--.*?-->|(?P<span>`[^`\n]+`)", re.M | re.S)
MARK = re.compile(r'<a name="([^"]+)">')
MAIN = "README.md"


def name_of(page):
    """The page's name in the site, as `failures` for docs/failures.md."""
    special = {MAIN: "index", "docs/README.md": "manual"}
    return special.get(page) or re.sub(r"\W", "-", page.removeprefix("docs/").removesuffix("/README.md").removesuffix(".md")).lower()


def label(page, anchor):
    return name_of(page) + "_" + re.sub(r"[^\w-]", "-", anchor.encode("ascii", "replace").decode())


def titles_of(text):
    """Yields (match, anchor) of the headings, with the anchors that lint.py takes links to."""
    outside = lint.without_code(text)
    marks = "".join(mark[0] for mark in MARK.finditer(outside)) + "\n\n"
    so_far = lint.anchors(marks)
    for match in HEADING.finditer(text):
        if outside[match.start()] != "#":
            continue
        found = lint.anchors(marks + text[:match.end()])
        yield match, (found - so_far).pop()
        so_far = found


def staged(page, text, pages, headers):
    """`pages`: all names of pages; `headers`: of headers, as tutti/task.hpp."""
    text = named_headings(page, text)
    code = lint.without_code(text)
    parts, end = [], 0
    for match in EITHER.finditer(text):
        if code[match.start()] == text[match.start()]:
            parts += [text[end:match.start()], replaced(page, match, pages, headers)]
            end = match.end()
    text = "".join([*parts, text[end:]])
    text = CODE.sub(as_written, text)
    text = MARK.sub(lambda mark: f'<a name="{label(page, mark[1])}">', text)
    return re.sub(r"<!--.*?-->", lambda comment: re.sub(r"[^\n]", "", comment[0]), text, flags=re.S)


def as_written(code):
    """Within a line Doxygen takes % for a command, file: for an address unless a % is in it, and ' for the end unless there are two ticks."""
    if not code["span"]:
        return code[0]
    text = re.sub(r"\b(f|h)(?=(?:ile|ttps?):)", r"\1%", re.sub(r"%(?=\w)", "%%", code[0]))
    return f"`{text}`" if "'" in text else text


def named_headings(page, text):
    parts, end = [], 0
    for number, (match, anchor) in enumerate(titles_of(text)):
        name = name_of(page) if number == 0 else label(page, anchor)
        named = f"{match[0]} {{#{name}}}"
        if page == MAIN:  # its sections would stand in the navigation, beside the other pages
            named = f"<h1><a name='{name}'></a>{match[2]}</h1>" if number else match[0]
        parts += [text[end:match.start()], named]
        end = match.end()
    return "".join([*parts, text[end:]])


def replaced(page, link, pages, headers):
    if link["picture"]:
        return f"![{link['about']}]({pathlib.PurePath(link['picture']).name})"
    text, path, anchor = link["text"], link["path"], link["anchor"]
    if ELSEWHERE.match(path):
        return link[0]
    target = normal(page, path) if path else page
    if target in pages:
        return f"[{text}]({name_of(target)}.html{'#' + label(target, anchor) if anchor else ''})"
    if target.removeprefix("include/") in headers:
        return f'<a href="{file_page(target.removeprefix("include/"), headers)}">{text}</a>'
    return text if text.strip("`") == target else f"{text} (`{target}`)"  # a file that the site does not have


def normal(page, path):
    parts = []
    for part in (pathlib.PurePath(page).parent / path).parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def file_page(header, headers):
    """The name that Doxygen gives a header's page: of its path as much as no other header ends with."""
    parts = header.removeprefix("tutti/").split("/")
    endings = ("/".join(parts[-count:]) for count in range(1, len(parts) + 1))
    alone = (ending for ending in endings if sum(f"/{other}".endswith(f"/{ending}") for other in headers) == 1)
    return next(alone, "/".join(parts)).replace("_", "__").replace(".", "_8").replace("/", "_2") + ".html"


def sections(index):
    """[(title, [(text, page)])] of docs/README.md: its headings, and the first link in each row of their tables."""
    found = []
    for line in index.split("\n"):
        if line.startswith("## "):
            found.append((line[3:], []))
        elif found and line.startswith("| [") and (link := LINK.search(line)):
            found[-1][1].append((link["text"].strip("`"), normal("docs/README.md", link["path"]), link["anchor"]))
    return found
