"""Commands that are imported when they are run, not when they are listed.

`diskbench --help` and shell completion know every command's name and one line about it from
COMMANDS; its module, and all that imports, is loaded when that command is run.
"""

from __future__ import annotations

import difflib
import importlib
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from diskbench.cli.panels import PanelledCommand, PlainGroup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typer._click import Command, Context

COMMANDS: dict[str, str] = {
    "run": "Measure a disk: here, over SSH, or on a rented machine.",
    "plan": "Expected figures, duration and cost of a run; rents nothing.",
    "matrix": "Measure many regions, machines, disks and times from a file.",
    "worker": "Measure cells of matrices; resume those of dead workers.",
    "schedule": "Measure a matrix regularly, with workers.",
    "status": "Show running work, the queue and rented resources.",
    "resume": "Resume runs whose process died.",
    "cancel": "Stop a running trial, keep its results and clean up.",
    "gc": "Give back rented resources that runs left behind.",
    "doctor": "Check access, quota, clocks and stores before a run.",
    "profiles": "List, show, render and validate profiles.",
    "catalog": "Documented limits and prices of disks and machines.",
    "published": "Measurements of cloud disks that others published.",
    "devices": "List the block devices of a machine.",
    "results": "List, show, export, import and delete results.",
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
"""Command → its line in the help. The module is `diskbench.cli.<command>`; what is mounted is its
`app` (a typer.Typer) or, without one, the function named like the command."""


class LazyGroup(PlainGroup):
    """A group that lists COMMANDS and loads one only to run it."""

    def list_commands(self, ctx: Context) -> list[str]:  # noqa: ARG002 - typer's
        """The names, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:  # noqa: ARG002
        """A placeholder with the command's one line: enough for help and completion."""
        line = COMMANDS.get(cmd_name)
        return TyperCommand(cmd_name, help=line, rich_markup_mode=None) if line else None

    def resolve_command(
        self, ctx: Context, args: list[str]
    ) -> tuple[str | None, Command | None, list[str]]:
        """The real command that `args` begin with; for an unknown name the nearest ones."""
        name, *arguments = args
        if name in COMMANDS:
            command = load(name, arguments)
            if ctx.resilient_parsing:  # a shell asks what may follow
                from diskbench.cli.completion import with_values

                command = with_values(command, (name,))
            return name, command, arguments
        if not ctx.resilient_parsing and not name.startswith("-"):
            near = difflib.get_close_matches(name, COMMANDS, n=3)
            hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(COMMANDS)}"
            ctx.fail(f"unknown command {name!r}: {hint}")
        return super().resolve_command(ctx, args)


def load(name: str, arguments: Sequence[str] = ()) -> Command:
    """Import the module of a command and make the command.

    A module whose options depend on what is typed (those of a provider) has `command_for`, which is
    given the arguments and returns a TypedCommand.
    """
    module = importlib.import_module(f"diskbench.cli.{name}")
    group: Any = getattr(module, "app", None)
    if not isinstance(group, typer.Typer):
        group = typer.Typer()
        if hasattr(module, "command_for"):
            typed = module.command_for(arguments)
            group.command(name, cls=typed.kind, epilog=typed.end_of_help)(typed.function)
        else:
            group.command(name)(getattr(module, name))
    group.rich_markup_mode = None  # plain help everywhere: rich costs 0.15 s and adds boxes
    group._add_completion = False  # noqa: SLF001 - a sub-app has no completion flags of its own
    group.info.cls = PlainGroup
    for inner in group.registered_commands:
        if inner.cls is TyperCommand:
            inner.cls = PanelledCommand
    command = get_command(group)
    command.name = name
    if isinstance(command, TyperGroup) and not command.invoke_without_command:
        command.no_args_is_help = True  # a group alone lists its commands
    return command


def commands_taking(flag: str) -> list[str]:
    """The commands that have the option `flag`, as `plan` or `matrix run`, in the help's order.

    It loads every command (0.5 s), which only an error message is worth.
    """
    paths = []
    for name in COMMANDS:
        waiting = [(name, load(name))]
        while waiting:
            path, command = waiting.pop(0)
            waiting += [
                (f"{path} {inner}", below)
                for inner, below in getattr(command, "commands", {}).items()
            ]
            if any(flag in (*param.opts, *param.secondary_opts) for param in command.params):
                paths.append(path)
    return paths
