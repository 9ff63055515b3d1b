"""`diskbench providers`: where machines can come from, and what each provider can do."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diskbench.ports import Provider


def providers() -> None:
    """List the providers: this package's and those that other packages register."""
    from diskbench.providers.registry import provider, provider_names

    found = [(name, provider(name)) for name in provider_names()]
    width = max(len(_abilities(one)) for _, one in found)
    for name, one in found:
        about = (type(one).__doc__ or "").splitlines()[0]
        print(f"{name:<10} {_abilities(one):<{width}}  {about}")


def _abilities(provider: Provider) -> str:
    """What the provider's type says it can do (ports.py)."""
    from diskbench.ports import HoldsCredit, Renter

    one: object = provider
    words = ["rents" if isinstance(one, Renter) else "measures what is there"]
    words += ["holds credit"] if isinstance(one, HoldsCredit) else []
    return ", ".join(words)
