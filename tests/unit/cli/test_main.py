"""The command itself: what it imports, how it fails, what each ending is called."""

import io
import json
import logging
import os
import signal
import subprocess
import sys

import pytest
from tests.rigs.cli import Cli

from diskbench import errors
from diskbench.cli.main import _renamed
from diskbench.report.terminal.streams import Shown

pytestmark = pytest.mark.slow

HEAVY = (
    "azure", "boto3", "dbos", "diskbench.engine", "duckdb", "google", "jinja2", "numpy",
    "obstore", "paramiko", "polars", "psycopg", "rich", "sqlalchemy", "vl_convert", "yaml",
)  # fmt: skip


def program(script, *arguments, **environment):
    """Run Python code that starts diskbench, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", script, *arguments], env=os.environ | environment,
        capture_output=True, text=True, timeout=240, stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip


def diskbench(*arguments, **environment):
    script = "import sys; from diskbench.cli.main import main; sys.exit(main())"
    return program(script, *arguments, **environment)


def failing(body, *arguments, **environment):
    """`diskbench version`, whose body is `body`."""
    script = f"""
import sys, diskbench.cli.version as module
def version():
    {body}
module.version = version
from diskbench.cli.main import main
sys.exit(main([*sys.argv[1:], "version"]))
"""
    return program(script, *arguments, **environment)


IMPORTED = """
import atexit, sys
heavy = sys.argv.pop(1).split(",")
def tell():
    found = {m for m in sys.modules if any(m == h or m.startswith(h + ".") for h in heavy)}
    print("IMPORTED", *sorted(found), file=sys.stderr)
atexit.register(tell)
from diskbench.cli.main import main
sys.exit(main())
"""


def imported(arguments, *, also="", **environment):
    found = program(IMPORTED, ",".join(filter(None, [*HEAVY, also])), *arguments, **environment)
    line = next(line for line in found.stderr.splitlines() if line.startswith("IMPORTED"))
    return line.split()[1:]


@pytest.mark.parametrize("arguments", [["--help"], ["version"], ["--version"], []])
def test_help_and_version_import_nothing_heavy(arguments):
    assert imported(arguments) == []


def test_a_list_imports_no_engine_and_no_numbers(tmp_path):
    found = imported(["results", "list"], DISKBENCH_DATABASE_URL=f"sqlite:///{tmp_path}/rows.db")
    names = "azure boto3 dbos duckdb google jinja2 numpy paramiko polars"
    assert not {*names.split(), "diskbench.engine.session"} & set(found)


def test_completion_knows_commands_and_their_options(tmp_path):
    def completed(words, index):
        asked = {"COMP_WORDS": words, "COMP_CWORD": str(index)}
        user = Cli(tmp_path, asked | {"_DISKBENCH_COMPLETE": "complete_bash"})
        return user.call().stdout.split()

    assert completed("diskbench re", 1) == ["resume", "results", "report", "regressions"]
    assert "--profile" in completed("diskbench run --pro", 2)


def test_a_wrong_command_or_option_is_exit_2_and_the_nearest_is_named(call):
    found = diskbench("reslts")
    assert found.returncode == 2
    assert "No such command 'reslts'. Did you mean 'results'" in found.stderr
    assert (found.stdout, call("version", "--nope")[0]) == ("", 2)


@pytest.fixture
def told(call, monkeypatch):
    """`diskbench version` in this process, which does something else: exit code and streams."""

    def of(act, *arguments):
        monkeypatch.setattr("diskbench.cli.version.version", act)
        return call(*arguments, "version")

    return of


def raising(error):
    def act():
        raise error

    return act


def test_a_user_error_is_message_and_advice_on_stderr_without_a_traceback(told):
    found = told(raising(errors.InvalidValue("7 is odd", advice="8")))
    assert found == (2, "", "error: 7 is odd\n  8\n")


@pytest.mark.parametrize(
    ("error", "code"),
    [("FioFailed", 1), ("ConnectionLost", 1), ("ReleaseFailed", 3), ("Interrupted", 130)],
)
def test_each_kind_of_error_has_its_exit_code_and_its_traceback(told, monkeypatch, error, code):
    act = raising(getattr(errors, error)("it went wrong"))
    assert told(act)[0] == code
    assert "Traceback" in told(act, "--debug")[2]
    monkeypatch.setenv("DISKBENCH_DEBUG", "1")
    assert "Traceback" in told(act)[2]


def test_a_fault_of_diskbench_is_one_line_and_if_possible_a_file_only_its_user_can_read(tmp_path):
    body = "password = 'hunter2'; raise RuntimeError('no such thing')"
    found = failing(body, XDG_STATE_HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path))
    assert found.returncode == 1
    assert "RuntimeError: no such thing" in found.stderr
    assert "Traceback" not in found.stderr
    (kept,) = tmp_path.rglob("diskbench-runtimeerror-*.txt")
    assert str(kept) in found.stderr
    assert "Traceback" in kept.read_text()
    assert kept.stat().st_mode & 0o077 == 0
    body = "import tempfile; tempfile.mkstemp = None; raise OSError(5, 'broken')"
    found = failing(body, XDG_STATE_HOME="/proc/none", TMPDIR="/proc/none")
    assert (found.returncode, "broken" in found.stderr) == (1, True), found.stderr


def test_events_are_heard_with_verbose_carry_their_fields_and_may_be_json(told, monkeypatch):
    def act():
        logging.getLogger("diskbench.x").info("fio started", extra={"run": "01r"})

    assert told(act)[2] == ""
    assert "info fio started run=01r" in told(act, "--verbose")[2]
    found = json.loads(told(act, "--verbose", "--log-format", "json")[2])
    assert (found["event"], found["run"], found["logger"]) == ("fio started", "01r", "diskbench.x")
    monkeypatch.setenv("DISKBENCH_LOG_FORMAT", "json")
    assert json.loads(told(act, "--verbose")[2])["event"] == "fio started"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_and_terminate_are_both_exit_130_without_a_traceback(number):
    found = failing(f"import os; os.kill(os.getpid(), {int(number)}); import time; time.sleep(9)")
    assert found.returncode == 130
    assert "Traceback" not in found.stderr


def test_a_reader_that_leaves_is_no_error():
    script = "import sys; from diskbench.cli.main import main; sys.exit(main())"
    argv = [sys.executable, "-c", script, "--help"]
    read, write = os.pipe()
    os.close(read)
    found = subprocess.run(
        argv, stdout=write, stderr=subprocess.PIPE, text=True, timeout=240, check=False
    )
    os.close(write)
    assert (found.stderr, found.returncode) == ("", 141)


def test_a_hint_on_a_terminal_names_the_program_as_a_shell_finds_it(monkeypatch, tmp_path):
    text = (
        "try: diskbench resume; diskbench reads fio 3.16, /x/diskbench run, .venv/bin/diskbench run"
    )
    called = tmp_path / "diskbench"
    called.touch(mode=0o755)

    def shown(path, *, is_terminal=True):
        monkeypatch.setenv("PATH", path)
        monkeypatch.setattr(Shown, "renamed", _renamed(str(called)))
        stream = io.StringIO()
        monkeypatch.setattr(stream, "isatty", lambda: is_terminal, raising=False)
        Shown(stream).write(text)
        return stream.getvalue()

    assert shown(str(tmp_path)) == text == shown("/nowhere", is_terminal=False)
    assert shown("/nowhere") == text.replace("try: diskbench", f"try: {called}")
