"""Which provider has which ability: the contract tests one only where the provider has it, so an
ability that is lost would go unnoticed there."""

import pytest

from diskbench import ports
from diskbench.providers.registry import provider

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
