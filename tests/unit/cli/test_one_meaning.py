"""An option has one meaning, whichever command takes it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from diskbench.cli.lazy import COMMANDS, load
from diskbench.plugins import plugin_names

STEMS = {
    "--to": "The file to write",
    "-o": "The file to write",
    "--format": "The format (default: by the suffix of FILE",
    "--output": "What to print on stdout.",
    "--filter": "Only runs that meet all",
    "--since": "",
    "--until": "",
    "--quiet": "Print no ",
    "-q": "Print no ",
    "--seed": "Seed of the order",
    "--set": "Profile parameter.",
    "--label": "A label kept with the rows.",
    "--path": "Directory to measure in",
    "--profile": "A profile's name",
    "--device": "Block device to measure",
    "--database-url": "Database ",
    "--evidence-url": "Evidence store ",
}
"""How the help of these begins in every command."""
OF_A_PROVIDER = frozenset({"--host"})
"""Options that a provider has of its own instead of the common one: it rents hosts by name."""


def options() -> Iterator[tuple[str, str, Any]]:
    """Each option of each command: the words of the command, one name of it, and what it is."""
    for name in COMMANDS:
        for provider in (None, *plugin_names()) if name in ("run", "plan") else (None,):
            command: Any = load(name, [] if provider is None else ["--provider", provider])
            for parameter in command.params:
                for flag in (*parameter.opts, *parameter.secondary_opts):
                    if flag.startswith("-"):
                        yield name, flag, parameter


@pytest.fixture(scope="module")
def by_flag() -> dict[str, list[tuple[str, Any]]]:
    """The commands and their options by the name of the option."""
    found: dict[str, list[tuple[str, Any]]] = defaultdict(list)
    for command, flag, parameter in options():
        found[flag].append((command, parameter))
    return found


def test_an_option_takes_the_same_kind_of_value_everywhere(
    by_flag: dict[str, list[tuple[str, Any]]],
) -> None:
    apart = {}
    for flag, of in by_flag.items():
        if flag in OF_A_PROVIDER:
            continue
        kinds: dict[object, list[str]] = defaultdict(list)
        for command, one in of:
            kinds[one.is_flag, None if one.is_flag else one.metavar].append(command)
        if len(kinds) > 1:
            apart[flag] = dict(kinds)
    assert apart == {}


@pytest.mark.parametrize("flag", sorted(STEMS))
def test_the_help_of_an_option_begins_alike_everywhere(
    by_flag: dict[str, list[tuple[str, Any]]], flag: str
) -> None:
    apart = {
        command: one.help
        for command, one in by_flag[flag]
        if not (one.help or "").startswith(STEMS[flag])
    }
    assert apart == {}
    assert by_flag[flag]


@pytest.mark.parametrize(
    ("command", "takes"),
    [
        ("results list", True), ("results show", True), ("report", True), ("compare", True),
        ("results export", True), ("results prune", True), ("results delete", True),
        ("publish", True), ("regressions", True),
    ],
)  # fmt: skip
def test_every_command_on_runs_takes_the_same_selection(
    by_flag: dict[str, list[tuple[str, Any]]], command: str, takes: bool
) -> None:
    for flag in ("--filter", "-f", "--since", "--until"):
        assert (command in [name for name, _ in by_flag[flag]]) is takes, flag
