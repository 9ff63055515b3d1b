"""`diskbench providers`: where machines can come from."""

from __future__ import annotations


def providers() -> None:
    """List the providers: this package's and those that other packages register."""
    from diskbench.providers.registry import provider, provider_names

    for name in provider_names():
        about = (type(provider(name)).__doc__ or "").splitlines()[0]
        print(f"{name:<10} {about}")
