"""A plan of a matrix asks the cloud, and rents nothing there."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cloud.rented import REGION, Aws
from tests.rigs.cli import Cli

MATRIX = """\
name: mine
defaults: {{provider: aws, region: {region}, endpoint_url: "{endpoint}", profile: quick}}
axes:
  volume:
    - {{disk: gp3, size: 4}}
    - {{disk: gp3, size: 4, instance_type: m5.large}}
    - {{disk: gp3, size: 4, instance_type: x99.large}}
  replicates: [3]
"""


def test_a_plan_asks_the_cloud_and_rents_nothing(aws_user: Cli, aws: Aws, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(MATRIX.format(region=REGION, endpoint=aws.endpoint))
    done = aws_user.call("matrix", "plan", str(file), "--output", "json")
    assert done.returncode == 2, done.stderr
    found = json.loads(done.stdout)
    chosen, named, wrong = found["blocks"]
    assert chosen["asked"]
    assert chosen["instance_type"]
    assert chosen["region"] == REGION
    assert chosen["cost"]["total_usd"] > 0
    assert named["instance_type"] == "m5.large"
    assert named["vcpus"] == 2
    assert wrong["problem"]["message"]
    assert "x99.large" in wrong["problem"]["message"]
    assert len([one for one in found["cells"] if one["starts_s"] is not None]) == 6
    assert aws.left() == []
