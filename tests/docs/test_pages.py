"""Every page as somebody follows it: its commands in a shell, in order, in an empty home."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress

import pytest
from tests.docs.kinds import kind
from tests.docs.pages import PAGES, ROOT, Command, commands
from tests.docs.setups import Reader

ENDS_WITHIN_S = 240.0
LONG_S = 1800.0
BY_PAGE = {page: [one for one in commands(page) if kind(one) == "run"] for page in PAGES}
WITH_COMMANDS = [page for page, found in BY_PAGE.items() if found]


def name(page):
    return str(page.relative_to(ROOT))


@pytest.mark.slow
@pytest.mark.timeout(LONG_S)
@pytest.mark.parametrize("path", WITH_COMMANDS, ids=name)
def test_what_a_page_tells_to_type_works(path, tmp_path):
    follow([one for one in BY_PAGE[path] if not one.said("thorough")], tmp_path)


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.timeout(2 * LONG_S)
@pytest.mark.parametrize(
    "path", [page for page in WITH_COMMANDS if any(one.said("thorough") for one in BY_PAGE[page])],
    ids=name,
)  # fmt: skip
def test_what_takes_long_works_too(path, tmp_path):
    follow(BY_PAGE[path], tmp_path)


Check = Callable[[Command, str], list[str]]
"""What is wrong with the output of a command."""


def follow(found, scratch, check=lambda _one, _said: []):
    """Type each; all that end otherwise than their page implies are named."""
    failed = []
    with ExitStack() as stack:
        reader = Reader(scratch / "home", scratch / "here", stack)
        for one in found:
            for setup in (t.setup for t in one.tries):
                reader.has(setup)
            began = time.monotonic()
            code, said = typed(one, reader)
            print(f"{time.monotonic() - began:6.1f} s  {one.where}: {one.typed}", flush=True)
            if code != one.said("exit"):
                failed.append(f"{one.where}: {one.typed}\nended with {code}: {said[-2000:]}")
            elif wrong := check(one, said):
                failed.append(f"{one.where}: {one.typed}\n{said}\nlacks {wrong}")
    assert not failed, "\n\n".join(failed)


def end(process):
    """Stop a command as its reader would, so that it gives back what it made; then kill it."""
    for number in (signal.SIGINT, signal.SIGKILL):
        if process.poll() is None:
            os.killpg(process.pid, number)
            with suppress(subprocess.TimeoutExpired):
                process.wait(ENDS_WITHIN_S)


def typed(one, reader, within_s=ENDS_WITHIN_S):
    """A command's exit code and output; it has `within_s`, or half an hour by its page."""
    output = reader.home / "output"
    stop = one.said("stop")
    limit_s = LONG_S if one.said("thorough") else within_s
    with output.open("wb") as file:
        process = subprocess.Popen(
            ["bash", "-c", f"{one.typed}\nexit $?"],  # bash stays, as the shell of a person does
            cwd=reader.here, env=reader.env, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
            start_new_session=True,
        )  # fmt: skip
        deadline = time.monotonic() + limit_s
        try:
            while process.poll() is None and time.monotonic() < deadline:
                if stop and stop in output.read_text(errors="replace"):
                    os.killpg(process.pid, signal.SIGINT)
                    stop = ""
                time.sleep(0.05)
            if process.poll() is None:
                return -1, f"it did not end within {limit_s:g} s\n{output.read_text()}"
        finally:
            end(process)
    said = output.read_text(errors="replace")
    return (process.returncode, said) if not stop else (-1, f"it did not print {stop!r}\n{said}")
