"""What CreateVolume refuses. Pure, and its figures are its own: it proves diskbench's catalogue.

Ranges: botocore 1.44.5 ec2 CreateVolumeRequest (2026-11-17). Ratios: EC2 User Guide, general-
purpose.md and provisioned-iops.md (2023-05-11). Wordings as quoted in public reports of each error.
"""

from dataclasses import dataclass
from typing import Any

from emulators.aws.call import Refusal

GP2_IOPS_PER_GIB, GP2_IOPS = 3, (100, 16_000)


@dataclass(frozen=True)
class Sold:
    """A volume type: sizes in GiB, provisioned IOPS and MiB/s with their ranges and ratios."""

    size_gib: tuple[int, int]
    iops: tuple[int, int] | None = None
    iops_per_gib: int | None = None
    default_iops: int | None = None
    throughput: tuple[int, int] | None = None


SOLD = {
    "standard": Sold((1, 1024)),
    "gp2": Sold((1, 16_384)),
    "gp3": Sold((1, 65_536), (3000, 80_000), 500, 3000, (125, 2000)),
    "io1": Sold((4, 16_384), (100, 64_000), 50),
    "io2": Sold((4, 65_536), (100, 256_000), 1000),
    "st1": Sold((125, 16_384)),
    "sc1": Sold((125, 16_384)),
}
THROUGHPUT_PER_IOPS = 0.25


def check_volume(params: dict[str, Any]) -> None:
    """Raise Refusal for a volume that is not sold so."""
    kind = params.get("VolumeType", "gp2")
    size, iops, throughput = (params.get(name) for name in ("Size", "Iops", "Throughput"))
    sold = SOLD.get(kind)
    if sold is None:
        raise Refusal("UnknownVolumeType", f"The specified volume type ({kind}) is unsupported.")
    if size is None:
        if params.get("SnapshotId"):
            return
        raise Refusal("MissingParameter", "The request must contain the parameter size/snapshot")
    _within("Volume of {0}GiB is too {1}; {2} is {3}GiB.", size, sold.size_gib)
    _check_iops(kind, sold, size, iops)
    if throughput is None:
        return
    if sold.throughput is None:
        raise _combination(f"The parameter throughput is not supported for {kind} volumes.")
    _within("Volume throughput of {0} is too {1}; {2} is {3}.", throughput, sold.throughput)
    ratio = throughput / (iops or sold.default_iops or 1)
    if ratio > THROUGHPUT_PER_IOPS:
        raise _value(
            f"Throughput (MiBps) to iops ratio of {ratio:.6f} is too high; "
            f"maximum is {THROUGHPUT_PER_IOPS:.6f} MiBps per iops."
        )


def described_iops(kind: str, size: int, iops: int | None) -> int | None:
    """What DescribeVolumes tells as Iops: the provisioned ones, and gp2's baseline."""
    if kind == "gp2":
        low, high = GP2_IOPS
        return min(high, max(low, GP2_IOPS_PER_GIB * size))
    return iops if SOLD[kind].iops else None


def _check_iops(kind: str, sold: Sold, size: int, iops: int | None) -> None:
    if iops is None:
        if sold.iops and sold.default_iops is None:
            raise _combination(f"The parameter iops must be specified for {kind} volumes.")
        return
    if sold.iops is None:
        raise _combination(f"The parameter iops is not supported for {kind} volumes.")
    _within("Volume iops of {0} is too {1}; {2} is {3}.", iops, sold.iops)
    assert sold.iops_per_gib is not None
    # What a type gives for nothing it gives at any size.
    if iops > max(sold.default_iops or 0, sold.iops_per_gib * size):
        raise _value(
            f"Iops to volume size ratio of {iops / size:.6f} is too high; "
            f"maximum is {sold.iops_per_gib}"
        )


def _within(wording: str, value: int, allowed: tuple[int, int]) -> None:
    low, high = allowed
    if value < low:
        raise _value(wording.format(value, "small" if "GiB" in wording else "low", "minimum", low))
    if value > high:
        raise _value(
            wording.format(value, "large" if "GiB" in wording else "high", "maximum", high)
        )


def _value(message: str) -> Refusal:
    return Refusal("InvalidParameterValue", message)


def _combination(message: str) -> Refusal:
    return Refusal("InvalidParameterCombination", message)
