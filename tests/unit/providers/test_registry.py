"""A command makes each provider once and closes what it opened."""

import pytest

from diskbench.errors import UnknownName
from diskbench.providers import registry
from diskbench.providers.registry import Providers


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
