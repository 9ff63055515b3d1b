"""The commands that Markdown pages tell to type, and how each page says they are to be tried.

A command is a line of a block (indented, or fenced as bash, sh or console) or a span of code in the
text, that begins with one of PROGRAMS. Commands of a block are run, in their order, and end with 0.
A page says otherwise in a comment before the block, or before the paragraph or table with the span:

    <!-- try: {exit: 2} -->

The keys are those of Try. Several comments may stand before one block; `lines` says which of its
commands one of them is for.
"""

import re
import shlex
from dataclasses import dataclass, field, fields, replace
from functools import cache
from itertools import groupby
from pathlib import Path

from diskbench.yaml_lines import plain_yaml

ROOT = Path(__file__).parents[2]
PAGES = tuple(
    sorted(
        [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("tests/**/*.md")],
        key=lambda page: str(page.relative_to(ROOT)),
    )
)
PROGRAMS = {
    "diskbench", "sudo", "pip", "python", "python3", "git", "ssh", "govc", "aws", "az", "gcloud",
    "podman",
    "docker", "systemctl", "useradd", "install", "ln", "jupyter", "export", "cd", "apt-get", "dnf",
    "brew", "openssl", "curl", "chmod", "uv", "uvx", "mkdir", "ssh-keygen", "ssh-keyscan", "DISK",
}  # fmt: skip
"""What begins a command; so does a path to a program."""
_PATH = re.compile(r"script/[\w-]+|(?:[~.]?[\w.-]*/)+bin/[\w.-]+")
_REGION = re.compile(r"^[a-z]+-[a-z]+-\d$")
"""`aws eu-central-1 …` begins a line of output."""
_SETTING = re.compile(r"[A-Z_]+=")
_COMMENT = re.compile(r"^<!-- try: (.*?) -->$", re.MULTILINE)
_SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_FORM = re.compile(r"…|\.\.\.(?!\d)|<[^>]+>|(?<![\w$/.{-])[A-Z][A-Z_-]*(?![\w=:])")
"""What stands for something else in a command: NAME, <name>, an ellipsis."""
_LANGUAGES = {"bash", "sh", "shell", "console"}


@dataclass(frozen=True)
class Try:
    """How a page wants commands of its to be tried."""

    lines: str = ""
    """Only the commands that hold this text."""
    exit: int = 0
    setup: str = ""
    """What has to be there; a name of tests/docs/setups.py. It stays for the rest of the page."""
    replace: dict[str, str] = field(default_factory=dict)
    """Text of the command → what is typed in place of it."""
    add: str = ""
    """What is typed behind it, such as a shorter time."""
    stop: str = ""
    """It does not end by itself: when it prints this, it gets a Ctrl-C."""
    parsed: str = ""
    """Why it cannot be run here; it is given to the parser only."""
    thorough: str = ""
    """Why it takes long: it is run with the tests that do."""


@dataclass(frozen=True)
class Command:
    page: Path
    line: int
    text: str
    """As it stands there; continued lines are one."""
    in_block: bool
    tries: tuple[Try, ...] = ()

    @property
    def where(self):
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def typed(self):
        text = self.text
        for one in self.tries:
            for old, new in one.replace.items():
                text = text.replace(old, new)
        command, comment = _split_comment(text)
        added = " ".join(one.add for one in self.tries if one.add)
        return f"{command} {added}{comment}".strip() if added else text

    @property
    def words(self):
        """The words of `typed`, without `sudo` and what is behind a redirection."""
        words = shlex.split(self.typed, comments=True)
        words = words[1:] if words[:1] == ["sudo"] else words
        ends = [place for place, word in enumerate(words) if word in {">", "|", "&&", ";"}]
        return words[: ends[0]] if ends else words

    @property
    def is_form(self):
        command, _ = _split_comment(self.typed)
        return bool(_FORM.search(re.sub(r"'[^']*'|\"[^\"]*\"", "", command)))

    def said(self, name):
        """What its comments say of a field of Try; the last one that says anything."""
        default = getattr(Try(), name)
        found = [value for one in self.tries if (value := getattr(one, name)) != default]
        return found[-1] if found else default


@cache
def commands(page):
    return [one for part in _parts(page) for one in _of_part(page, part)]


@dataclass
class _Part:
    """Lines that stand together: a block, or a paragraph with its tables."""

    is_block: bool
    begin: int
    lines: list[str]
    tries: tuple[Try, ...]


def _parts(page):
    tries: list[Try] = []
    for part in _raw_parts(page.read_text().splitlines()):
        text = "\n".join(part.lines)
        found = [_try(page, part.begin, one) for one in _COMMENT.findall(text)]
        if found and not _COMMENT.sub("", text).strip():
            tries += found
            continue
        if _COMMENT.search(text) and not part.is_block:  # directly before its paragraph
            while part.lines and _COMMENT.fullmatch(part.lines[0].strip()):
                part.lines.pop(0)
                part.begin += 1
        part.tries = (*tries, *found)
        tries = []
        yield part
    if tries:
        raise ValueError(f"{page.name}: a comment `try` stands before nothing")


def _raw_parts(lines):
    numbered = zip(enumerate(lines, 1), _keys(lines), strict=True)
    for key, found in groupby(numbered, key=lambda one: one[1]):
        if key is not None:
            whole = [numbered_line for numbered_line, _ in found]
            begin, is_block = whole[0][0], key[1] == "block"
            yield _Part(is_block, begin, [line for _, line in whole], tries=())


def _keys(lines):
    """Of each line its part's number, and `block` or `text`; None for what is neither."""
    part, fence, before = 0, "", None
    for line in lines:
        bare, key = line.strip(), None
        if bare.startswith("```"):
            fence = "" if fence else bare.strip("`").strip() or "text"
        elif fence:
            key = (part, "block") if fence in _LANGUAGES else None
        elif bare:
            goes_on = before is not None and before[1] == "text"  # whatever it is indented by
            key = (part, "block" if line.startswith("    ") and not goes_on else "text")
        if key is None:
            part += 1
        yield key
        before = key


def _try(page, line, text):
    given = plain_yaml(text)
    known = {one.name for one in fields(Try)}
    if not isinstance(given, dict) or not given.keys() <= known:
        raise ValueError(f"{page.name}:{line}: a comment `try` holds {known}, not {text!r}")
    return Try(**given)


def _of_part(page, part):
    found = _in_block(page, part) if part.is_block else _in_text(page, part)
    chosen: set[int] = set()
    for one in found:
        mine = tuple(t for t in part.tries if t.lines in one.text)
        chosen |= {id(t) for t in mine}
        yield replace(one, tries=mine)
    if idle := [t for t in part.tries if id(t) not in chosen]:
        raise ValueError(f"{page.name}:{part.begin}: no command for {idle}")


def _in_block(page, part):
    text, begin = "", part.begin
    for number, line in enumerate(part.lines, part.begin):
        begin = begin if text else number
        text += line.strip().removeprefix("$ ")
        if text.endswith("\\"):
            text = text[:-1].rstrip() + " "
            continue
        if is_command(text):
            yield Command(page, begin, text, in_block=True)
        text = ""


def _in_text(page, part):
    whole = "\n".join(part.lines)
    for found in _SPAN.finditer(whole):
        text = " ".join(found[1].split())
        if is_command(text):
            line = part.begin + whole.count("\n", 0, found.start())
            yield Command(page, line, text, in_block=False)


def is_command(text):
    words = text.split()
    while words and _SETTING.match(words[0]):
        words.pop(0)
    if not words or words[1:2] == ["="] or _REGION.search(" ".join(words[1:2])):
        return False
    is_name = len(words) == 1 and words[0] != "diskbench"
    return (words[0] in PROGRAMS and not is_name) or bool(_PATH.fullmatch(words[0]))


def _split_comment(text):
    found = re.match(r"(.*?)(\s+#\s.*)?$", text)
    assert found
    return found[1], found[2] or ""
