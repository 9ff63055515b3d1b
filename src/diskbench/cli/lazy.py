"""Commands that are imported when they are run, not when they are listed.

`diskbench --help` and shell completion know the words of every command and one line about it from
commands.txt; its module, and all that imports, is loaded when that command is run. Help is plain
text: rich costs 0.15 s and adds boxes.
"""

import importlib
import inspect
import keyword
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, cast

import typer
from typer._click import Command, Context, HelpFormatter
from typer.core import TyperArgument, TyperCommand, TyperGroup
from typer.main import get_command

COMMANDS: Mapping[str, str] = dict(
    line.split(": ", 1)
    for line in Path(__file__).with_name("commands.txt").read_text("utf-8").splitlines()
)
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


def command_of(
    function: Callable[..., None],
    kind: type[TyperCommand] = PanelledCommand,
    end_of_help: str | None = None,
) -> Command:
    """The command of a function, of a `kind` of commands, with what stands below its help."""
    return copy(_command_of(function, kind, end_of_help))


@lru_cache  # a process that calls many, like a test's, makes the options of each once
def _command_of(
    function: Callable[..., None], kind: type[TyperCommand], end_of_help: str | None
) -> Command:
    alone = typer.Typer(rich_markup_mode=None, add_completion=False)
    alone.command(cls=kind, epilog=end_of_help)(function)
    return get_command(alone)


def options_of(function: Callable[..., object]) -> Iterator[inspect.Parameter]:
    """The options that a function declares by its parameters."""
    types = typing.get_type_hints(function, include_extras=True)
    for parameter in inspect.signature(function).parameters.values():
        yield parameter.replace(
            annotation=types[parameter.name], kind=inspect.Parameter.KEYWORD_ONLY
        )


def taking(
    command: Callable[..., None], parameters: Sequence[inspect.Parameter]
) -> Callable[..., None]:
    """`command`, which takes all options by their names, as a function with these `parameters`."""
    typed: Any = partial(command)
    typed.__name__, typed.__doc__ = command.__name__, command.__doc__
    typed.__signature__ = inspect.Signature(parameters)  # what Typer reads
    typed.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return cast("Callable[..., None]", typed)


def gathering(
    argument: str,
    parameters: Sequence[inspect.Parameter],
    make: Callable[..., object] = dict,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorates a command: it has these options in place of its `argument`, which is what `make`
    makes of their values, given by name."""

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        def typed(**options: Any) -> None:  # noqa: ANN401 - each has the type of its option
            gathered = {parameter.name: options.pop(parameter.name) for parameter in parameters}
            command(**options, **{argument: make(**gathered)})

        typed.__name__, typed.__doc__ = command.__name__, command.__doc__
        before = [[of] if of.name != argument else parameters for of in options_of(command)]
        return taking(typed, [parameter for several in before for parameter in several])

    return decorated


def is_group(words: str) -> bool:
    """Whether the words stand for several commands."""
    return any(below.startswith(f"{words} ") for below in COMMANDS)


def load(words: str, arguments: Sequence[str] = ()) -> Command:
    """Import the module of a command and make the command, or the group, with these words.

    The function has the name of the last word (`list_` for `list`). A module whose options depend
    on what is typed (those of a provider) has `command_for`, which is given the arguments and
    returns the command.
    """
    first, _, last = words.rpartition(" ")
    if is_group(words):
        shown = {"help": COMMANDS[words], "no_args_is_help": True, "rich_markup_mode": None}
        return LazyGroup(words=words, name=words, **shown)
    module = importlib.import_module(f"diskbench.cli.{_MODULES.get(words, first or last)}")
    if hasattr(module, "command_for"):
        command: Command = module.command_for(arguments)
    else:
        name = f"{last}_" if keyword.iskeyword(last) or last == "list" else last.replace("-", "_")
        command = command_of(getattr(module, name))
    command.name = last
    return command
