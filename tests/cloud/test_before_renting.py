"""What an emulated cloud is asked before anything is rented: the plan of a matrix, and what a run
would cost (`--max-cost`)."""

import json

import pytest
from tests.cloud.rented import REGION
from tests.rigs.cli import a_user


@pytest.fixture
def aws_user(aws, tmp_path):
    made = a_user(tmp_path)
    made.extra_env = aws.env
    return made


MAGNETIC = ("--disk", "standard", "--size", "20", "--instance-type", "m5.large")


def rent(aws, aws_user, *flags, region=REGION):
    """Exit code and messages of a run that is refused; nothing was changed by it."""
    where = ("--provider", "aws", "--region", region, "--endpoint-url", aws.endpoint)
    done = aws_user.call_refused("run", *where, *MAGNETIC, "--profile", "quick", *flags)
    assert aws.left() == []
    assert aws_user.json("results", "list")["runs"] == []
    return done.returncode, " ".join(done.stderr.split())


def test_what_may_cost_more_is_refused_with_the_plan_and_the_sum(aws, aws_user):
    code, told = rent(aws, aws_user, "--max-cost", "0.01", "--replicates", "3")
    assert code == 2
    assert "of it for transactions" in told
    assert "error: --max-cost 0.01: it may cost $0.0" in told
    assert told.index("price $0.10") < told.index("error:"), "the plan is shown first"


def test_a_price_that_is_not_known_must_be_assumed(aws, aws_user):
    code, told = rent(aws, aws_user, "--max-cost", "5", region="us-west-2")
    assert code == 2
    assert "no price is known for machine m5.large" in told
    assert "transactions of standard" in told
    assert "--assume-price USD" in told
    code, told = rent(
        aws, aws_user, "--max-cost", "5", "--assume-price", "100", "-q", region="us-west-2"
    )
    assert code == 2
    assert "error: --max-cost 5: it may cost $1" in told


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


def test_a_plan_asks_the_cloud_and_rents_nothing(aws_user, aws, tmp_path):
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
