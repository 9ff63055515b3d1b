"""`diskbench run --provider local`: real fio on a real disk, from plan to rows."""

import csv
import io
import json
from pathlib import Path

from tests.rigs.cli import WRITE_THEN_READ, merged_rows
from tests.rigs.waiting import until

JOB = """[global]
size=8m
direct=0
[write]
rw=write
bs=64k
[read]
stonewall
rw=randread
bs=4k
time_based
runtime=1
"""


def run_args(target: Path, profile: Path) -> list[str]:
    return ["run", "--provider", "local", "--path", str(target), "--profile", str(profile)]


def test_a_run_leaves_rows_evidence_and_nothing(user, target, profile):
    (run,) = user.json(*run_args(target, profile), "--quiet")["runs"]
    assert run["state"] == "done"
    rows = merged_rows(run)
    assert {(r["step"], r["direction"]) for r in rows} == {("write", "write"), ("read", "read")}
    assert all(r["iops"] > 0 and r["bytes_per_s"] > 0 for r in rows)
    assert list(target.iterdir()) == []
    assert not list(Path("/var/tmp").glob(f"diskbench-{run['trial_id']}"))
    evidence = user.home / ".local/share/diskbench/evidence/runs" / run["run_id"]
    kept = {p.relative_to(evidence).as_posix() for p in evidence.rglob("*") if p.is_file()}
    assert {"plan.json", "manifest.json"} <= kept
    for step in ("000-write", "001-read"):
        assert any(k.startswith(f"steps/{step}/fio.json") for k in kept)
        assert f"steps/{step}/job.fio" in kept
        assert any(k.startswith(f"steps/{step}/samples.txt") for k in kept)
    assert any("canary-before" in k for k in kept)
    assert any("canary-after" in k for k in kept)


def test_stderr_has_the_plan_and_stdout_the_result(user, target, profile):
    done = user.done(*run_args(target, profile))
    assert str(target) in done.stderr
    assert "IOPS" in done.stdout
    assert "trust" in done.stdout


def test_rows_are_one_a_step_in_csv_and_rebuilt_from_evidence_into_an_empty_database(
    user, target, profile, tmp_path
):
    done = user.done(*run_args(target, profile), "--quiet", "--output", "csv")
    assert {"iops", "bytes_per_s", "p99_ns"} <= set(next(csv.DictReader(io.StringIO(done.stdout))))
    before = user.call("results", "export", "--format", "csv")
    other = f"sqlite:///{tmp_path}/other.db"
    user.called("results", "rebuild", "--database-url", other)
    after = user.call("results", "export", "--format", "csv", "--database-url", other)
    assert before.stdout == after.stdout
    assert before.stdout.count("\n") > 1


def test_a_detached_run_goes_on_by_itself(user, target, profile):
    done = user.done(*run_args(target, profile), "--detach", "--quiet")
    shown = ("results", "show", done.stdout.strip())
    until(lambda: user.json(*shown)["runs"][0]["state"] == "done", "the end of the run")


def test_a_step_that_fails_ends_the_run_with_1_keeps_its_evidence_and_cleans_up(user, target):
    verify = "[verify]\nstonewall\nrw=read\nbs=4k\nverify=crc32c\nverify_only\n"
    job = user.job(WRITE_THEN_READ + verify, seconds=2)
    done = user.run("run", "--path", str(target), "--profile", job, "--runs", "2")
    assert (done.returncode, "verify" in done.stderr) == (1, True), done.stderr
    runs = user.json("results", "list")["runs"]
    assert sorted(r["state"] for r in runs) == ["cancelled", "failed"]
    failed = next(r for r in runs if r["state"] == "failed")
    evidence = user.home / ".local/share/diskbench/evidence/runs" / failed["run_id"]
    assert any("002-verify" in str(p) for p in evidence.rglob("job.fio"))
    assert list(target.iterdir()) == []


def test_an_allowed_program_runs_and_the_evidence_says_that_it_was_allowed(user, target, tmp_path):
    marker = tmp_path / "marker"
    job = user.job(f"[a]\nrw=write\nsize=1m\nexec_prerun=touch {marker}\n")
    asked = ["run", "--path", str(target), "--profile", job, "--quiet"]
    assert user.run(*asked).returncode == 2
    assert not marker.exists()
    (run,) = user.json(*asked, "--allow", "exec_prerun")["runs"]
    assert (run["state"], marker.exists()) == ("done", True)
    (plan,) = user.home.rglob("plan.json")
    kept = json.loads(plan.read_text("utf-8"))
    assert kept["cell"]["allowed"] == ["exec_prerun"]
    assert any("--allow exec_prerun" in line for line in kept["changes"])


def test_the_audit_is_a_line_at_the_end_and_data(user, target, tmp_path):
    done = user.done("run", "--path", str(target), "--profile", user.job(seconds=2), "-v")
    (line,) = [text for text in done.stdout.splitlines() if "audit passed" in text]
    assert "failed" not in line
    (run,) = user.json("results", "show")["runs"]
    assert [one["step"] for one in run["audits"]] == ["write", "read"]
    names = {check["name"]: check["holds"] for check in run["audits"][1]["checks"]}
    assert names == {"bytes": True, "rate": True, "percentiles": True, "end": True, "logs": True}

    page = tmp_path / "page.html"
    user.called("report", "last", "-o", str(page))
    assert "audit passed: bytes, rate" in page.read_text()
    site = tmp_path / "site"
    user.called("publish", str(site), "--quiet")
    assert any("audit passed: bytes, rate" in one.read_text() for one in site.rglob("*.html"))
