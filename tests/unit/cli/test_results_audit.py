"""`results import` and `results show` say whether the figures agree, as a line and as data."""

import json

import pytest
from tests.rigs.cli import invoked


@pytest.fixture
def typed(tmp_path):
    stores = [
        "--database-url", f"sqlite:///{tmp_path}/d.db", "--evidence-url", f"file://{tmp_path}/e",
    ]  # fmt: skip

    def run(*args):
        return invoked("results", *args, *stores)

    return run


def place(folder, *, size=4096, logged=1000):
    stats = {
        "io_bytes": size * 3000, "total_ios": 3000, "runtime": 3000, "iops": 1000.0,
        "bw_bytes": size * 1000, "clat_ns": {"N": 3000, "mean": 10.0, "min": 9, "max": 20},
    }  # fmt: skip
    options = {"rw": "randread", "bs": "4k", "write_iops_log": "x"}
    job = {"jobname": "a", "groupid": 0, "error": 0, "job options": options, "read": stats}
    root = {"fio version": "fio-3.33", "timestamp_ms": 1_600_000_000_000, "jobs": [job]}
    folder.mkdir()
    (folder / "r.json").write_text(json.dumps(root))
    rows = (f"{1000 * at}, {logged}, 0, 0, 0\n" for at in (1, 2, 3))
    (folder / "x_iops.1.log").write_text("".join(rows))
    return str(folder)


@pytest.mark.slow
def test_a_sound_import_is_said_to_hold(typed, tmp_path):
    done = typed("import", place(tmp_path / "in"))
    assert done.exit_code == 0
    line = "audit passed: bytes, rate, end, logs; not checked: percentiles"
    assert done.stderr == (
        "1 run of 1 step in 1 trial · bytes = I/Os × block ✓ · logs sum to JSON ✓ · "
        "date 2020-09-13 ✓\n"
    )
    assert line in typed("show", "-v").stdout
    (run,) = json.loads(typed("show", "--output", "json").stdout)["runs"]
    assert {one["name"]: one["holds"] for one in run["audits"][0]["checks"]} == {
        "bytes": True, "rate": True, "percentiles": None, "end": True, "logs": True,
    }  # fmt: skip
    assert not run["steps"][0]["warnings"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "words"),
    [({"size": 8192}, "bytes = I/Os × block"), ({"logged": 300}, "logs sum to JSON")],
)
def test_what_does_not_hold_is_named_and_makes_the_row_doubtful(typed, tmp_path, wrong, words):
    name = words.split()[0]
    (said,) = typed("import", place(tmp_path / "in", **wrong)).stderr.splitlines()
    assert f"{words} ✗ in step a" in said
    (run,) = json.loads(typed("show", "--output", "json").stdout)["runs"]
    (doubt,) = [w for w in run["steps"][0]["warnings"] if w["code"] == "figures-disagree"]
    assert doubt["message"].startswith(f"{name}: ")
    assert run["verdicts"][0]["trust"] == "with care"
    assert f"audit failed: {name} in step a" in typed("show").stdout
