"""Cli.call: a command in the test's own process is as in one of its own, and leaves nothing."""

from __future__ import annotations

import logging
import os
import signal
import sys
from pathlib import Path

import pytest
from tests.rigs.cli import a_user

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "arguments",
    [
        ("version",),
        ("results", "list"),
        ("results", "show", "nosuch"),
        ("run", "--path", "nosuch"),
        ("--log-format", "json", "results", "show", "nosuch"),
        ("nosuch",),
        ("config",),
        ("profiles",),
    ],
)
def test_it_says_what_a_process_says(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    user = a_user(tmp_path)
    apart, here = user.run(*arguments), user.call(*arguments)
    assert (here.returncode, here.stdout) == (apart.returncode, apart.stdout)
    # Times of events differ.
    assert [line[20:] for line in here.stderr.splitlines() if line.startswith("{")] or (
        here.stderr == apart.stderr
    )


def test_it_leaves_this_process_as_it_was(tmp_path: Path) -> None:
    def state() -> object:
        return (
            dict(os.environ),
            Path.cwd(),
            sys.stdin,
            sys.stdout,
            sys.stderr,
            logging.getLogger().handlers[:],
            logging.getLogger("diskbench").level,
        )

    before = state()
    assert a_user(tmp_path).call("--debug", "results", "list").returncode == 0
    assert state() == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_handlers_of_an_earlier_command_are_gone(number: signal.Signals) -> None:
    assert signal.getsignal(number) in {signal.default_int_handler, signal.SIG_DFL}
