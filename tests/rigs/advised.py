"""The command lines that diskbench's own texts name, and whether its parser takes them."""

import ast
import re
import shlex
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from typer.exceptions import TyperException

import diskbench
from diskbench.cli.lazy import COMMANDS, is_group, load
from diskbench.cli.run_command import typed_for
from diskbench.plugin import plugin_names
from diskbench.yaml_lines import plain_yaml

SOURCE = Path(diskbench.__file__).parent
VALUE = "VALUE"
"""What stands where a text puts a value in."""
_QUOTED = re.compile(r"(['`])diskbench ([^'`\n]+)\1")
_BARE = re.compile(r"(?<![\w'`./@])diskbench ((?:[^\s'`;,()]+ ?)+)")
_NAMED = re.compile(r"diskbench (?!import\b)")
_WORD = re.compile(r"[a-z][a-z-]*")


@dataclass(frozen=True)
class Advised:
    """A command line in a text; one that is not `quoted` is a command where it begins with one."""

    where: str
    line: str
    quoted: bool


def advised():
    """Every command line in the strings of diskbench, docstrings left out."""
    for path in sorted(SOURCE.rglob("*.py")):
        source = path.read_text()
        if not _NAMED.search(source):
            continue  # parsing all of them takes seconds
        nodes = list(ast.walk(ast.parse(source)))
        left_out = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        joined = (node for node in nodes if isinstance(node, ast.JoinedStr))
        left_out |= {id(part) for node in joined for part in node.values}
        name = path.relative_to(SOURCE)
        for node in nodes:
            text = "" if id(node) in left_out else _text(node)
            if "diskbench " in text:
                yield from _named_in(f"{name}:{getattr(node, 'lineno', 0)}", text)
    for path in sorted(SOURCE.rglob("refusals.yaml")):
        for rule, row in plain_yaml(path.read_text()).items():
            for text in row.values():
                where = f"{path.relative_to(SOURCE)}: {rule}"
                yield from _named_in(where, re.sub(r"\{[^{}]*\}", VALUE, text))


def _named_in(where, text):
    for found in _QUOTED.finditer(text):
        yield Advised(where, found[2], quoted=True)
    for found in _BARE.finditer(_QUOTED.sub("", text)):
        yield Advised(where, found[1], quoted=False)


def _text(node):
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else VALUE
            for part in node.values
        )
    return ""


@cache
def loaded(name, *arguments):
    """A command with the options that these arguments lead to, made once: making one takes long."""
    return load(name, arguments)


def fault(one):
    """Why the parser would not take it; None where it would, or where it is no command."""
    words = _words(one.line)
    if not words or words[0] not in COMMANDS:
        return f"no command {words[0]!r}" if words and one.quoted and _is_word(words[0]) else None
    provider = typed_for("--provider", words)
    decide = ["--provider", provider] if provider in plugin_names() else []
    decide += {"--live"}.intersection(words)  # of `doctor`: it then takes the options of `run`
    name, rest = words[0], words[1:]
    if is_group(name):
        if not rest or f"{name} {rest[0]}" not in COMMANDS:
            if rest and one.quoted and _is_word(rest[0]):
                return f"{name} has no command {rest[0]!r}"
            if rest and one.quoted and rest[0].startswith("-"):
                return _refused(loaded(name), rest[:1])  # an option of the group, or of none
            return None
        name, rest = f"{name} {rest[0]}", rest[1:]
    return _refused(loaded(name, *decide), rest if one.quoted else _until_prose(rest))


def _refused(command, words):
    context = command.make_context(command.name, [], resilient_parsing=True)
    context.resilient_parsing = False  # or the parser would take everything
    try:
        _, left, _ = command.make_parser(context).parse_args(words)
    except TyperException as error:
        if "requires an argument" in str(error):  # a text about the option, whatever its value
            return None
        return f"{type(error).__name__}: {error}"
    return f"too many arguments: {' '.join(left)}" if left else None


def _words(line):
    try:
        return shlex.split(line.rstrip(" .:"))
    except ValueError:
        return line.split()


def _until_prose(words):
    """The words before the sentence goes on: options, their values, and what stands for a value."""
    kept: list[str] = []
    for word in words:
        is_option = word.startswith("-")
        follows_option = bool(kept) and kept[-1].startswith("--")
        if not (is_option or follows_option or word.strip(".:").isupper() or VALUE in word):
            break
        kept.append(word.rstrip(".:"))
    return kept


def _is_word(text):
    return _WORD.fullmatch(text) is not None
