"""The parsers and the arithmetic of benchmarks/fidelity.py, on recorded outputs of the tools."""

import json
from pathlib import Path

import pytest
from benchmarks import fidelity_originals as originals
from benchmarks import fidelity_ours as ours
from benchmarks.fidelity_table import Sample, compare, render

CASES = Path(__file__).resolve().parents[2] / "cases"
RECORDED = CASES / "fidelity"


def progress():
    pieces = json.loads((RECORDED / "bonnie-progress.json").read_text())
    return [originals.Timed(at, text) for at, text in pieces]


def test_dd_is_bytes_by_its_own_seconds():
    values = originals.parse_dd((RECORDED / "dd.err").read_text())
    assert values == {"write": pytest.approx(419_430_400 / 41.465 / 1e6)}


def test_hdparm_counts_in_mib_whatever_unit_it_prints():
    values = originals.parse_hdparm((RECORDED / "hdparm.out").read_text())
    assert values == {"cached reads -T": 20339.62, "buffered reads -t": 142.08}
    slow = " Timing buffered disk reads:   2 MB in  4.00 seconds = 512.00 kB/sec\n"
    assert originals.parse_hdparm(slow) == {"buffered reads -t": 0.5}


def test_bonnie_gives_every_metric_from_its_csv_line():
    values = originals.parse_bonnie(
        (RECORDED / "bonnie.out").read_text(), progress(), files=32 * 1024
    )
    assert set(values) == set(originals.METRICS["bonnie"])
    assert values["char write"] == 1346
    assert values["block write"] == 143_290
    assert values["rewrite"] == 100_310
    assert values["char read"] == 1944
    assert values["block read"] == 149_012
    assert values["seeks"] == 5011
    assert values["create, sequential"] == 64_261
    assert values["create, random"] == 65_318


def test_bonnie_phases_too_short_for_it_are_timed_by_its_messages():
    values = originals.parse_bonnie(
        (RECORDED / "bonnie.out").read_text(), progress(), files=32 * 1024
    )
    assert values["stat, sequential"] == pytest.approx(32_768 / (21.480306 - 21.424251))
    assert values["delete, random"] == pytest.approx(32_768 / (22.923172 - 22.465933))


def test_the_messages_time_a_phase_as_the_csv_line_does():
    seconds = originals.phase_seconds(progress())
    assert seconds["block write"] == pytest.approx(512 * 1024 / 143_290, rel=0.01)
    assert seconds["rewrite"] == pytest.approx(512 * 1024 / 100_310, rel=0.01)
    assert seconds["create, sequential"] == pytest.approx(32_768 / 64_261, rel=0.01)


def test_gobonniego_is_read_from_its_json():
    values = originals.parse_gobonniego((CASES / "imported/gobonniego-1.0.9.json").read_text())
    assert values["read"] == pytest.approx(138.867, abs=0.001)
    assert values["512-byte I/O"] == 8350


@pytest.mark.parametrize(
    "parse",
    [
        originals.parse_dd,
        originals.parse_hdparm,
        originals.parse_gobonniego,
        lambda text: originals.parse_bonnie(text, [], files=1),
    ],
)
@pytest.mark.parametrize("text", ["", "{", "dd: failed to open '/dev/x'", '{"results": []}'])
def test_an_output_without_figures_is_an_error(parse, text):
    with pytest.raises(originals.OriginalError):
        parse(text)


def row(direction, ios, size, seconds):
    return {
        "scope": "step",
        "direction": direction,
        "ios": ios,
        "bytes": size,
        "runtime_ns": int(seconds * 1e9),
    }


def document(steps, state="done"):
    found = [{"step": name, "measurements": rows} for name, rows in steps.items()]
    run = {"state": state, "error": "no space", "advice": "make some", "steps": found}
    return json.dumps({"format": 1, "runs": [run]})


def test_a_seek_counts_its_read_only():
    metadata = {
        f"{what}-{order}": [row("read" if what == "stat" else "write", 100, 0, 0.5)]
        for what in ("create", "stat", "delete")
        for order in ("seq", "rand")
    }
    steps = ours.parse_steps(
        document(
            {
                "char-write": [row("write", 1024, 1024, 1)],
                "block-write": [row("write", 1, 2048, 1)],
                "rewrite": [row("write", 1, 4096, 2)],
                "char-read": [row("read", 1024, 1024, 1)],
                "block-read": [row("read", 1, 8192, 1)],
                "seeks": [row("read", 900, 900, 3), row("write", 100, 100, 2)],
            }
            | metadata
        )
    )
    values = ours.figures("bonnie", steps)
    assert set(values) == set(originals.METRICS["bonnie"])
    assert values["block write"] == 2
    assert values["rewrite"] == 2
    assert values["seeks"] == 300
    assert values["stat, random"] == 200


def test_random_io_of_gobonniego_counts_both_directions():
    steps = {
        "seq-write-64k": {"write": ours.Moved(1, 3_000_000, 2)},
        "seq-read-64k": {"read": ours.Moved(1, 3_000_000, 1)},
        "rand-512-9to1": {"read": ours.Moved(90, 1, 5), "write": ours.Moved(10, 1, 5)},
    }
    assert ours.figures("gobonniego", steps) == {"write": 1.5, "read": 3.0, "512-byte I/O": 20.0}


def test_a_run_that_failed_or_lacks_a_step_is_an_error():
    with pytest.raises(ours.OursError, match="no space"):
        ours.parse_steps(document({}, state="failed"))
    with pytest.raises(ours.OursError, match="dd-write"):
        ours.figures("dd", {})


def sample(side, value, *, disturbed=False):
    return Sample("dd", side, 0, 0, 0.1, 3.0, disturbed, {"write": value})


def test_the_ratio_is_of_medians_of_the_undisturbed():
    rows = compare(
        [
            *(sample("original", value) for value in (90.0, 100.0, 500.0)),
            *(sample("ours", value) for value in (111.0, 10.0, 112.0)),
            sample("ours", 9999.0, disturbed=True),
        ]
    )
    assert [(r.tool, r.metric, r.unit, r.n) for r in rows] == [("dd", "write", "MB/s", 3)]
    assert rows[0].ratio == pytest.approx(1.11)
    assert not rows[0].within_10_percent
    assert (
        "| dd: write | MB/s | 100.0 (90.0–500.0) | 111.0 (10.0–112.0) | 1.110 | **no** | 3 |"
        in (render(rows))
    )


def test_a_metric_that_one_side_lacks_is_not_compared():
    assert compare([sample("original", 1.0)]) == []
