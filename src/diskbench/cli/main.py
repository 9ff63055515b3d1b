"""The `diskbench` command: its options, and the one place where an error becomes an exit code.

Nothing heavy is imported here: help, completion and `version` need typer alone
(benchmarks/startup.py measures it).
"""

from __future__ import annotations

import errno
import gc
import os
import re
import shlex
import shutil
import signal
import sys
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import BadParameter
from typer.exceptions import Abort, TyperException
from typer.main import get_command

from diskbench.cli.lazy import COMMANDS, LazyGroup
from diskbench.cli.opened import close_at_end, closing_all
from diskbench.cli.terminal import option, printable
from diskbench.errors import InvalidValue, Suspended
from diskbench.report.terminal.streams import Shown, guarded_streams
from diskbench.visible import unstorable

if TYPE_CHECKING:
    from typer.exceptions import TyperException

PROGRAM = "diskbench"
INTERRUPTED = 130
BROKEN_PIPE = 141  # 128 + SIGPIPE: what a shell reports for any program whose reader left

app = typer.Typer(
    name=PROGRAM,
    cls=LazyGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="\b\nStart with:\n  diskbench run --profile quick --path DIR\n"
    "  diskbench plan --provider NAME --disk TYPE --size 100\n  diskbench results show last",
)


def _set_up_events(log_format: Literal["human", "json"] | None) -> Literal["human", "json"] | None:
    from diskbench.cli.messages import set_up

    set_up(log_format)
    return log_format


def _print_version(typed: bool) -> None:
    if typed:
        from diskbench.cli.version import version

        version()
        raise typer.Exit


@app.callback()
def diskbench(
    log_format: Annotated[
        Literal["human", "json"] | None,
        option(
            "How events are written to stderr.",
            show_default=False,
            callback=_set_up_events,  # before the words of the command are read
            is_eager=True,
        ),
    ] = None,
    verbose: Annotated[bool, option("--verbose", "-v", "Print more to stderr.")] = False,
    version: Annotated[  # noqa: ARG001 - its callback answers
        bool,
        option("--version", "Show the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
    debug: Annotated[
        bool,
        option("--debug", "Print everything to stderr, with tracebacks.", envvar="DISKBENCH_DEBUG"),
    ] = False,
) -> None:
    """Measure how fast a disk really is: run fio, keep the evidence and say what limits it."""
    from diskbench.cli.messages import set_up

    set_up(log_format, verbose=verbose, debug=debug)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; never raises.

    `argv` are the words after the program's name; None takes those of the process. Everything that
    a command sets up is taken down again when it returns: signal handlers, standard streams,
    logging, threads and database connections. So a test may call it in its own process.
    """
    if argv is None:  # a process of our own
        # Modules live until the end: to look through them takes 0.6 s of a run, which may take
        # 2.5 s beyond fio (docs/design.md#premises).
        gc.set_threshold(300_000, 20, 50)
        # pydantic looks for plugins in every installed package: 30 ms. Nothing here uses one.
        os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
        Shown.renamed = _renamed(sys.argv[0])
    arguments = sys.argv[1:] if argv is None else list(argv)
    with printable(sys.stdout, sys.stderr), guarded_streams():
        code = _code_of(arguments)
        if code == BROKEN_PIPE and argv is None:  # the interpreter would report a second error
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if argv is None:
        gc.freeze()  # the interpreter looks through all modules again when it ends
    return code


def _renamed(called: str) -> tuple[re.Pattern[str], str] | None:
    """As `Shown.renamed`, for a program that was started as `called`."""
    path, found = Path(called), shutil.which(PROGRAM)
    if path.name != PROGRAM or (found is not None and path.resolve() == Path(found).resolve()):
        return None
    commands = "|".join(sorted({words.partition(" ")[0] for words in COMMANDS}))
    return re.compile(rf"(?<![\w/.-]){PROGRAM}(?= (?:{commands})\b)"), shlex.quote(called)


def _code_of(arguments: list[str]) -> int:
    try:
        with closing_all():  # logging is put back last: a failure is reported before
            if threading.current_thread() is threading.main_thread():  # others set no handlers
                before = signal.signal(signal.SIGTERM, signal.default_int_handler)
                close_at_end(partial(signal.signal, signal.SIGTERM, before))
            try:
                _check_letters(arguments)
                code = _invoke(arguments)
                sys.stdout.flush()
            except OSError as error:
                code = BROKEN_PIPE if error.errno == errno.EPIPE else _fail(error)
            except Exception as error:  # noqa: BLE001 - the last resort: reported, exit code 1
                code = _fail(error)
    except (KeyboardInterrupt, Suspended):
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - what failed is closing what the command opened
        return _fail(error)
    return code


def _check_letters(arguments: list[str]) -> None:
    """Raise InvalidValue for an argument, or a setting in the environment, that no database can
    store: Python decodes bytes that are not UTF-8 to lone surrogates."""
    texts = [(f"argument {number}", text) for number, text in enumerate(arguments, 1)]
    texts += [item for item in os.environ.items() if item[0].startswith("DISKBENCH_")]
    for origin, text in texts:
        if unstorable(text) is not None:
            # Name the argument without its value, which may be a URL with a password.
            raise InvalidValue(
                f"{origin} is not valid UTF-8",
                advice="give text in UTF-8; a file with such a name has to be renamed",
            )


def _invoke(arguments: list[str]) -> int:
    """Run the command; typer's own ways to end become an exit code, everything else is raised."""
    try:
        code = get_command(app).main(args=arguments, prog_name=PROGRAM, standalone_mode=False)
    except BadParameter as error:
        from diskbench.cli.messages import in_our_words

        if (refused := in_our_words(error)) is not None:
            raise refused from None
        return _wrong_usage(error)
    except TyperException as error:
        return _wrong_usage(error)
    except Abort:
        return INTERRUPTED
    except SystemExit as exit_error:
        # typer swallows a broken pipe and exits 1, the code of a failed measurement.
        if isinstance(exit_error.__context__, OSError):
            raise exit_error.__context__ from None
        code = exit_error.code
        return code if isinstance(code, int) else int(code is not None)
    return code if isinstance(code, int) else 0


def _fail(error: Exception) -> int:
    from diskbench.cli.messages import report

    return report(error)


def _wrong_usage(error: TyperException) -> int:
    from diskbench.cli.messages import report_usage

    return report_usage(error)
