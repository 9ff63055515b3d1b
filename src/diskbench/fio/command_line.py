"""fio's command lines as a job file: guides print `fio --name=test --rw=read …` as often as a file.

The rules are those of fio's parse_cmd_line (axboe/fio, init.c, 3.33): what stands before the first
`--name` holds for every job after it, as what stands after `--name=global` does; a further `--name`
begins the next job. Several commands, one after the other, become steps of one profile.
"""

import re
import shlex
from typing import Final

from diskbench.errors import ProfileError

_PROMPT: Final = re.compile(r"(?:\[[^\]\n]*\])?[$#][ \t]+")
_FIO: Final = re.compile(r"(?:sudo(?:[ \t]+-\S+)*[ \t]+)?(?:\S*/)?fio[ \t]+\S")
_CONTINUED: Final = re.compile(r"\\[ \t]*(?:\n|\Z)")
_PLACEHOLDER: Final = re.compile(r"(?<=[\w/=])<([A-Za-z][\w -]*)>")
"""`/dev/<device>`, which guides print for the reader to replace."""
_FLAGS: Final = frozenset(
    {"group_reporting", "time_based", "stonewall", "wait_for_previous", "thread", "new_group",
     "exitall", "fill_device", "norandommap", "softrandommap", "disable_lat", "refill_buffers",
     "readonly", "minimal", "append-terse", "warnings-fatal"}
)  # fmt: skip
"""Options whose value, if any, follows `=`: a word after such an option is a job file."""
_WRITES: Final = re.compile(r"write|trim|rw")


def is_command(text: str) -> bool:
    """Whether a text is one of fio's command lines, or several: its first line that is neither
    empty nor a comment begins with `fio`, perhaps behind a prompt and `sudo`."""
    return any(_FIO.match(line) for line in _lines(text)[:1])


def job_file(text: str) -> str:
    """The job file that does what the commands do, each behind a stonewall.

    Raises ProfileError naming the command for anything but fio and its options.
    """
    sections: list[str] = []
    for line in _lines(text):
        for words in _commands(line):
            sections += _sections(words, follows=bool(sections))
    return "\n".join(sections)


def _lines(text: str) -> list[str]:
    """The commands, without comments, empty lines and the ends of continued lines."""
    joined = _CONTINUED.sub(" ", text.replace("\r\n", "\n"))
    stripped = (line.strip() for line in joined.split("\n"))
    commands = (line for line in stripped if line and not line.startswith("#"))
    return [_PROMPT.sub("", line, count=1) if _PROMPT.match(line) else line for line in commands]


def _commands(line: str) -> list[list[str]]:
    """The words of each command in a line, without `sudo` and `fio`."""
    splitter = shlex.shlex(_PLACEHOLDER.sub(r"\1", line), posix=True, punctuation_chars=";&|<>")
    splitter.whitespace_split = True
    splitter.commenters = ""
    try:
        words = list(splitter)
    except ValueError as error:
        raise ProfileError(
            f"{_shown(line)}: {error}", advice="close the quotation mark, or remove it"
        ) from error
    commands: list[list[str]] = [[]]
    for word in words:
        if word in {";", "&&"}:
            commands.append([])
        elif word and not word.strip(";&|<>"):
            raise ProfileError(
                f"{_shown(line)}: {word!r} is for a shell, which diskbench does not start",
                advice="keep only fio and its options; diskbench keeps fio's output",
            )
        else:
            commands[-1].append(word)
    return [_options(command, line) for command in commands if command]


def _options(words: list[str], line: str) -> list[str]:
    """What stands behind `fio`. Raises ProfileError for another program."""
    arguments = list(words)
    if arguments[0] == "sudo":
        del arguments[0]
        while arguments and arguments[0].startswith("-"):
            del arguments[0]
    if not arguments or arguments[0].rpartition("/")[2] != "fio":
        raise ProfileError(
            f"{_shown(line)}: {shlex.join(words[:2])} is not fio",
            advice="a file of commands may hold only commands of fio",
        )
    return arguments[1:]


def _sections(words: list[str], *, follows: bool) -> list[str]:
    """The sections of one command; `follows`: after those of another."""
    shared: list[str] = []
    jobs: list[tuple[str, list[str]]] = []
    options, reads_only = shared, False
    for key, value in _pairs(words):
        if key == "name" and value.startswith("global"):
            options = shared
        elif key == "name":
            # fio copies what is shared when a job begins; what comes later is for later jobs.
            options = list(shared)
            jobs.append((value, options))
        elif key == "readonly":
            reads_only = True
        else:
            options.append(f"{key}={value}" if value else key)
    if not jobs:
        command = _shown(f"fio {shlex.join(words)}")
        raise ProfileError(f"{command} has no job", advice="add --name=NAME")
    for name, lines in jobs if reads_only else ():
        _check_reads(name, lines)
    if follows:
        jobs[0][1].append("stonewall")
    made = ["\n".join([f"[{name}]", *lines]) + "\n" for name, lines in jobs]
    # the command as a comment, so that the evidence holds it
    heading = f"; from: fio {shlex.join(words)}"[:1000].replace("\n", " ")
    return [f"{heading}\n{made[0]}", *made[1:]]


def _pairs(words: list[str]) -> list[tuple[str, str]]:
    """Each option with its value, "" for none."""
    pairs: list[tuple[str, str]] = []
    pending = list(words)
    while pending:
        word = pending.pop(0)
        if not re.match(r"--?[A-Za-z]", word):
            raise ProfileError(
                f"{word!r} is not an option of fio",
                advice="quote a value that contains blanks; if the command has a job file and "
                "options, give the file as the profile and the options as --set OPTION=VALUE",
            )
        key, equals, value = word.lstrip("-").partition("=")
        if not equals and key not in _FLAGS and pending and not pending[0].startswith("-"):
            value = pending.pop(0)
        if re.search(r"[\n;#]", value):
            raise ProfileError(
                f"--{key}: {value!r} holds a character that no job file can hold",
                advice="; and # begin comments there",
            )
        pairs.append((key, value))
    return pairs


def _check_reads(name: str, lines: list[str]) -> None:
    """Refuse a command that forbids writes and writes, as fio does."""
    for line in lines:
        key, _, value = line.partition("=")
        if key in {"rw", "readwrite"} and _WRITES.search(value):
            message = f"[{name}] {line}: the command also has --readonly"
            raise ProfileError(message, advice="leave out one of them")


def _shown(line: str) -> str:
    return line if len(line) <= 60 else f"{line[:57]}…"
