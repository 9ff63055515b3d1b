"""`diskbench run`: measure a disk, here or over SSH."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from diskbench.cli.run_command import RunCommand, help_end, with_run_options

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

COMMAND = RunCommand
end_of_help = help_end


def run(**typed: Any) -> None:  # noqa: ANN401 - the options of cli/run_options.py, by name
    """Measure a disk with fio, keep the evidence and give a verdict on each step."""
    from diskbench.cli.asked import asked_for
    from diskbench.cli.foreground import Show
    from diskbench.cli.run_until import check_until
    from diskbench.cli.start import TypedStores, start

    show = Show(
        output=typed["output"],
        quiet=typed["quiet"],
        timing=typed["timing"],
        verbose=typed["verbose"],
        junit=typed["junit"],
    )
    stores = TypedStores(typed["database_url"], typed["evidence_url"])
    until = check_until(typed)
    if until is not None:
        from diskbench.cli.until_matrix import start_until

        start_until(typed, until, show, stores)
    command = asked_for(typed)
    start(
        command.request,
        show,
        stores,
        install_fio=typed["install_fio"],
        detach=typed["detach"],
        limit=command.limit,
    )


def function_for(arguments: Sequence[str]) -> Callable[..., None]:
    """`run` with the options of the provider that `arguments` name. Raises UnknownName."""
    return with_run_options(run, arguments)
