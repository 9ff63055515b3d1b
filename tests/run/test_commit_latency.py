"""What a database waits for when it commits is a row of its own, and what the table shows."""

import json

import pytest
from tests.rigs.cli import merged_rows

from diskbench.packed import zstd

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
