"""Replicates are looked up once, and each is planned once."""

import pytest
from tests.books import SHIPPED

from diskbench.engine.trial import planning as module
from diskbench.engine.trial.planning import drafts
from diskbench.errors import InvalidValue
from diskbench.model.options import RentSpec
from diskbench.model.spec import Cell, TargetSpec
from diskbench.providers.fake.cloud import FakeProvider
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


def test_a_plan_is_made_for_each_cell_and_none_beside(renter, monkeypatch):
    made = []
    real = module.rented_plan
    monkeypatch.setattr(module, "rented_plan", lambda *a, **k: made.append(a) or real(*a, **k))
    plans, refused = drafts(renter, cells(), find_profile("quick"), SHIPPED)
    assert (len(plans), refused) == (REPLICATES, [])
    assert len(made) == REPLICATES


def test_what_cannot_be_planned_is_refused_cell_by_cell(renter, monkeypatch):
    def fails(*_, **__):
        raise InvalidValue("no such plan")

    monkeypatch.setattr(module, "rented_plan", fails)
    plans, refused = drafts(renter, cells(), find_profile("quick"), SHIPPED)
    assert plans == []
    assert [str(error) for _, error in refused] == ["no such plan"] * REPLICATES
