"""`diskbench providers` says of each what its type can do."""

import pytest

from diskbench.cli.providers import abilities, providers
from diskbench.providers.registry import provider, provider_names


@pytest.mark.parametrize(
    ("name", "can", "cannot"),
    [
        ("aws", ["rents", "gp3, io1, io2", "terminates"], ["caches"]),
        ("azure", ["PremiumV2_LRS, UltraSSD_LRS", "none|readonly|readwrite", "deallocates"], []),
        ("gcp", ["pd-extreme, hyperdisk-balanced", "maxRunDuration"], ["caches"]),
        ("vsphere", ["rents"], ["apart from size", "caches", "ends what nobody gives back"]),
        ("lab", ["spends no burst credit"], ["ends what nobody gives back"]),
        ("ssh", ["measures existing machines"], ["rents"]),
    ],
)
def test_a_provider_can_what_its_type_can(name: str, can: list[str], cannot: list[str]) -> None:
    found = "; ".join(abilities(provider(name)))
    assert [word for word in can if word not in found] == []
    assert [word for word in cannot if word in found] == []


def test_a_provider_of_somebody_elses_is_known_by_its_type_alone() -> None:
    class Theirs:
        name = "theirs"

        def check(self, cell: object) -> None: ...

        def host_caches(self) -> tuple[str, ...]:
            return ("write-back",)

    measures, caches = abilities(Theirs())
    assert measures == "measures existing machines"
    assert caches == "caches disks on their host: --cache write-back"


def test_all_are_listed_with_what_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    providers()
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line[0] != " "]
    assert listed == list(provider_names())
