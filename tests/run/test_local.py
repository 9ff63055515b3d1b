"""`diskbench run --provider local`: real fio on a real disk, from plan to rows; as a gate."""

import csv
import io
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from tests.rigs.cli import WRITE_THEN_READ, merged_rows
from tests.rigs.waiting import until

from diskbench.packed import zstd

JOB = WRITE_THEN_READ


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


LOOK = ["--profile", "quick", "--set", "runtime=1", "--set", "size=16m", "--quiet"]


def test_a_figure_of_a_condition_fails_the_command(user, target, tmp_path):
    file = tmp_path / "junit.xml"
    conditions = ["iops < 1", "rand-read-4k-qd1: p50 > 1ns", "ratio < 0.9"]
    flags = [word for text in conditions for word in ("--fail-if", text)]
    done = user.run("run", "--path", str(target), *LOOK, *flags, "--junit", str(file), "--promise",
                    "iops=100000000,mb_per_s=1000000")  # fmt: skip
    assert done.returncode == 1
    failed = [line for line in done.stderr.splitlines() if line.startswith("failed ")]
    assert sum("p50" in line for line in failed) == 1
    assert not any("IOPS" in line for line in failed)
    assert sum("ratio" in line for line in failed) == 5
    suites = ET.parse(file).getroot()  # noqa: S314 - our own
    assert (suites.get("tests"), suites.get("failures")) == ("5", "5")


def test_conditions_that_do_not_hold_leave_the_exit_code(user, target):
    user.done("run", "--path", str(target), *LOOK, "--fail-if", "p99 > 1000s")


@pytest.mark.parametrize("condition", ["p98 > 1ms", "no-such-step: iops < 1", "ratio < 0.9"])
def test_a_condition_that_means_nothing_is_refused_before_anything_runs(user, target, condition):
    done = user.run("run", "--path", str(target), *LOOK, "--fail-if", condition)
    assert (done.returncode, "--fail-if" in done.stderr) == (2, True), done.stderr
    assert list(target.iterdir()) == []


ETCD = "[commit]\nrw=write\nioengine=sync\nfdatasync=1\nsize=2300k\nbs=2300\n"


@pytest.mark.parametrize(
    "asked",
    [["wal", "--set", "runtime=1", "--set", "size=16m"], ["etcd", "--set", "size=2300k"], ["FILE"]],
    ids=["wal", "etcd", "a job file"],
)
def test_every_write_step_has_a_sync_row_as_fio_measured_it(user, target, asked):
    asked = [user.job(ETCD) if word == "FILE" else word for word in asked]
    words = ["run", "--path", str(target), "--quiet", "--output", "json", "--profile", *asked]
    done = user.run(*words)
    assert done.returncode in (0, 1), done.stderr  # 1: this disk is too slow for etcd
    (run,) = json.loads(done.stdout)["runs"]
    measured = [step for step in run["steps"] if step["role"] == "measure"]
    rows = [row for row in merged_rows(run) if row["direction"] == "sync"]
    assert [row["step"] for row in rows] == [step["step"] for step in measured]
    evidence = user.home / ".local/share/diskbench/evidence/runs" / run["run_id"]
    for row in rows:
        (written,) = evidence.glob(f"steps/*{row['step']}*/fio.json.zst")
        plain = zstd.decompress(written.read_bytes())
        sync = json.loads(plain)["jobs"][0]["sync"]["lat_ns"]
        assert row["ios"] == sync["N"] > 0
        assert row["iops"] > 0
        assert row["lat_mean_ns"] == pytest.approx(sync["mean"])
        assert row["lat_max_ns"] == sync["max"]
        assert row["p50_ns"] == pytest.approx(sync["percentile"]["50.000000"], rel=1 / 64)
    assert "short-ios" not in {w["code"] for step in run["steps"] for w in step["warnings"]}


def test_etcds_own_threshold_is_judged(user, target):
    done = user.run("run", "--path", str(target), "--profile", "etcd", "--quiet")
    said = [line for line in done.stdout.splitlines() if " sync p99 is" in line]
    assert [line.split(" sync")[0].split(": ")[1] for line in said] == ["commit", "backend"]
    passed = [line.startswith("passed:") for line in said]
    assert done.returncode == (0 if all(passed) else 1), done.stderr
    assert "below 10.0 ms" in said[0]
    assert "below 25.0 ms" in said[1]
    rows = (line.split() for line in done.stdout.splitlines() if line.startswith("commit  "))
    cells = {row[1]: row[-6:-1] for row in rows}
    assert cells["write"][1:4] == cells["sync"][1:4], "a write has the latency of its sync"


DD = Path(__file__).parents[1] / "cases" / "imports" / "dd-write-4k.txt"


def test_an_imported_result_is_set_beside_our_profile_of_the_tool(user, target):
    user.call("results", "import", str(DD))
    flags = ["--path", str(target), "--profile", "dd", "--set", "count=4", "--quiet"]
    user.json("run", *flags)
    sides = ["provider=import/dd", "profile=dd"]
    found = user.call("compare", *sides, "--metric", "bytes_per_s", "--output", "json")
    (line,) = json.loads(found.stdout)["compared"]
    assert (line["step"], line["direction"]) == ("dd-write", "write")
    assert any("fidelity.md" in doubt for doubt in line["doubts"])


def test_a_broken_series_is_continued_and_compared(user, target, tmp_path):
    states, ready = tmp_path / "states", tmp_path / "ready"
    flags = ["ab", "--path", str(target), "--profile", user.job(), "--blocks", "1"]
    flags += ["--before", f"echo A >> {states}", "--series", "s1", "--output", "json"]
    flags += ["--after", f"test -e {ready} && echo B >> {states}", "old", "new"]

    broken = user.run(*flags)
    assert (broken.returncode, broken.stdout) == (2, "")
    assert "--series s1" in broken.stderr
    kept = user.json("results", "list", "-f", "ab=s1", "--output", "json")["runs"]
    assert [run["labels"]["ab-side"] for run in kept] == ["old"]

    ready.touch()
    done = user.done(*flags)
    assert states.read_text().split() == ["A", "B", "B", "A"]
    compared = json.loads(done.stdout)["compared"]
    (one,) = (one for one in compared if (one["step"], one["metric"]) == ("read", "iops"))
    assert (one["pairs"], one["n"], one["blocks"], one["in_turn"]) == (2, 1, True, True)
    assert list(target.iterdir()) == []

    again = user.done("compare", "ab-side=old", "ab-side=new", "-f", "ab=s1")
    assert max(map(len, again.stdout.splitlines())) <= 80


BAD = ("--fail-worse much", "--profile no-such-profile", "--label x")


@pytest.mark.parametrize(
    "flags",
    [
        *("--before true", "--after true", "", "same same", "one"),
        *(f"--before true --after true {bad}" for bad in BAD),
    ],
)
def test_what_cannot_be_meant_is_refused_at_once(user, target, flags):
    user.refused("ab", "--path", str(target), *flags.split())
    assert list(target.iterdir()) == []


def test_a_run_that_fails_ends_the_series_with_1(user, target):
    fails = "[read]\nrw=read\nsize=1m\nbs=4k\nioengine=psync\nverify=md5\nverify_only=1\n"
    flags = ["--before", "true", "--after", "true", "--blocks", "1"]
    done = user.run("ab", "--path", str(target), "--profile", user.job(fails), *flags)
    assert (done.returncode, "--series" in done.stderr) == (1, True), done.stderr
    kept = user.json("results", "list", "--output", "json")["runs"]
    assert [run["state"] for run in kept] == ["failed"]  # its evidence is kept
