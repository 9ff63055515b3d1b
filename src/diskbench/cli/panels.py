"""Commands whose help keeps options of one kind together, without rich's boxes and its import."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from typer.core import TyperCommand

if TYPE_CHECKING:
    from collections.abc import Callable

    from typer._click import Context, HelpFormatter

_NO_PANEL = "Options"


class PanelledCommand(TyperCommand):
    """A command whose help lists its options under their `rich_help_panel`, as plain text."""

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write arguments, then the options of each panel in the order of its first one."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None:
                continue
            is_argument = param.param_type_name == "argument"
            panel = getattr(param, "rich_help_panel", None) or _NO_PANEL
            panels.setdefault("Arguments" if is_argument else panel, []).append(record)
        for name, records in panels.items():
            with formatter.section(name):
                formatter.write_dl(records)


@dataclass(frozen=True)
class TypedCommand:
    """A command whose options depend on what is typed: its function, its class, and what stands
    below its help."""

    function: Callable[..., None]
    kind: type[TyperCommand]
    end_of_help: str | None = None
