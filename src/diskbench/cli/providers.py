"""`diskbench providers`: where machines can come from, and what each provider can do."""

from collections.abc import Iterator

from diskbench import ports
from diskbench.plugin import plugin, working
from diskbench.ports import Provider
from diskbench.providers.registry import provider, provider_names
from diskbench.report.terminal.layout import hanging


def providers() -> None:
    """List the providers: diskbench's own and those of other packages."""
    for name, instance in working(provider_names(), provider).items():
        print(hanging(f"{name:<10} ", plugin(name).summary))
        for ability in abilities(instance):
            print(hanging(" " * 13, ability))


def abilities(provider: Provider) -> Iterator[str]:
    """What the provider's type says it can do (ports.py)."""
    instance: object = provider
    yield "rents" if isinstance(instance, ports.Renter) else "measures existing machines"
    if isinstance(instance, ports.Provisions):
        yield f"can provision performance apart from size: {', '.join(instance.provisioned())}"
    if isinstance(instance, ports.Caches):
        yield f"caches disks on their host: --cache {'|'.join(instance.host_caches())}"
    if isinstance(instance, ports.EndsMachines):
        yield f"leftover machines shut themselves down: {instance.ends_by()}"
    if isinstance(instance, ports.Foresees):
        yield "can plan offline"
    if isinstance(instance, ports.Refreshes):
        yield "can refresh limits and prices: diskbench catalog prices --refresh"
    if checks := [word for word, kind in _CHECKS.items() if isinstance(instance, kind)]:
        yield f"is checked by diskbench doctor: {', '.join(checks)}"
    yield from (words for words, kind in _ABILITIES.items() if isinstance(instance, kind))


_CHECKS = {"rights": ports.Examinable, "quotas": ports.Metered, "policy": ports.Governed}
_ABILITIES = {
    "can change the disks of a machine: reuse_host in a matrix": ports.SwapsDisks,
    "measures disks made from a snapshot of a filled disk: "
    "--snapshot-of-fill": ports.SnapshotsDisks,
    "gc uses the cloud's clock to decide what has expired": ports.TellsTime,
    "filling a disk spends no burst credit": ports.HoldsCredit,
    "keeps the cloud's own metrics of disks and machine with each run": ports.Monitors,
}
