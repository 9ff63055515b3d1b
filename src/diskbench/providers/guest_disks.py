"""A guest's disks, and those that existed before ours were attached: adapters choose from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.model.base import Frozen
from diskbench.providers.scripts import script

if TYPE_CHECKING:
    from diskbench.ports import Host


class GuestDisk(Frozen):
    """One whole disk in the guest. `identity` is compared before a write; `wwn` separates the
    disks of one NVMe controller, which share its serial."""

    node: str
    number: str
    size_bytes: int
    identity: str
    serial: str = ""
    model: str = ""
    wwn: str = ""
    namespace: int | None = None
    """The id of an NVMe namespace (NSID), as its controller numbers it."""
    links: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """The device name that does not depend on other attached disks."""
        return next(iter(self.links), self.node)

    @property
    def keys(self) -> frozenset[str]:
        """The keys that recognise the disk later: identity, and node with kernel number."""
        return frozenset({self.identity or self.node, f"{self.node} {self.number}"})


def disks(host: Host) -> tuple[GuestDisk, ...]:
    """The whole disks with a node in the guest's /dev now. Raises ConnectionLost."""
    return parse_disks(host.run(script("disks.sh")).text)


def disks_before(host: Host, *, attached: bool) -> tuple[GuestDisk, ...] | None:
    """The disks before ours were attached. The first call stores them in the guest, so that a
    later call, by any process, returns the same; None when ours were `attached` already and
    nothing was stored."""
    parts = (
        f"attached={'yes' if attached else ''}",
        script("disks_before.sh") + script("disks.sh") + "}",
        "remember",
    )
    answer = host.run("\n".join(parts))
    return None if answer.exit == 3 else parse_disks(answer.text)


def parse_disks(text: str) -> tuple[GuestDisk, ...]:
    """Parse the output of disks.sh: pure."""
    parsed: list[GuestDisk] = []
    links: dict[str, list[str]] = {}
    for line in text.splitlines():
        fields = line.split("\t")
        if fields[0] == "disk" and 7 <= len(fields) <= 9 and fields[3].isdecimal():
            _, node, number, sectors, identity, serial, model, *more = fields
            wwn, namespace = [*more, "", ""][:2]
            parsed.append(
                GuestDisk(
                    node=node,
                    number=number,
                    size_bytes=int(sectors) * 512,
                    identity=identity,
                    serial=serial,
                    model=model,
                    wwn=wwn,
                    namespace=int(namespace) if namespace.isdecimal() else None,
                )
            )
        elif fields[0] == "link" and len(fields) == 3:
            links.setdefault(fields[2], []).append(fields[1])
    # A namespace has a second link (`…-ns-1`, `…_1`); the plain one is the shortest.
    return tuple(
        disk.model_copy(
            update={"links": tuple(sorted(links.get(disk.number, []), key=lambda x: (len(x), x)))}
        )
        for disk in parsed
    )
