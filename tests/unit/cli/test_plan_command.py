"""`diskbench plan`: the flags of `run`, what a run would find and cost, and nothing rented."""

import json
from functools import partial
from pathlib import Path

import jsonschema
import pytest
from tests.rigs.cli import printed

from diskbench.cli.lazy import load
from diskbench.cli.schema import _schema
from diskbench.errors import UserError
from diskbench.plan.cost import PlanDocument

GP2 = ("--provider", "aws", "--disk", "gp2", "--size", "20", "--region", "us-east-1", "--offline")
C4 = ("--instance-type", "c4.xlarge")


told = partial(printed, "plan")


def test_it_takes_every_flag_of_run():
    for arguments in ([], ["--provider", "azure"], ["--provider", "local"]):
        ours = {one.name for one in load("plan", arguments).params}
        assert ours ^ {one.name for one in load("run", arguments).params} == {"offline", "dry_run"}


def test_it_tells_what_each_step_should_find_what_limits_it_and_what_that_costs():
    text = told(*GP2, *C4, "--profile", "quick")
    assert "limited by" in text
    assert "rand-read-4k-qd32      3,000    12.3  disk IOPS" in text
    assert "  after 31 min           100    0.41  disk IOPS" in text
    assert "latency × queue depth" in text
    assert "VM throughput" in text
    text = " ".join(told(*GP2, *C4, "--profile", "quick").split())
    assert "$2.00 a month" in text
    assert "$20.00 per 1,000 IOPS of the baseline; $0.67 of the burst" in text
    assert "per 100 MB/s of the baseline" in text


def test_it_tells_when_credit_is_gone_and_how_sure_that_is():
    text = " ".join(told(*GP2, *C4, "--profile", "gobonniego", "--runs", "40").split())
    assert "disk IOPS: used up after 3 h 11 min, in seq-read-64k of run 33" in text
    assert "depending on request size" in text


def test_transactions_are_part_of_the_price():
    hdd = ("--provider", "azure", "--region", "eastus", "--disk", "Standard_LRS", "--size", "256")
    text = " ".join(told(*hdd, "--profile", "quick", "--offline").split())
    assert "$77.03 a month, $65.70 of it transactions at the baseline" in text


def test_the_document_fits_its_schema_has_expectation_and_cost_and_plans_replicates_once():
    document = told(*GP2, *C4, "--profile", "quick", "--output", "json")
    jsonschema.Draft202012Validator(_schema("plan")).validate(json.loads(document))
    (one,) = PlanDocument.model_validate_json(document).trials
    assert not one.asked
    assert one.cost.total_usd is not None
    found = one.plan.expectation.of(one.plan.expectation.step(5))
    assert (found.begin.iops, found.lasting.iops) == (3000, 100)
    again = told(*GP2, *C4, "--profile", "quick", "--replicates", "5", "--output", "json")
    assert len(json.loads(again)["trials"]) == 1


@pytest.mark.slow
def test_a_machine_that_is_here_is_looked_at_and_what_it_should_find_is_its_promise(tmp_path: Path):
    here = ("--path", str(tmp_path), "--profile", "quick", "--size", "0.05")
    text = told(*here, "--promise", "iops=5000,mb_per_s=100")
    assert "rand-read-4k-qd32      5,000    20.5  disk IOPS" in text
    assert list(tmp_path.iterdir()) == [], "nothing is written"


def test_a_disk_that_is_not_sold_is_refused():
    with pytest.raises(UserError):
        told("--provider", "aws", "--disk", "gp9", "--size", "20", "--offline")
