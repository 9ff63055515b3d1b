"""Variables of a job file: `${NAME}` from the environment or `--set`, and fio's keywords.

fio replaces `${NAME}` by the environment's value of the process that reads the job file, which here
would be the measured machine's; diskbench replaces it before, so that the evidence holds the value
(fio's HOWTO, "Environment variables" and "Reserved keywords", 3.33).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_KEYWORD = re.compile(r"\$(mb_memory|ncpus)\b")
"""Of fio's reserved keywords those that a machine's facts hold;`$pagesize` is not among them."""
_SECRET = re.compile(
    r"(secret|token|passw|credential|private|session|_key\b|access_key|api_?key)", re.IGNORECASE
)


def variables(text: str) -> tuple[str, ...]:
    """The names of the variables that a job file uses outside comments, each once, in order."""
    names = (match[1] for line in _options(text) for match in _VARIABLE.finditer(line))
    return tuple(dict.fromkeys(names))


def may_be_secret(name: str) -> bool:
    """Whether a variable's name says that its value is a secret, which evidence must not hold."""
    return bool(_SECRET.search(name))


def expand(text: str, values: Mapping[str, str]) -> str:
    """The job file with its variables replaced; comments stay as they are."""
    return "\n".join(_replaced(line, values, _VARIABLE) for line in text.split("\n"))


def keywords(text: str, *, cores: int, memory_mib: int) -> str:
    """The job file with fio's keywords replaced by the figures of the machine that is measured."""
    figures = {"ncpus": str(cores), "mb_memory": str(memory_mib)}
    return "\n".join(_replaced(line, figures, _KEYWORD) for line in text.split("\n"))


def _options(text: str) -> Iterator[str]:
    return (re.split(r"[;#]", line, maxsplit=1)[0] for line in text.split("\n"))


def _replaced(line: str, values: Mapping[str, str], form: re.Pattern[str]) -> str:
    option = re.split(r"[;#]", line, maxsplit=1)[0]
    return form.sub(lambda match: values[match[1]], option) + line[len(option) :]
