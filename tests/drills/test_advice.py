"""Advice that fits its cause, and output that leaves nothing out."""

import json
import os
import sqlite3
import stat
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.rigs.advised import Advised, advised, fault
from tests.rigs.cli import Cli
from tests.rigs.plans import make_plan

from diskbench.model.ids import short

CASES = Path(__file__).parents[1] / "cases" / "fio_output"


@pytest.fixture
def cli(tmp_path):
    """A user whose commands are piped, with no width named."""
    return Cli(tmp_path, {"COLUMNS": ""})


def imported(cli: Cli, *more: str) -> str:
    return cli.called("results", "import", str(CASES / "v3.33-two-jobs.out"), *more).stdout.strip()


def data(cli: Cli) -> Path:
    return cli.home / ".local" / "share" / "diskbench"


def test_no_advice_names_an_unknown_command():
    """Every command line in every text of the program is given to the parser."""
    found = list(advised())
    assert len(found) > 100
    assert [(one, wrong) for one in found if (wrong := fault(one))] == []
    for line in ("results rebiuld", "results show --alnoe x", "catalog refresh", "gc a --dryrun"):
        assert fault(Advised("", line, quoted=True)), f"{line} is none, and is found to be none"


@pytest.mark.parametrize("damage", ["middle", "beginning", "cut"])
def test_a_damaged_database_is_rebuilt_as_advised(cli, damage):
    """The SQLite file is overwritten in the middle, at its beginning, and cut."""
    run_id = imported(cli)
    file = data(cli) / "diskbench.db"
    with closing(sqlite3.connect(file)) as plain:
        plain.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(file.read_bytes())
    if damage == "cut":
        content = content[: len(content) // 3]
    else:
        begin, end = (0, 4096) if damage == "beginning" else (4096, len(content))
        content[begin:end] = b"\xa5" * (end - begin)
    file.write_bytes(content)
    done = cli.refused("results", "list")
    assert "diskbench results rebuild" in done.stderr
    assert "server" not in done.stderr
    for one in data(cli).glob("diskbench.db*"):
        one.rename(one.with_name(f"{one.name}.damaged"))
    cli.called("results", "rebuild")
    assert run_id[-8:] in cli.call("results", "list").stdout


@pytest.mark.parametrize("cause", ["host", "database"])
def test_a_suspended_run_is_continued_and_not_started_again(cause, capsys):
    """Its host or its database no longer answers: resume is named, and nothing that starts anew."""
    from diskbench.cli.run_results import print_problems, print_table
    from diskbench.engine.matrix.cells import TrialEnding
    from diskbench.errors import ConnectionLost, StoreUnavailable
    from diskbench.report.assemble.subject import SUSPENDED, subject_of_plan
    from diskbench.report.assemble.view import View

    plan = make_plan()
    error = ConnectionLost("gone") if cause == "host" else StoreUnavailable("gone")
    report = TrialEnding(plan.trial_id, suspended=error, stopped=cause == "host")
    view = View(plan.trial_id, subject=replace(subject_of_plan(plan), state=SUSPENDED), runs=())
    outs = []
    for verbose in (False, True):
        print_table(view, (), verbose=verbose)
        outs.append(capsys.readouterr().out)
    print_problems(plan, report)
    for text in (*outs, capsys.readouterr().err):
        assert f"diskbench resume {short(plan.trial_id)}" in text
        assert "ended early" not in text
        assert "diskbench run" not in text


def test_a_bad_key_costs_a_rebuild_nothing_else(cli):
    """Keys without UTF-8, a manifest that is a directory or of another form, no files of a run."""
    run_id = imported(cli)
    runs = data(cli) / "evidence" / "runs"
    (runs / "bad\x01key").mkdir()
    (runs / os.fsdecode(b"bad\xffkey")).mkdir()
    (runs / "01directory" / "manifest.json").mkdir(parents=True)
    gone = runs / f"{run_id[:-1]}0"
    for one in (runs / "01shape", gone):
        one.mkdir()
    (runs / "01shape" / "manifest.json").write_text('{"format": 1, "run_id": 7}')
    manifest = json.loads((runs / run_id / "manifest.json").read_text())
    (gone / "manifest.json").write_text(json.dumps(manifest | {"run_id": gone.name}))
    for one in data(cli).glob("diskbench.db*"):
        one.unlink()
    done = cli.refused("results", "rebuild", code=1)
    for name in ("bad␁key", "bad�key", "01directory", "01shape", gone.name):
        assert name in done.stderr
    assert done.stdout == "rebuilt 1 run\n"
    assert run_id[-8:] in cli.call("results", "list").stdout


def test_a_piped_table_is_whole(cli, monkeypatch):
    """A listing with a long label is piped, without a given width."""
    monkeypatch.delenv("COLUMNS", raising=False)
    label = "x" * 90
    imported(cli, "--label", f"note={label}")
    listed = cli.call("results", "list", "--wide").stdout
    assert f"note={label}" in listed
    assert "…" not in listed


def test_a_shared_evidence_directory_stays_shared(cli):
    """The evidence is stored in a directory to which other users have access."""
    shared = cli.home / "shared"
    shared.mkdir()
    shared.chmod(0o775)
    cli.extra_env["DISKBENCH_EVIDENCE_URL"] = shared.as_uri()
    imported(cli)
    assert stat.S_IMODE(shared.stat().st_mode) == 0o775
    modes = {stat.S_IMODE(one.stat().st_mode) for one in shared.rglob("*.json")}
    os.umask(mask := os.umask(0o077))
    assert modes == {0o666 & ~mask}
