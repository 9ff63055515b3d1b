"""The options of `diskbench run` and `diskbench plan`: common ones, those of renting, and the own
options of the provider that the command line names.

Every command line is read with the options of its provider alone. Help shows the most used common
options; `--provider NAME --help` shows all that this provider takes.
"""

from __future__ import annotations

import inspect
import typing
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diskbench.cli.foreground import Output
from diskbench.cli.panels import PanelledCommand
from diskbench.cli.stores import DatabaseUrl, EvidenceUrl
from diskbench.plugins import plugin, plugin_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from typer._click import Context

    from diskbench.model.options import Option
    from diskbench.plugin import Plugin

_WHAT, _HOW, _SHOW = "What is measured", "How it is measured", "What is printed and kept"
_RENT = "Renting"


def _panel(panel: str) -> Callable[..., Any]:
    """What makes the options of one panel of the help."""

    def option(about: str, *names: str, **more: Any) -> Any:  # noqa: ANN401 - as typer.Option
        return typer.Option(*names, help=about, rich_help_panel=panel, **more)

    return option


_what, _how, _show, _rent = map(_panel, (_WHAT, _HOW, _SHOW, _RENT))


def _starting_with(incomplete: str) -> list[str]:
    return [name for name in plugin_names() if name.startswith(incomplete)]


def _common(
    provider: Annotated[
        str | None,
        _what(
            "Where the machine comes from (default: ssh with --host, else local).",
            metavar="NAME",
            autocompletion=_starting_with,
        ),
    ] = None,
    host: Annotated[
        list[str] | None,
        _what(
            "Machine to measure over SSH; several are measured at once.", metavar="USER@HOST[:PORT]"
        ),
    ] = None,
    path: Annotated[
        str | None,
        _what("Directory to measure in (default here: the working directory).", metavar="DIR"),
    ] = None,
    device: Annotated[
        list[str] | None,
        _what(
            "Block device to measure; ALL DATA ON IT IS DESTROYED. Once for each device that a job "
            "file names, in its order.",
            metavar="PATH",
        ),
    ] = None,
    destroy_data: Annotated[
        list[str] | None,
        _what(
            "The device's identity, as `diskbench devices` prints it; one for each --device.",
            metavar="IDENTITY",
        ),
    ] = None,
    size: Annotated[
        float | None,
        _what(
            "How much of the target to use, or the size of the disk to rent, in GiB (2^30).",
            metavar="GIB",
        ),
    ] = None,
    filesystem: Annotated[
        str | None,
        _what("Make this filesystem on the device first.", metavar="none|ext4|xfs"),
    ] = None,
    promise: Annotated[
        str | None,
        _what(
            "The rates that you expect of a disk that is not in the catalogue.",
            metavar="iops=N,mb_per_s=N",
        ),
    ] = None,
    disk: Annotated[
        str | None,
        _rent("Disk type to rent, in the provider's own words, as gp2 or root.", metavar="TYPE"),
    ] = None,
    region: Annotated[
        str | None, _rent("Region (default: the cloud's own configuration).", metavar="NAME")
    ] = None,
    max_cost: Annotated[
        float | None,
        _rent("Refuse to rent if the total may cost more US dollars than this.", metavar="USD"),
    ] = None,
    profile: Annotated[
        str, _how("A profile's name (`diskbench profiles list`) or a .fio file.", metavar="NAME")
    ] = "default",
    set_: Annotated[
        list[str] | None, _how("Profile parameter.", "--set", metavar="KEY=VALUE")
    ] = None,
    runs: Annotated[
        int, _how("Consecutive fio runs on the same machine and disk.", metavar="N")
    ] = 1,
    replicates: Annotated[
        int, _how("Repeat on this many new machines with new disks (rented ones).", metavar="N")
    ] = 1,
    until_ci: Annotated[
        str | None,
        _how(
            "Replicates, ten at least, until the interval of the median is within this share "
            "of it in every step: 5%.",
            metavar="SHARE",
        ),
    ] = None,
    max_replicates: Annotated[
        int | None, _how("With --until-ci: the most replicates (30).", metavar="N")
    ] = None,
    deadline: Annotated[
        str | None,
        _how("With --until-ci: no replicate begins that ends later (6h, 90m).", metavar="TIME"),
    ] = None,
    if_busy: Annotated[
        str,
        _how(
            "While another trial measures the same disk: wait, fail, measure beside it "
            "(doubted), or wait so long (30m).",
            metavar="wait|fail|share|TIME",
        ),
    ] = "wait",
    allow: Annotated[
        list[str] | None,
        _how(
            "Let a job file use this option on this machine of yours, as exec_prerun.",
            metavar="OPTION",
        ),
    ] = None,
    label: Annotated[
        list[str] | None, _how("A label kept with the rows.", metavar="KEY=VALUE")
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        _how(
            "Exit 1 if a figure meets this condition: 'p99 > 10ms', 'ratio < 0.9', "
            "'STEP: iops < 2900'.",
            metavar="CONDITION",
        ),
    ] = None,
    install_fio: Annotated[
        bool, _how("Install fio on the target when it has none.", "--install-fio")
    ] = False,
    output: Annotated[Output, _show("What to print on stdout.")] = "table",
    verbose: Annotated[
        bool, _show("The whole plan and result, with all warnings.", "--verbose", "-v")
    ] = False,
    junit: Annotated[
        Path | None,
        _show("Write the steps as a JUnit report, for CI.", "--junit", metavar="FILE"),
    ] = None,
    quiet: Annotated[bool, _show("Print no plan and no progress.", "--quiet", "-q")] = False,
    detach: Annotated[
        bool, _show("Run in the background; print the run's id.", "--detach")
    ] = False,
    timing: Annotated[bool, _show("Print at the end how long each part took.", "--timing")] = False,
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
) -> None:
    """Options that `run` always takes."""


def _renting(
    iops: Annotated[
        int | None, _rent("IOPS to provision, where the type sells them.", metavar="N")
    ] = None,
    throughput: Annotated[
        float | None, _rent("{unit} to provision, where the type sells them.", metavar="RATE")
    ] = None,
    count: Annotated[
        int,
        _rent(
            "Equal disks to attach to a machine, one for each device that a job file names, or for "
            "--stripe.",
            metavar="N",
        ),
    ] = 1,
    stripe: Annotated[bool, _rent("Measure the disks as one RAID 0.", "--stripe")] = False,
    zone: Annotated[
        str | None, _rent("Zone (default: one that has the machine).", metavar="NAME")
    ] = None,
    instance_type: Annotated[
        str | None,
        _rent("VM size (default: the cheapest that does not limit the disk).", metavar="TYPE"),
    ] = None,
    image: Annotated[
        str | None, _rent("Image id (default: a current Linux).", metavar="ID")
    ] = None,
    subnet: Annotated[
        str | None, _rent("Subnet id (default: the default network's).", metavar="ID")
    ] = None,
    security_group: Annotated[
        str | None,
        _rent("Security group id to use (default: one is made, open only to you).", metavar="ID"),
    ] = None,
    placement: Annotated[str | None, _rent("Placement group to use.", metavar="NAME")] = None,
    spot: Annotated[bool, _rent("Rent spare capacity, cheaper and revocable.", "--spot")] = False,
    ssh_cidr: Annotated[
        str | None,
        _rent("Who may reach SSH (default: this machine's address).", metavar="CIDR"),
    ] = None,
    assume_price: Annotated[
        float | None,
        _rent(
            "US dollars an hour to assume if no price is known (with --max-cost).",
            metavar="USD_PER_HOUR",
        ),
    ] = None,
    endpoint_url: Annotated[
        str | None, _rent("Another API endpoint, for example an emulator.", metavar="URL")
    ] = None,
) -> None:
    """Options of `run` that say what to rent, whoever rents it out."""


_RARE = frozenset({"max_replicates", "deadline", "timing", "junit", "promise", "if_busy", "allow"})
"""Common options that plain help leaves out."""
_THERE = frozenset({"host", "path", "device", "destroy_data", "allow"})
"""Common options that name a machine or a disk which is there: nothing to a provider that rents."""
_OF_RENTERS = frozenset({"disk", "region", "max_cost", "replicates", "until_ci"})
"""Common options that only a provider which rents takes."""
_WITH_UNTIL = frozenset({"max_replicates", "deadline"})


def provider_in(arguments: Sequence[str]) -> str | None:
    """The provider that a command line names; None where it names none."""
    name = None
    for position, word in enumerate(arguments):
        if word == "--":
            break
        if word == "--provider" and position + 1 < len(arguments):
            name = arguments[position + 1]
        elif word.startswith("--provider="):
            name = word.removeprefix("--provider=")
    return name


def with_run_options(
    command: Callable[..., None], arguments: Sequence[str], *more: inspect.Parameter
) -> Callable[..., None]:
    """`command`, which takes all options by their names, with the options that `run` has for the
    provider named in `arguments`, and some `more`. Raises UnknownName for an unknown provider."""
    name = provider_in(arguments)
    chosen = None if name is None else plugin(name)
    return taking(command, [*_parameters(chosen), *more])


def taking(
    command: Callable[..., None], parameters: Sequence[inspect.Parameter]
) -> Callable[..., None]:
    """`command`, which takes all options by their names, as a function with these `parameters`."""

    def typed(**options: Any) -> None:  # noqa: ANN401 - each has the type of its option
        command(**options)

    typed.__name__, typed.__doc__ = command.__name__, command.__doc__
    typed.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # Typer's way
    typed.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return typed


def common_options(*names: str) -> Iterator[inspect.Parameter]:
    """Some of the options that `run` always takes, for another command that measures."""
    return (parameter for parameter in _of(_common) if parameter.name in names)


def help_end(arguments: Sequence[str]) -> str | None:
    """What stands below the help: how to see the options that it does not show."""
    if provider_in(arguments) is not None:
        return None
    names = plugin_names()
    return (
        "These are the options used most. All that a provider takes: diskbench run --provider NAME "
        f"--help, where NAME is {', '.join(names[:-1])} or {names[-1]}."
    )


class RunCommand(PanelledCommand):
    """A command with the options of `run`: an option of another provider is refused by name."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Read `args`. Raises InvalidValue for an option that other providers have."""
        from typer._click.exceptions import NoSuchOption

        before = list(args)
        try:
            return super().parse_args(ctx, args)
        except NoSuchOption as error:
            _refuse_foreign(error.option_name, before)
            raise


def _refuse_foreign(flag: str, arguments: Sequence[str]) -> None:
    """Raise InvalidValue when an option is another provider's, and say whose."""
    from diskbench.model.options import all_options
    from diskbench.plan.rent_options import foreign_option

    known = [(plugin.name, option) for plugin, option in all_options() if option.flag == flag]
    if known:
        provider = provider_in(arguments) or ("ssh" if "--host" in arguments else "local")
        value = None if known[0][1].kind is bool else _value_of(flag, arguments)
        typed = flag if value is None else f"{flag} {value}"
        owners = [name for name, _ in known]
        raise foreign_option(typed, provider, owners, flag[2:].replace("-", "_"))


def _value_of(flag: str, arguments: Sequence[str]) -> str | None:
    """What was typed for an option, as `--flag VALUE` or `--flag=VALUE`; None for nothing."""
    for word, following in zip(arguments, (*arguments[1:], None), strict=True):
        if word == flag:
            return following
        if word.startswith(f"{flag}="):
            return word.partition("=")[2]
    return None


def _parameters(plugin: Plugin | None) -> Iterator[inspect.Parameter]:
    """The options for a provider; for none those that every provider takes, whoever it is."""
    own = [] if plugin is None else list(_own(plugin))
    common = [_shown(parameter, plugin, common=True) for parameter in _of(_common)]
    renting = [_shown(parameter, plugin, common=False) for parameter in _of(_renting)]
    first = [parameter for parameter in common if _panel_of(parameter) in (_WHAT, _RENT)]
    last = [parameter for parameter in common if parameter not in first]
    replaced = {parameter.name for parameter in own}
    shared = [parameter for parameter in (*first, *renting) if parameter.name not in replaced]
    yield from (*shared, *own, *last)


def _panel_of(parameter: inspect.Parameter) -> str | None:
    panel: str | None = typing.get_args(parameter.annotation)[1].rich_help_panel
    return panel


def _of(function: Callable[..., None]) -> Iterator[inspect.Parameter]:
    types = typing.get_type_hints(function, include_extras=True)
    for parameter in inspect.signature(function).parameters.values():
        yield parameter.replace(
            annotation=types[parameter.name], kind=inspect.Parameter.KEYWORD_ONLY
        )


def _shown(
    parameter: inspect.Parameter, plugin: Plugin | None, *, common: bool
) -> inspect.Parameter:
    """The option, hidden from help where it means nothing, in the provider's own units."""
    kind, option = typing.get_args(parameter.annotation)
    option = copy(option)
    if plugin is None:
        option.hidden = parameter.name in _RARE or not common
    else:
        option.hidden = not _means(parameter.name, plugin, common=common)
        unit = "MiB/s" if plugin.throughput_unit_bytes == 2**20 else "MB/s (10^6 bytes)"
        if parameter.name == "size" and plugin.rents:
            option.help = "Size of the disk to rent, in whole GiB (2^30)."
        option.help = (option.help or "").format(unit=unit)
    return parameter.replace(annotation=Annotated[kind, option])


def _means(name: str, plugin: Plugin, *, common: bool) -> bool:
    """Whether an option means something to a provider."""
    if name in plugin.refuses:
        return False
    if name == "promise":
        return plugin.promise_by_owner
    if plugin.rents:
        return name not in _THERE
    return common and name not in _OF_RENTERS | _WITH_UNTIL


def _own(plugin: Plugin) -> Iterator[inspect.Parameter]:
    from diskbench.model.options import own_options

    for option in own_options(plugin.name):
        yield own_parameter(option, option.about, option.panel)


def own_parameter(one: Option, about: str, panel: str | None) -> inspect.Parameter:
    """A provider's own option as Typer reads it, under a panel of the help; None or False where it
    is not typed."""

    def values(incomplete: str) -> list[str]:
        return [value for value in one.values if value.startswith(incomplete)]

    option = typer.Option(
        one.flag,
        help=about,
        metavar=None if one.kind is bool else one.metavar or "N",
        rich_help_panel=panel,
        autocompletion=values if one.values else None,
    )
    is_switch = one.kind is bool
    return inspect.Parameter(
        one.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=False if is_switch else None,
        annotation=Annotated[bool if is_switch else one.kind | None, option],
    )
