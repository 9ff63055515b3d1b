"""`diskbench providers`: where machines can come from, and what each provider can do."""

from __future__ import annotations

from collections.abc import Iterator

from diskbench import ports
from diskbench.plugins import plugin, working
from diskbench.ports import Provider
from diskbench.providers.registry import provider, provider_names
from diskbench.report.terminal.screen import hanging


def providers() -> None:
    """List the providers: this package's and those that other packages register."""
    for name, instance in working(provider_names(), provider).items():
        print(hanging(f"{name:<10} ", plugin(name).summary))
        for ability in abilities(instance):
            print(hanging(" " * 13, ability))


def abilities(provider: Provider) -> Iterator[str]:
    """What the provider's type says it can do (ports.py)."""
    instance: object = provider
    yield "rents" if isinstance(instance, ports.Renter) else "measures what is there"
    if isinstance(instance, ports.Provisions):
        yield f"sells performance independent of size: {', '.join(instance.provisioned())}"
    if isinstance(instance, ports.Caches):
        yield f"caches disks on their host: --cache {'|'.join(instance.host_caches())}"
    if isinstance(instance, ports.EndsMachines):
        yield f"ends resources that were not given back: {instance.ends_by()}"
    if isinstance(instance, ports.Foresees):
        yield "names the machine that it would rent without a request to the cloud"
    if isinstance(instance, ports.Refreshes):
        yield "gets limits and prices by API: diskbench catalog prices --refresh"
    checks = [
        word
        for word, kind in (
            ("rights", ports.Examinable),
            ("quotas", ports.Metered),
            ("policy", ports.Governed),
        )
        if isinstance(instance, kind)
    ]
    if checks:
        yield f"is checked by diskbench doctor: {', '.join(checks)}"
    if isinstance(instance, ports.SwapsDisks):
        yield "can change the disks of a machine: reuse_host in a matrix"
    if isinstance(instance, ports.TellsTime):
        yield "reports its time, by which gc decides what has expired"
    if isinstance(instance, ports.HoldsCredit):
        yield "holds burst credit while disks are filled"
