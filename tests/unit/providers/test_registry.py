"""Which provider has which ability (the contract tests one only where a provider has it, so one
that is lost would go unnoticed there); a command makes each once and closes what it opened."""

import pytest

from diskbench import ports
from diskbench.errors import UnknownName
from diskbench.providers import registry
from diskbench.providers.registry import Providers, provider


class Keeping:
    name = "keeping"

    def __init__(self) -> None:
        self.closed = 0

    def check(self, cell: object) -> None: ...

    def close(self) -> None:
        self.closed += 1
        raise OSError


def test_only_what_rents_is_a_renter_and_each_is_made_once_and_closed_with_all(monkeypatch):
    with Providers() as providers:
        assert providers.renter("local") is None
        assert providers.renter("fake") is providers.named("fake")
        with pytest.raises(UnknownName):
            providers.named("fack")
    monkeypatch.setattr(registry, "provider", lambda _: Keeping())
    with Providers() as providers:
        first = providers.named("one")
        assert providers.named("one") is first
        assert providers.named("two") is not first
        assert providers.renter("one") is None
    assert isinstance(first, Keeping)
    assert first.closed == 1


ABILITIES = {
    name: getattr(ports, name)
    for name in (
        "Renter", "SwapsDisks", "Foresees", "ExtendsLeases", "TellsTime", "Examinable", "Metered",
        "Governed", "Regional", "Refreshes", "EndsMachines", "Caches", "Provisions", "HoldsCredit",
        "Monitors", "SnapshotsDisks",
    )
}  # fmt: skip
CLOUD = {"Renter", "SwapsDisks", "Foresees", "TellsTime", "Examinable", "Governed"}
OWN = {"Renter", "SwapsDisks", "Foresees", "ExtendsLeases"}
PUBLIC = CLOUD | {"Metered", "Refreshes", "EndsMachines", "Provisions", "SnapshotsDisks"}


@pytest.mark.parametrize(
    ("name", "abilities"),
    [
        ("aws", PUBLIC | {"ExtendsLeases", "Regional", "Monitors"}),
        ("azure", PUBLIC | {"ExtendsLeases", "Caches", "Monitors"}),
        ("gcp", PUBLIC),
        ("vsphere", CLOUD | {"ExtendsLeases"}),
        ("fake", OWN),
        ("lab", OWN | {"Examinable", "HoldsCredit"}),
        ("local", set()),
        ("ssh", set()),
    ],
)
def test_a_provider_has_these_abilities(name, abilities):
    assert {one for one, kind in ABILITIES.items() if isinstance(provider(name), kind)} == abilities
