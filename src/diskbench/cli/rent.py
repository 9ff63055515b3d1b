"""The flags of `diskbench run` that say what to rent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from diskbench.errors import InvalidValue

if TYPE_CHECKING:
    from diskbench.model.rental import RentSpec

_RENT = "Renting (providers that make a machine and a disk)"
_LAB = "Lab (hosts made of this machine, and emulated clouds on it)"


def _rent(about: str, name: str | None = None, metavar: str | None = None) -> Any:  # noqa: ANN401
    names = (name,) if name else ()
    return typer.Option(*names, help=about, metavar=metavar, rich_help_panel=_RENT)


def _lab(about: str, name: str | None = None, metavar: str | None = None) -> Any:  # noqa: ANN401
    names = (name,) if name else ()
    return typer.Option(*names, help=about, metavar=metavar, rich_help_panel=_LAB)


Disk = Annotated[
    str | None, _rent("The cloud's disk type, as gp2, io1, root, instance-store.", metavar="TYPE")
]
Iops = Annotated[int | None, _rent("IOPS to provision, where the type sells them.")]
Throughput = Annotated[
    float | None, _rent("MiB/s to provision, where the type sells them.", metavar="MIB_PER_S")
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
ProfileName = Annotated[str | None, _rent("Named credentials of the cloud's SDK (AWS profile).")]
EndpointUrl = Annotated[str | None, _rent("Another API endpoint, as of an emulator.")]

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


def rent_spec(
    provider: str, size_gib: float | None, rent: dict[str, Any], lab: dict[str, Any]
) -> RentSpec | None:
    """What is to be rented; None for a provider that measures machines that are there.

    `rent` and `lab` hold the fields of RentSpec and LabSpec as typed. Raises InvalidValue for a
    flag that means nothing to the provider, or a value out of its range.
    """
    from pydantic import ValidationError

    from diskbench.engine.draft import renter_named
    from diskbench.model.rental import LabSpec, RentSpec
    from diskbench.plan.rent_flags import flag, typed

    try:
        spec = RentSpec(**rent, lab=LabSpec(**lab))
    except ValidationError as error:
        first = error.errors()[0]
        raise InvalidValue(
            f"{flag(str(first['loc'][-1]))} {first['input']}: {first['msg']}",
            advice="see diskbench run --help",
        ) from error
    if renter_named(provider) is not None:
        return spec.model_copy(update={"size_gib": _whole(size_gib)})
    for name, value in typed(spec):
        raise InvalidValue(
            f"{name} {value} does not go with --provider {provider}, which rents nothing",
            advice="name a provider that does: diskbench providers",
        )
    return None


def _whole(size_gib: float | None) -> int | None:
    """The size of a disk; clouds sell whole GiB."""
    if size_gib is None:
        return None
    if size_gib < 1 or size_gib != int(size_gib):
        raise InvalidValue(
            f"--size {size_gib:g}: a disk is rented in whole GiB", advice="give 1 or more"
        )
    return int(size_gib)
