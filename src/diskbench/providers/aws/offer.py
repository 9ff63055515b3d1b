"""The machine to measure from, chosen among the types as EC2 describes them, and the rental as a
priced offer for the user: resolved by AWS, or expected by the catalogue alone, where AWS may answer
otherwise.

A machine that sustains less than its disk promises would limit the measurement. So the default is
the cheapest machine whose *baseline* is MARGIN times the disk's ceiling, in IOPS and bytes.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from diskbench.catalog.books import Books, ProviderBook
from diskbench.catalog.cost import restore_part
from diskbench.catalog.machine_book import LocalDisks, MachineEntry
from diskbench.errors import UnknownName, did_you_mean
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec, PricePart, Rental, Scope
from diskbench.providers.asked import snapshot_option
from diskbench.providers.aws.client import AwsClient, account_name
from diskbench.providers.aws.disk_request import (
    ROOT_TYPE,
    AwsDiskRequest,
    AwsMachine,
    AwsResolved,
    EbsFigures,
    region_of,
)
from diskbench.providers.aws.errors import error_code, refused
from diskbench.providers.aws.plugin import AwsOptions
from diskbench.providers.options import NetworkOptions
from diskbench.providers.skeleton import offer as skeleton
from diskbench.providers.skeleton.cloud import unless_missing
from diskbench.units import GIB, MIB

_XEN_MAX_IOPS = 32_000
_XEN_MAX_GIB = 16_384
"""The limits of io1 and io2 without Nitro, where there is no Block Express (provisioned-iops.md,
2023)."""


def find_machine(ec2: AwsClient, name: str, known: Sequence[str]) -> AwsMachine:
    """Look up a machine type by name. Raises UnknownName with the nearest of `known`."""
    request = {"InstanceTypes": [name]}
    machine_types = unless_missing(
        lambda: ec2.listed("describe_instance_types", "InstanceTypes", request),
        lambda error: error_code(error) == "InvalidInstanceType",
    )
    if not machine_types:
        advice = "aws ec2 describe-instance-types lists those of a region"
        raise UnknownName(
            f"instance type of {ec2.session.region}", name, known,
            advice=f"{did_you_mean(name, known)}{advice}", field="instance_type",
        )  # fmt: skip
    return machine(machine_types[0])


def machine(described: dict[str, Any]) -> AwsMachine:
    """The machine type in one item of DescribeInstanceTypes."""
    ebs = described.get("EbsInfo", {})
    store = described.get("InstanceStorageInfo", {})
    cards = sorted(ebs.get("EbsCards", []), key=lambda card: int(card.get("EbsCardIndex", 0)))
    # EC2 attaches a volume to the first card unless a request names another (AttachVolume,
    # EbsCardIndex, botocore 1.44.5): that card's limits count, not the sum of all.
    limits = cards[0] if len(cards) > 1 else ebs.get("EbsOptimizedInfo", {})
    support = ebs.get("EbsOptimizedSupport", "unsupported")
    hypervisor = str(described.get("Hypervisor", "nitro"))  # bare metal has no such field
    disks = store.get("Disks", [])
    is_arm = "arm64" in described["ProcessorInfo"]["SupportedArchitectures"]
    return AwsMachine(
        type=described["InstanceType"],
        arch="arm64" if is_arm else "x86_64",
        vcpus=described["VCpuInfo"]["DefaultVCpus"],
        memory_bytes=described["MemoryInfo"]["SizeInMiB"] * MIB,
        hypervisor=hypervisor,
        # i3 has local NVMe disks and still presents its volumes as Xen does.
        ebs_nvme=hypervisor == "nitro",
        ebs_optimized=support,
        ebs=EbsFigures(
            baseline_iops=limits.get("BaselineIops"),
            baseline_mb_per_s=limits.get("BaselineThroughputInMBps"),
            max_iops=limits.get("MaximumIops"),
            max_mb_per_s=limits.get("MaximumThroughputInMBps"),
        ),
        ebs_cards=max(len(cards), 1),
        bare_metal=bool(described.get("BareMetal")),
        max_disks=ebs.get("MaximumEbsAttachments"),
        disks_apart=ebs.get("AttachmentLimitType") == "dedicated",
        burstable=bool(described.get("BurstablePerformanceSupported")),
        local=LocalDisks(
            count=sum(disk["Count"] for disk in disks),
            size_gb=disks[0]["SizeInGB"],
            nvme=store.get("NvmeSupport") != "unsupported",
        )
        if disks
        else None,
    )


def check_support(machine: AwsMachine, requested: AwsDiskRequest) -> None:
    """Refuse a disk that the machine does not support: pure. Raises InvalidValue."""
    if requested.kind == "instance-store":
        _check_local(machine, requested.count)
        return
    if machine.hypervisor != "nitro" and requested.type in {"io1", "io2"}:
        if (requested.iops or 0) > _XEN_MAX_IOPS:
            raise refused("IOPS beyond Xen", disk=requested, machine=machine, most=_XEN_MAX_IOPS)
        if (requested.size_gib or 0) > _XEN_MAX_GIB:
            raise refused("size beyond Xen", disk=requested, machine=machine, most=_XEN_MAX_GIB)
    if requested.kind == "volume" and machine.max_disks is not None:
        room = room_for_disks(machine.max_disks, apart=machine.disks_apart)
        if requested.count > room:
            raise refused(
                "more disks than the machine takes", requested=requested, machine=machine, room=room
            )


def _check_local(machine: AwsMachine, count: int) -> None:
    local = machine.local
    if local is None:
        raise refused("no disks of its own", machine=machine)
    if not local.nvme:
        raise refused("own disks not NVMe", machine=machine)
    if count > local.count:
        raise refused("more disks than come with it", count=count, machine=machine, local=local)


MAX_ALTERNATIVES = 2
DEARER = 1.25
"""How many further types are tried without capacity, and how much more each may cost; our
choice."""


def candidates(
    book: ProviderBook, need: skeleton.Needs, *, arch: str, disks: int = 1, local_disks: int = 0
) -> tuple[str, ...]:
    """The machine types that sustain the disk, cheapest first: current, not burstable, two
    processors or more. With `local_disks`, the machine has that many local NVMe disks."""
    good = [
        (usd, name)
        for name, entry in book.machines.types.items()
        if (usd := book.prices.machine_hourly_usd(name)) is not None
        and _is_fit(entry, arch, disks, local_disks)
        and _sustains(figures(entry), need)
    ]
    return tuple(name for _, name in sorted(good))


def alternatives(book: ProviderBook, names: Sequence[str]) -> tuple[str, ...]:
    """The types of `names` (cheapest first) to rent where there is no capacity for the first: with
    as many processors, and no more than DEARER times its price, so that the plan stays true."""
    first, *others = names
    usd, entry = book.prices.machine_hourly_usd(first), book.machines.types[first]
    assert usd is not None, "candidates have prices"
    alike = [
        name
        for name in others
        if book.machines.types[name].vcpus == entry.vcpus
        and (book.prices.machine_hourly_usd(name) or 0) <= DEARER * usd
    ]
    return tuple(alike[:MAX_ALTERNATIVES])


def figures(entry: MachineEntry) -> EbsFigures:
    """The catalogue's EBS figures of a machine type; a single figure serves as baseline and
    maximum."""
    return EbsFigures(
        baseline_iops=entry.iops,
        baseline_mb_per_s=entry.mb_per_s,
        max_iops=entry.burst_iops or entry.iops,
        max_mb_per_s=entry.burst_mb_per_s or entry.mb_per_s,
    )


def too_small(name: str, ebs: EbsFigures, need: skeleton.Needs, better: str | None) -> str | None:
    """Why a machine chosen by the user would limit the measurement; None when it does not."""
    if not any(need):
        return None
    if ebs.baseline_iops is None or ebs.baseline_mb_per_s is None:
        return f"AWS publishes no EBS limit for {name}: the VM, not the disk, may be the bottleneck"
    if _sustains(ebs, need):
        return None
    burst = ""
    if ebs.max_mb_per_s and ebs.max_mb_per_s > ebs.baseline_mb_per_s:
        burst = f" ({ebs.max_iops:,.0f} and {ebs.max_mb_per_s:,.0f} for half an hour a day)"
    instead = f"; {better} is large enough" if better and better != name else ""
    return (
        f"{name} sustains {ebs.baseline_iops:,.0f} IOPS and {ebs.baseline_mb_per_s:,.0f} MB/s"
        f"{burst}, but the disk needs {need[0]:,.0f} and {need[1]:,.0f}: "
        f"{skeleton.BOTTLENECK}{instead}"
    )


def _is_fit(entry: MachineEntry, arch: str, disks: int, local_disks: int) -> bool:
    own = entry.local
    return (
        (not local_disks or (own is not None and own.nvme and own.count >= local_disks))
        and entry.current
        and not entry.burstable
        and entry.traits.get("hypervisor", "nitro") == "nitro"
        and entry.traits.get("ebs_optimized", "default") == "default"
        and entry.vcpus >= skeleton.MIN_VCPUS
        and entry.arch == arch
        and room_for_disks(entry.max_disks, apart=entry.disks_apart) >= disks
    )


def room_for_disks(max_disks: int, *, apart: bool) -> int:
    """How many disks can be attached beside the root disk, less the network interface where they
    share slots."""
    return max_disks - (1 if apart else 2)


def _sustains(ebs: EbsFigures, need: skeleton.Needs) -> bool:
    if not any(need):
        return True
    iops, mb_per_s = need
    return (ebs.baseline_iops or 0) >= iops and (ebs.baseline_mb_per_s or 0) >= mb_per_s


def rental(books: Books, spec: RentSpec, details: AwsResolved, endpoint: str | None) -> Rental:
    """The rental for the lookup's result; `endpoint` is an emulator's."""
    machine = details.machine
    account = account_name(spec.account, details.account_id)
    return _offered(
        books, spec, details.requested,
        Scope(provider="aws", account=account, region=details.region, endpoint=endpoint),
        details.size_gib,
        machine.type,
        root=DiskSpec(type=details.root_type, size_gib=details.image.root_gib),
        # A subnet of the user may assign a public address or not: the price assumes that it does.
        public=details.places[0].public is not False,
        offer=_offer_line(spec, details),
        zones=tuple(place.zone for place in details.places if place.machine is None),
        image=details.image.id,
        cores=machine.vcpus,
        memory_bytes=machine.memory_bytes,
        warnings=tuple(_warnings(books, spec, details)),
        details=details.model_dump(mode="json"),
    )  # fmt: skip


def _offered(
    books: Books,
    spec: RentSpec,
    requested: AwsDiskRequest,
    scope: Scope,
    size_gib: int,
    machine: str | None,
    **known: Any,  # noqa: ANN401 - as skeleton.offer.offered
) -> Rental:
    options, more = AwsOptions.of(spec), list[PricePart]()
    if options.fast_snapshot_restore:
        more.append(restore_part("aws", scope.region or ""))
    if (rate := options.initialization_rate) is not None:
        # No document that was found has the price of a rate.
        more.append(PricePart(name=f"loading at {rate} MiB/s", hourly_usd=None))
    return skeleton.offered(
        books, spec, scope, requested, size_gib, machine,
        region=scope.region, own=requested.kind == "instance-store", more=more,
        loads_bytes_per_s=_loads_bytes_per_s(spec), **known,
    )  # fmt: skip


def _offer_line(spec: RentSpec, details: AwsResolved) -> str:
    zones = [place.zone for place in details.places if place.machine is None]
    return skeleton.offer_words(
        spec, details.requested, details.size_gib, machine=details.machine.type,
        where=skeleton.place_words(zones), image=details.image.name,
        own="its own disk" if details.requested.kind == "instance-store" else None,
        more=_origin_words(spec),
    )  # fmt: skip


def _warnings(books: Books, spec: RentSpec, details: AwsResolved) -> Iterator[str]:
    book, machine, requested = books.of("aws"), details.machine, details.requested
    need = skeleton.needs(requested.limits(details.size_gib), requested.count)
    better = candidates(book, need, arch=machine.arch, disks=requested.count)
    small = too_small(machine.type, machine.ebs, need, better[0] if better else None)
    if small:
        yield small
    if machine.burstable:
        yield f"{machine.type} earns CPU credits: fio may run out of them before the disk does"
    known, ebs = book.machines.types.get(machine.type), machine.ebs
    told = (ebs.baseline_iops, ebs.baseline_mb_per_s)
    if known is not None and told[0] is not None and told != (known.iops, known.mb_per_s):
        yield (
            f"the catalogue says {machine.type} sustains {known.iops} IOPS and {known.mb_per_s} "
            f"MB/s, but EC2 says {told[0]} and {told[1]}; EC2's figures are used"
        )
    if details.others:
        names = " or ".join(other.type for other in details.others)
        yield (
            f"if no zone has capacity for {machine.type}, {names} is rented, for at most "
            f"{DEARER - 1:.0%} more; --instance-type allows only the one that you name"
        )
    if _loads_bytes_per_s(spec) is not None:
        yield (
            "the first read of each block loads it from the snapshot, which is slower: --profile "
            "first-touch measures that"
        )
    if machine.ebs_cards > 1:
        yield (
            f"{machine.type} has {machine.ebs_cards} EBS cards: all disks are attached to the "
            "first, whose limits count"
        )
    if len(details.places[0].zone) > len(details.region) + 1:
        yield f"{details.places[0].zone} is a Local Zone: prices are those of {details.region}"
    yield from skeleton.open_warnings(spec, spot=", and costs at most the price shown")


def _origin_words(spec: RentSpec) -> str:
    """What the disks are made from, and how fast that is loaded."""
    options = AwsOptions.of(spec)
    words = skeleton.OF_FILL if spec.snapshot_of_fill else ""
    words = f", from {spec.snapshot}" if spec.snapshot else words
    if options.initialization_rate:
        words += f" loaded at {options.initialization_rate} MiB/s"
    return f"{words} with Fast Snapshot Restore" if options.fast_snapshot_restore else words


def _loads_bytes_per_s(spec: RentSpec) -> float | None:
    """As Rental.loads_bytes_per_s; whether a snapshot of the user's is restored fast is not known
    before the disk is made from it."""
    options = AwsOptions.of(spec)
    if snapshot_option(spec) is None or options.fast_snapshot_restore:
        return None
    return float((options.initialization_rate or 0) * MIB)


IMAGE_GIB = 8
"""The root disk of Ubuntu's and Debian's images for AWS; another image may have more."""
_ARCH = "x86_64"


def foresee(books: Books, spec: RentSpec, requested: AwsDiskRequest) -> Rental:
    """The expected rental; a price or machine that the catalogue lacks is None."""
    book = books.of("aws")
    size_gib = requested.size_gib or IMAGE_GIB
    need = skeleton.needs(requested.limits(size_gib), requested.count)
    local = requested.count if requested.kind == "instance-store" else 0
    fit = candidates(book, need, arch=_ARCH, disks=requested.count, local_disks=local)
    machine = spec.instance_type or (fit[0] if fit else None)
    entry = book.machines.types.get(machine or "")
    if requested.kind == "instance-store" and entry is not None and entry.local is not None:
        size_gib = int(entry.local.size_gb * 1e9 / GIB)
    region = spec.region or (region_of(spec.zone) if spec.zone else None)
    warnings: tuple[str, ...] = ()
    if entry is not None:
        small = too_small(machine or "", figures(entry), need, fit[0] if fit else None)
        old = f"{machine} is of a previous generation: not every zone has it"
        warnings = ((small,) if small else ()) + (() if entry.current else (old,))
    disk = "its own disk" if local else f"{requested.type} of {size_gib:,} GiB"
    return _offered(
        books, spec, requested,
        Scope(provider="aws", account=spec.account, region=region),
        size_gib,
        machine,
        root=DiskSpec(type=ROOT_TYPE, size_gib=IMAGE_GIB),
        public=not NetworkOptions.of(spec).no_public_ip,
        offer=f"{machine or 'a machine'} with {disk}{_origin_words(spec)}",
        zones=(spec.zone,) if spec.zone else (),
        cores=entry.vcpus if entry else None,
        memory_bytes=int(entry.memory_gib * GIB) if entry else None,
        warnings=warnings,
    )  # fmt: skip
