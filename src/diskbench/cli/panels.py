"""Commands whose help keeps options of one kind together, without rich's boxes and its import."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from typer.core import TyperArgument, TyperCommand, TyperGroup

if TYPE_CHECKING:
    from collections.abc import Callable

    from typer._click import Context, HelpFormatter

_ARGUMENTS = "Arguments"
_NO_PANEL = "Options"


class PanelledCommand(TyperCommand):
    """A command whose help lists its options under their `rich_help_panel`, as plain text."""

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write arguments, then the options of each panel in the order of its first one."""
        panels: dict[str, list[tuple[str, str]]] = {_ARGUMENTS: []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None:
                continue
            if isinstance(param, TyperArgument):
                panels[_ARGUMENTS].append(_without_type(param, record, ctx))
                continue
            panel = getattr(param, "rich_help_panel", None) or _NO_PANEL
            panels.setdefault(panel, []).append(record)
        for name, records in panels.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)


class PlainGroup(TyperGroup):
    """A group whose help prints the first sentence of each command whole, on several lines if it is
    long."""

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write each command with its first sentence."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [
            (name, command.get_short_help_str(limit=1000))
            for name, command in commands
            if command is not None and not command.hidden
        ]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


@dataclass(frozen=True)
class TypedCommand:
    """A command whose options depend on what is typed: its function, its class, and what stands
    below its help."""

    function: Callable[..., None]
    kind: type[TyperCommand]
    end_of_help: str | None = None


def _without_type(param: TyperArgument, record: tuple[str, str], ctx: Context) -> tuple[str, str]:
    """The line of an argument without typer's `<str>`: its name and its help say what it is."""
    kind = param.display_type_rich(ctx=ctx)
    return record[0].removesuffix(f" {kind}") if kind else record[0], record[1]
