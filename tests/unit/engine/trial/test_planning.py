"""Replicates are looked up once, and each is planned once.
What `plan` tells without a region, and of a region that there is not."""

from types import SimpleNamespace

import pytest
from tests.books import SHIPPED
from tests.rigs.plans import make_plan

from diskbench import errors
from diskbench.catalog.cost import priced_region
from diskbench.catalog.machine_book import machine_book
from diskbench.engine.trial import planning as module
from diskbench.engine.trial import stop as stops
from diskbench.engine.trial.planning import drafts, resolve_rental
from diskbench.engine.trial.steps import LiveTrialSteps
from diskbench.engine.trial.stop import RetryPolicy, Stop
from diskbench.model.options import RentSpec
from diskbench.model.spec import Cell, TargetSpec
from diskbench.plan.rent_options import rent_spec
from diskbench.plugin import plugin
from diskbench.providers.fake.cloud import FakeProvider
from diskbench.providers.registry import Providers
from diskbench.store.profile_file import find_profile

REPLICATES = 3


def cells():
    target = TargetSpec(kind="device", path="/dev/disk")
    return [
        Cell(
            provider="fake", target=target, profile="quick", replicate=n,
            rent=RentSpec(disk="fast", size_gib=10),
        )
        for n in range(REPLICATES)
    ]  # fmt: skip


@pytest.fixture
def renter(monkeypatch):
    provider = FakeProvider()
    monkeypatch.setattr(module, "check_rentable", lambda *_: None)
    return provider


def test_a_plan_is_made_for_each_cell_and_none_beside_or_it_is_refused(renter, monkeypatch):
    made = []
    real = module.make_plan
    monkeypatch.setattr(module, "make_plan", lambda *a, **k: made.append(a) or real(*a, **k))
    plans, refused = drafts(renter, cells(), find_profile("quick"), SHIPPED)
    assert (len(plans), refused, len(made)) == (REPLICATES, [], REPLICATES)

    def fails(*_, **__):
        raise errors.InvalidValue("no such plan")

    monkeypatch.setattr(module, "make_plan", fails)
    plans, refused = drafts(renter, cells(), find_profile("quick"), SHIPPED)
    assert (plans, [str(error) for _, error in refused]) == ([], ["no such plan"] * REPLICATES)


DISKS = {"aws": "gp2", "azure": "Premium_LRS", "gcp": "pd-ssd"}


def cell(provider, **more):
    rent = RentSpec(disk=DISKS[provider], size_gib=64, **more)
    return Cell(provider=provider, target=TargetSpec(kind="device", path=""), rent=rent,
                profile="quick")  # fmt: skip


def looked_up(wanted, *, offline=True):
    with Providers() as providers:
        return resolve_rental(providers.renter(wanted.provider), wanted, SHIPPED, offline=offline)


NAMED = {"aws": "eu-central-1", "azure": "westeurope", "gcp": "europe-west1"}


@pytest.mark.parametrize("provider", DISKS)
def test_without_a_region_it_is_shown_whose_price_it_is_and_one_that_is_named_is_kept_if_known(
    provider,
):
    rental, asked, notes = looked_up(cell(provider))
    assert not asked
    assert rental.hourly_usd
    priced = priced_region(provider)
    assert rental.scope.region == priced
    assert notes == (f"no region is given: prices are for {priced} (--region selects another)",)
    rental, _, notes = looked_up(cell(provider, region=NAMED[provider]))
    assert (rental.scope.region, notes) == (NAMED[provider], ())
    with pytest.raises(errors.UnknownName) as refused:
        looked_up(cell(provider, region=priced[:-1] + "x9"))
    assert (refused.value.field, priced in refused.value.advice) == ("region", True)


def test_an_unknown_zone_is_refused_but_a_private_cloud_has_its_own():
    with pytest.raises(errors.UnknownName, match="europe-wst1"):
        looked_up(cell("gcp", zone="europe-wst1-b"))
    private = cell("aws", region="xx-here-1", endpoint_url="http://127.0.0.1:1")
    assert looked_up(private)[0].scope.region == "xx-here-1"


@pytest.mark.parametrize("provider", ["aws", "azure", "vsphere"])
def test_a_cloud_that_cannot_be_asked_is_planned_from_the_catalogue(provider, monkeypatch):
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AZURE_SUBSCRIPTION_ID", "VSPHERE_SERVER"):
        monkeypatch.delenv(name, raising=False)
    wanted = cell("aws") if provider == "vsphere" else cell(provider)
    if provider == "vsphere":
        rent = rent_spec(plugin(provider), {"datastore": "nvme", "size": 64})
        wanted = wanted.model_copy(update={"provider": provider, "rent": rent})
    _, asked, notes = looked_up(wanted, offline=False)
    assert not asked
    assert notes[0].startswith("the cloud was not queried; figures are from the catalogue (no ")


@pytest.mark.parametrize(
    ("provider", "typed", "meant"),
    [
        ("aws", "m5.lagre", "m5.large"),
        ("aws", "m5.xlarg", "m5.xlarge"),
        ("azure", "Standart_D2s_v5", "Standard_D2s_v5"),
        ("gcp", "n2-standrad-8", "n2-standard-8"),
        ("gcp", "n2-higmem-8", "n2-highmem-8"),
    ],
)
def test_a_misspelt_machine_is_refused_with_the_one_that_is_meant(provider, typed, meant):
    with pytest.raises(errors.UnknownName, match=typed) as refused:
        looked_up(cell(provider, instance_type=typed), offline=False)
    assert (refused.value.advice, refused.value.field) == (
        f"did you mean {meant}?",
        "instance_type",
    )


def test_a_name_of_a_machine_that_may_be_new_is_taken_as_typed():
    for provider, names in {
        "aws": ("m5.large", "m9x.large", "m5.metal", "m5.6xlarge"),
        "azure": ("Standard_D2s_v5", "Standard_D2xs_v5", "Standard_E104iads_v5"),
        "gcp": ("n2-standard-8", "n2-custom-4-8192", "a2-highgpu-1g", "m3-megamem-64"),
    }.items():
        assert [machine_book(provider).spelt(name) for name in names] == [None] * len(names)


def test_a_machine_that_the_catalogue_lacks_is_told_with_what_is_near():
    _, _, notes = looked_up(cell("aws", region="us-east-1", instance_type="m9x.large"))
    (note,) = notes
    assert note.startswith("m9x.large is not in the catalogue of machines; did you mean m5.large")


TRIAL = "01jd0000000000000000000001"


@pytest.fixture
def notes(monkeypatch):
    monkeypatch.setattr(stops, "FIRST_WAIT_S", 0.01)
    monkeypatch.setattr(stops, "LONGEST_WAIT_S", 0.02)
    return []


@pytest.fixture
def stop():
    return Stop()


@pytest.fixture
def patience(stop, notes):
    return RetryPolicy(stop, lambda _, text: notes.append(text))


def failing(error, times):
    """Work that fails so often, and then is done."""
    left = [error] * times

    def work():
        if left:
            raise left.pop()
        return "done"

    return work


def through(patience, work):
    return patience.through(TRIAL, work, lambda problem: problem)


@pytest.mark.parametrize("error", [errors.StoreUnavailable("gone"), errors.HostUnavailable("away")])
def test_what_comes_back_is_waited_for_and_told_until_it_goes_on(patience, notes, error):
    assert through(patience, failing(error, 3)) == "done"
    assert [error.message in note for note in notes] == [True, True, True, False]
    assert notes[-1] == ""


def test_what_held_a_station_up_counts_as_itself_and_a_taken_key_is_not_waited_for(patience, notes):
    found = through(patience, failing(errors.Suspended(ValueError("odd")), 1))
    assert (found.kind, "a fault in diskbench" in found.message) == ("ValueError", True)
    assert through(patience, failing(errors.KeyTaken("plan.json is there"), 1)).kind == "KeyTaken"
    assert notes == []
    full = errors.Suspended(errors.StoreUnavailable("full"))
    assert through(patience, failing(full, 2)) == "done"


def test_a_stop_ends_waiting_for_a_host_but_not_for_a_store(patience, stop):
    stop.ask(TRIAL)
    assert through(patience, failing(errors.HostUnavailable("away"), 5)).message == "away"
    assert through(patience, failing(errors.StoreUnavailable("gone"), 5)) == "done"


def test_a_host_that_stays_away_is_given_up(patience, monkeypatch):
    monkeypatch.setattr(stops, "HOST_AWAY_S", 0.05)
    assert through(patience, failing(errors.HostUnavailable("away"), 1000)).message == "away"


@pytest.mark.parametrize(
    "error", [errors.StoreUnavailable("gone"), errors.HostUnavailable("away"), ValueError("odd")]
)
def test_one_policy_suspends_at_once_where_nobody_waits(stop, notes, error):
    run = RetryPolicy(stop, lambda _, text: notes.append(text), waits=False)
    with pytest.raises(errors.Suspended) as suspended:
        through(run, failing(error, 1))
    assert suspended.value.error is error
    assert notes == []


def test_a_step_is_announced_once_however_often_its_station_is_retried(stop, patience, monkeypatch):
    announced, plan = [], make_plan()
    watcher = SimpleNamespace(step_started=lambda *words: announced.append(words))
    steps = LiveTrialSteps(SimpleNamespace(database=None), stop, watcher, patience)
    done = failing(errors.StoreUnavailable("gone"), 3)
    monkeypatch.setattr(LiveTrialSteps, "_measure", lambda *_: done())
    assert steps.measure(plan, 0, plan.steps[0]) == "done"
    assert announced == [(plan.trial_id, 0, plan.steps[0])]
