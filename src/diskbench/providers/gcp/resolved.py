"""The lookup's result before renting: all that `acquire` needs, as JSON."""

from __future__ import annotations

from pydantic import Field

from diskbench.model.base import Frozen
from diskbench.providers.gcp.disk_request import LOCAL_SSD_GIB, GcpDiskRequest
from diskbench.providers.gcp.reach import Reach
from diskbench.providers.skeleton.cloud import RentalDetails


class GcpMachine(Frozen):
    """A machine type as Compute Engine describes it. `bundled_ssds` come with the type, of
    `local_ssd_gib` each by the catalogue: the API reports the size of an existing machine only."""

    type: str
    arch: str
    vcpus: int
    memory_bytes: int
    max_disks: int
    shared_core: bool = False
    bundled_ssds: int = 0
    local_ssd_gib: int = LOCAL_SSD_GIB

    @property
    def bare_metal(self) -> bool:
        """Whether it has no hypervisor; Google's names of such types end so:
        `c3-standard-192-metal`."""
        return self.type.endswith("-metal")


class GcpImage(Frozen):
    """The machine's image and its login user; `link` is its path in the API. `uefi`: it can be the
    boot disk of a Shielded VM."""

    link: str
    name: str
    arch: str
    root_gib: int
    user: str
    uefi: bool = False


class GcpNetwork(Frozen):
    """The machine's network; a firewall rule belongs to `network`."""

    network: str
    subnetwork: str | None = None


class GcpResolved(RentalDetails):
    """A rental's details. `boot_type` is "" where Google chooses. `tag` is a network tag of the
    user, whose firewall rules admit SSH; without one, a rule for `ssh_cidr` is made."""

    project: str
    region: str
    requested: GcpDiskRequest = Field(alias="wanted")
    size_gib: int
    boot_type: str
    machine: GcpMachine
    image: GcpImage
    network: GcpNetwork
    zones: tuple[str, ...]
    reach: Reach = "public"
    tag: str | None = None
    ssh_cidr: str | None = None
    emulated: bool
