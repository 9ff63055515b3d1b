"""The flags of `diskbench run` that say what to rent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from diskbench.plan.rent_options import account_of as account_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from diskbench.model.rental import RentSpec


def _panel(panel: str) -> Callable[..., Any]:
    """What makes the options of one panel of the help."""

    def option(about: str, *names: str, metavar: str | None = None) -> Any:  # noqa: ANN401
        return typer.Option(*names, help=about, metavar=metavar, rich_help_panel=panel)

    return option


_rent = _panel("Renting (providers that make a machine and a disk)")
_of_azure, _of_google, _of_vsphere = _panel("Azure"), _panel("Google Cloud"), _panel("vSphere")
_lab = _panel("Lab (hosts made of this machine, and emulated clouds on it)")

Disk = Annotated[
    str | None, _rent("The cloud's disk type, as gp2, io1, root, instance-store.", metavar="TYPE")
]
Iops = Annotated[int | None, _rent("IOPS to provision, where the type sells them.")]
Throughput = Annotated[
    float | None,
    _rent(
        "MiB/s to provision, where the type sells them; on Azure MB/s (10^6 bytes), as it sells.",
        metavar="RATE",
    ),
]
Count = Annotated[int, _rent("Equal disks to attach.")]
Stripe = Annotated[bool, _rent("Measure the disks as one RAID 0.", "--stripe")]
Region = Annotated[str | None, _rent("Region (default: the cloud's own configuration).")]
Zone = Annotated[str | None, _rent("Zone (default: one that has the machine).")]
InstanceType = Annotated[
    str | None, _rent("VM size (default: the cheapest that does not limit the disk).")
]
Image = Annotated[str | None, _rent("Image id (default: a current Linux).")]
Subnet = Annotated[str | None, _rent("Subnet id (default: the default network's).")]
SecurityGroup = Annotated[
    str | None, _rent("Security group id to use (default: one is made, open to you alone).")
]
Placement = Annotated[str | None, _rent("Placement group to use.")]
Spot = Annotated[bool, _rent("Rent spare capacity, cheaper and revocable.", "--spot")]
SshCidr = Annotated[
    str | None, _rent("Who may reach SSH (default: this machine's address).", metavar="CIDR")
]
MaxCost = Annotated[
    float | None,
    _rent("Refuse before renting when all of it may cost more.", metavar="USD"),
]
AssumePrice = Annotated[
    float | None,
    _rent("What an hour costs where no price is known (with --max-cost).", metavar="USD_PER_HOUR"),
]
ProfileName = Annotated[str | None, _rent("Named credentials of the cloud's SDK (AWS profile).")]
EndpointUrl = Annotated[str | None, _rent("Another API endpoint, as of an emulator.")]

Subscription = Annotated[
    str | None, _of_azure("Subscription id (default: AZURE_SUBSCRIPTION_ID).", metavar="ID")
]
Cache = Annotated[
    str | None, _of_azure("Host caching of the disk.", metavar="none|readonly|readwrite")
]
PerformanceTier = Annotated[
    str | None, _of_azure("A tier above the size's own, as P30 (Premium SSD).", metavar="TIER")
]
Bursting = Annotated[bool, _of_azure("Bursting on demand (Premium SSD).", "--bursting")]
Project = Annotated[str | None, _of_google("Project (default: that of the credentials).")]
Datastore = Annotated[str | None, _of_vsphere("Datastore that the disk is made on.")]
StoragePolicy = Annotated[str | None, _of_vsphere("Storage policy, in place of a datastore.")]
Provisioning = Annotated[
    str | None, _of_vsphere("How it is made.", metavar="thin|lazy-zeroed|eager-zeroed")
]
Controller = Annotated[str | None, _of_vsphere("Its controller.", metavar="pvscsi|nvme|lsi")]
Vcpus = Annotated[int | None, _of_vsphere("Virtual CPUs of the machine.")]
Memory = Annotated[float | None, _of_vsphere("Memory of the machine, in GiB.", metavar="GIB")]
Template = Annotated[str | None, _of_vsphere("Template that the machine is cloned from.")]
Network = Annotated[str | None, _of_vsphere("Network that the machine is on.")]
Datacenter = Annotated[str | None, _of_vsphere("Datacenter (default: the only one).")]
Cluster = Annotated[str | None, _of_vsphere("Cluster to run in; or name one --host.")]
Folder = Annotated[str | None, _of_vsphere("Folder that the machine is made in.")]
ResourcePool = Annotated[str | None, _of_vsphere("Resource pool to run in.")]
IopsLimit = Annotated[
    int | None, _of_vsphere("IOPS the host lets the disk do; above 32 KiB one counts as several.")
]
CaFile = Annotated[str | None, _of_vsphere("Certificates to trust the server by.", metavar="FILE")]
Insecure = Annotated[
    bool, _of_vsphere("Do not verify the server's certificate (dangerous).", "--insecure")
]

TimeScale = Annotated[
    float, _lab("Divide the capacity of burst buckets by this, and nothing else.")
]
LabStyle = Annotated[
    str | None, _lab("Whose device names: aws-nvme, aws-xen, azure, google, vsphere.")
]
LabUser = Annotated[str, _lab("The host's user: root, or another who may use sudo.")]
VmIops = Annotated[float | None, _lab("Cap on the IOPS of all disks of the host together.")]
VmThroughput = Annotated[float | None, _lab("Cap on their MiB/s together.", metavar="MIB_PER_S")]
Noise = Annotated[float, _lab("Standard deviation of the limits, second to second (0.05 is 5 %).")]
StallEvery = Annotated[float, _lab("Mean seconds between stalls of the disks (0: none).")]
StallFor = Annotated[float, _lab("Seconds that a stall lasts.")]
Latency = Annotated[
    float, _lab("Median time that each request takes at least (0: as it comes).", metavar="MS")
]
LatencyJitter = Annotated[
    float, _lab("Sigma of the latency's lognormal distribution (0: always the same).")
]
LabSeed = Annotated[int, _lab("Seed of noise, stalls and latency.")]


def rent_spec(provider: str, options: Mapping[str, Any]) -> RentSpec | None:
    """What is to be rented; None for a provider that measures machines that are there.

    `options` are those of `run`, by name, as typed. Raises InvalidValue for one that means nothing
    to the provider, or a value out of its range.
    """
    from diskbench.engine.draft import renter_named
    from diskbench.plan.rent_options import rent_spec as asked

    return asked(provider, options, rents=renter_named(provider) is not None)
