"""What `results show` tells of the money that a trial cost."""

import json
import re

import jsonschema
import pytest
from tests.books import SHIPPED
from tests.rigs.measured import measure
from tests.rigs.plans import RUN_IDS, TRIAL_ID, make_plan, run_fio, save_plan

from diskbench.catalog.cost import disk_part, machine_part
from diskbench.cli import main
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec, Rental, Scope
from diskbench.store.document import results_schema
from diskbench.store.finish import finish_run
from diskbench.store.leases import Lease, create_lease, release_lease

pytestmark = pytest.mark.slow  # an emulated cloud rents first

DISK = DiskSpec(type="standard", size_gib=20)
MACHINE = machine_part(SHIPPED, "aws", "m5.large", "us-east-1")
PRICES = (MACHINE, disk_part(SHIPPED, "aws", DISK, "us-east-1"))
SOLD = {"offer": "an m5.large", "disk": DISK, "hourly_usd": 0.1, "prices": PRICES}
RENTAL = Rental(scope=Scope(provider="aws", region="us-east-1"), spec=RentSpec(), **SOLD)


@pytest.fixture
def database(here, database, evidence, monkeypatch):
    """A database in which one run of a rented disk was measured."""
    monkeypatch.setenv("COLUMNS", "200")
    plan = make_plan(RUN_IDS[:1], rental=RENTAL)
    steps = [(step, run_fio(here / str(step.index), step)) for step in plan.steps]
    save_plan(database, plan, evidence.url)
    measure(database, evidence, plan, 0, steps)
    finish_run(database, evidence, plan, 0, "done", None)
    return database


def rent(database, *, given_back: bool) -> None:
    lease = Lease(lease_id=TRIAL_ID, provider="aws", created_at="2026-11-21T10:00:00+00:00")
    create_lease(database, lease)
    if given_back:
        release_lease(database, TRIAL_ID)


def shown_cost(capfd) -> str | None:
    assert main.main(["results", "show", "last"]) == 0
    found = re.search(r"^cost  (.*)$", capfd.readouterr().out, re.MULTILINE)
    return found[1] if found else None


def test_a_trial_that_was_given_back_says_what_it_cost_in_words_and_data(database, capfd):
    rent(database, given_back=True)
    told = shown_cost(capfd)
    # 64 writes and 64 reads of 4 KiB: the two steps of the plan
    words = r"\$[\d.,]+ \(.* at \$0\.0974/h, \$0\.0000 for 128 transactions\); emulated: nothing "
    assert re.fullmatch(f"{words}was paid", told or ""), told
    assert main.main(["results", "show", "last", "--output", "json"]) == 0
    document = json.loads(capfd.readouterr().out)
    jsonschema.validate(document, results_schema())
    (cost,) = document["costs"]
    assert (cost["trial_id"], cost["ended"], cost["emulated"]) == (TRIAL_ID, True, True)
    assert cost["transactions"] == 128
    assert cost["total_usd"] == cost["known_usd"] > 0


def test_without_a_lease_nothing_is_said_and_of_one_that_is_still_rented_so_far(database, capfd):
    assert shown_cost(capfd) is None
    rent(database, given_back=False)
    assert " so far (" in (shown_cost(capfd) or "")
