"""Commands that are imported when they are run, not when they are listed.

`diskbench --help` and shell completion know the words of every command and one line about it from
COMMANDS; its module, and all that imports, is loaded when that command is run. Help is plain text:
rich costs 0.15 s and adds boxes.
"""

from __future__ import annotations

import importlib
import keyword
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import typer
from typer._click import Command, Context, HelpFormatter
from typer.core import TyperArgument, TyperCommand, TyperGroup
from typer.main import get_command

COMMANDS: Mapping[str, str] = {
    "run": "Measure a disk: here, over SSH, or on a rented machine.",
    "plan": "Expected figures, duration and cost of a run; rents nothing.",
    "matrix": "Measure many regions, machines, disks and times from a file.",
    "matrix list": "List the matrices that come with diskbench.",
    "matrix show": "Print a matrix file, for example to start your own.",
    "matrix schema": "Print the JSON schema of matrix files, for an editor.",
    "matrix plan": "Show cells, order, duration, cost, quota and credit of a matrix.",
    "matrix run": "Measure every cell of a matrix.",
    "matrix status": "Show the state of every cell, the cost and the expected end.",
    "matrix cancel": "Stop all cells of a matrix and give everything back.",
    "matrix resume": "Resume a matrix whose process ended; keep finished cells.",
    "matrix retry": "Measure failed, refused and cancelled cells again.",
    "worker": "Measure cells of matrices; resume those of dead workers.",
    "schedule": "Measure a matrix regularly, with workers.",
    "schedule add": "Add a schedule for a matrix, or change an existing one.",
    "schedule list": "List the schedules with next time and last outcome.",
    "schedule show": "Show the next five times, the last twenty, and the last figures.",
    "schedule pause": "Start nothing until it is resumed; a running matrix continues.",
    "schedule resume": "Start again at the next due time; skip missed times.",
    "schedule remove": "Remove a schedule; keep its results and a running matrix.",
    "schedule trigger": "Start the matrix now, or after the running one.",
    "schedule backfill": "Run missed, skipped or failed times now, one after the other.",
    "status": "Show running work, the queue and rented resources.",
    "resume": "Resume runs whose process died.",
    "cancel": "Stop a running trial, keep its results and clean up.",
    "gc": "Give back rented resources that runs left behind.",
    "doctor": "Check access, quota, clocks and stores before a run.",
    "profiles": "List, show, render and validate profiles.",
    "profiles list": "List the profiles that come with diskbench, with the time each takes.",
    "profiles show": "Show the question that a profile answers, its source and its parameters.",
    "profiles render": "Print the exact job files that would run on this machine, one per step.",
    "profiles from-load": "Print a profile that repeats the percentiles of a recorded load, a step "
    "for each.",
    "profiles validate": "Check a profile: template, parameters, safety, and each job file with "
    "fio --parse-only.",
    "advise": "Find the cheapest disks that carry a load, and their machines.",
    "catalog": "Documented limits and prices of disks and machines.",
    "catalog disks": "List the disk types: sizes, IOPS and throughput by formula, bursts; and "
    "other parts.",
    "catalog instances": "List the machines: what each sustains towards its disks, and its price.",
    "catalog prices": "List the known prices of disks, by region; --refresh asks the clouds.",
    "catalog show": "Show all figures of one disk type or machine, each with its source and date.",
    "published": "Measurements of cloud disks that others published.",
    "published list": "List the figures, one per line; ! marks doubtful ones.",
    "published show": "Show figures with machine, method, samples, doubts and verdict.",
    "devices": "List the block devices of a machine.",
    "results": "List, show, export, import and delete results.",
    "results list": "List what was measured, newest first, the runs of a trial as one line.",
    "results show": "Show a run with the others on the same machine and disk: figures, verdict, "
    "next step.",
    "results export": "Write measurement rows as CSV or Parquet, each with its run's columns; JSON "
    "as in `show`.",
    "results delete": "Delete runs: their evidence and their rows.",
    "results prune": "Remove the raw fio logs of old runs; their rows and per-second series are "
    "kept.",
    "results rebuild": "Rebuild all rows from the evidence, in an empty or an existing database.",
    "results import": "Import measurements of other tools, as runs marked `imported`; a file is "
    "imported once.",
    "identify": "Find the disk types that fit the figures of a run.",
    "report": "Write a page about runs: verdict, tables and charts.",
    "publish": "Publish all runs as a static site.",
    "compare": "Compare runs with each other or with published figures.",
    "ab": "Compare two states of one machine in blocks of A B B A.",
    "regressions": "Find when a disk became slower or faster.",
    "providers": "List providers and what each can do.",
    "config": "Show every setting, its value and its source.",
    "schema": "Print the JSON schemas of the output.",
    "version": "Print the version of diskbench.",
}
"""The words of a command → its line in the help, in the order of the help. Words with others below
them are a group."""
_MODULES: Mapping[str, str] = {
    **{f"matrix {word}": "matrix_run" for word in ("run", "status", "cancel", "resume", "retry")},
    **{f"results {word}": f"results_{word}" for word in ("list", "show", "delete")},
    **{f"results {word}": "results_files" for word in ("export", "rebuild", "import")},
    "results prune": "results_delete",
}
"""Commands whose module in `diskbench.cli` is not named like their first word."""
_ARGUMENTS = "Arguments"
_NO_PANEL = "Options"


class PanelledCommand(TyperCommand):
    """A command whose help lists its options under their `rich_help_panel`."""

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write arguments, then the options of each panel in the order of its first one."""
        panels: dict[str, list[tuple[str, str]]] = {_ARGUMENTS: []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None:
                continue
            panel = getattr(param, "rich_help_panel", None) or _NO_PANEL
            if isinstance(param, TyperArgument):
                # Without typer's `<str>`: its name and its help say what it is.
                kind, panel = param.display_type_rich(ctx=ctx), _ARGUMENTS
                record = (record[0].removesuffix(f" {kind}") if kind else record[0], record[1])
            panels.setdefault(panel, []).append(record)
        for name, records in panels.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)


class LazyGroup(TyperGroup):
    """The commands below some words, or of the root: placeholders with their line in the help, of
    which one is loaded to run it."""

    def __init__(self, *, words: str = "", **options: Any) -> None:  # noqa: ANN401 - typer's
        super().__init__(**options)
        self._words = words
        self.commands = {
            name: TyperCommand(name, help=COMMANDS[below], rich_markup_mode=None)
            for below in COMMANDS
            for group, _, name in (below.rpartition(" "),)
            if group == words
        }

    def resolve_command(
        self, ctx: Context, args: list[str]
    ) -> tuple[str | None, Command | None, list[str]]:
        """The real command that `args` begin with."""
        name, command, arguments = super().resolve_command(ctx, args)
        if name is not None:
            command = load(f"{self._words} {name}".strip(), arguments)
        return name, command, arguments

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:  # noqa: ARG002
        """Write each command with its whole line, on several lines if it is long."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, below.help or "") for name, below in self.commands.items()])


@dataclass(frozen=True)
class TypedCommand:
    """A command whose options depend on what is typed: its function, its class, and what stands
    below its help."""

    function: Callable[..., None]
    kind: type[TyperCommand]
    end_of_help: str | None = None


def is_group(words: str) -> bool:
    """Whether the words stand for several commands."""
    return any(below.startswith(f"{words} ") for below in COMMANDS)


def load(words: str, arguments: Sequence[str] = ()) -> Command:
    """Import the module of a command and make the command, or the group, with these words.

    The function has the name of the last word (`list_` for `list`). A module whose options depend
    on what is typed (those of a provider) has `command_for`, which is given the arguments and
    returns a TypedCommand.
    """
    first, _, last = words.rpartition(" ")
    if is_group(words):
        shown = {"help": COMMANDS[words], "no_args_is_help": True, "rich_markup_mode": None}
        return LazyGroup(words=words, name=words, **shown)
    module = importlib.import_module(f"diskbench.cli.{_MODULES.get(words, first or last)}")
    if hasattr(module, "command_for"):
        typed = module.command_for(arguments)
    else:
        name = f"{last}_" if keyword.iskeyword(last) or last == "list" else last.replace("-", "_")
        typed = TypedCommand(getattr(module, name), PanelledCommand)
    alone = typer.Typer(rich_markup_mode=None, add_completion=False)
    alone.command(last, cls=typed.kind, epilog=typed.end_of_help)(typed.function)
    command = get_command(alone)
    command.name = last
    return command
