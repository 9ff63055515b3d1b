"""CloudWatch's own word on the limit of a step, on the emulated AWS."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cloud.eager import GIVES_UP
from tests.cloud.measured import WRITE_THEN_READ, a_renter, document
from tests.cloud.rented import REGION, Aws
from tests.rigs.cli import Cli

from diskbench.providers.aws.policy import policy

SECONDS = 10


def run(aws: Aws, tmp_path: Path) -> tuple[Cli, str]:
    """A run on a disk of 100 IOPS, whose metrics have periods of two seconds; what was printed."""
    user = a_renter(tmp_path, {**aws.env, GIVES_UP: "metric_s=2"})
    profile = user.home / "mine.fio"
    profile.write_text(WRITE_THEN_READ.format(seconds=SECONDS, block="4k"))
    done = user.run(
        "run", "--provider", "aws", "--endpoint-url", aws.endpoint, "--region", REGION,
        "--disk", "io1", "--size", "4", "--iops", "100", "--profile", str(profile),
    )  # fmt: skip
    run_id = document(user, done)["run_id"]
    return user, " ".join(user.run("results", "show", run_id, "-v").stdout.lower().split())


def test_the_metrics_of_a_run_are_evidence_and_confirm_its_limit(aws: Aws, tmp_path: Path) -> None:
    user, printed = run(aws, tmp_path)
    (kept,) = user.home.rglob("metrics.json")
    metrics = {one["name"]: one for one in json.loads(kept.read_bytes())["metrics"]}
    exceeded = [value for _, value in metrics["VolumeIOPSExceededCheck"]["points"]]
    assert exceeded.count(1.0) >= SECONDS / 2 / 2
    assert sum(value for _, value in metrics["VolumeReadOps"]["points"]) > SECONDS / 2 * 100
    assert "BurstBalance" not in metrics, "a series without points"
    assert "confirmed by the volume's own counters: at least" in printed, printed
    assert "s above its iops" in printed
    assert aws.left() == []


@pytest.mark.parametrize("late", [False, True])
def test_a_run_without_metrics_is_as_ever(aws: Aws, tmp_path: Path, *, late: bool) -> None:
    allowed = json.loads(policy())
    if late:
        aws.cloud.metrics_after_s = 1e9
    else:
        allowed["Statement"][0]["Action"].remove("cloudwatch:GetMetricData")
        aws.cloud.policy = json.dumps(allowed)
    user, printed = run(aws, tmp_path)
    assert list(user.home.rglob("metrics.json")) == []
    assert "own counters" not in printed
