"""The text that the offers of all clouds share: pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from diskbench.model.options import RentSpec


def disk_words(
    disk: str,
    count: int,
    is_striped: bool,
    iops: int | None,
    throughput: float | None,
    unit: str = "MiB/s",
) -> str:
    """`disk` with its count, whether it is striped, and its provisioned IOPS and throughput."""
    words = f"{count} × {disk}" if count > 1 else disk
    words += ", striped" if count > 1 and is_striped else ""
    if iops:
        words += f", {iops:,} IOPS"
    if throughput:
        words += f", {throughput:g} {unit}"
    return words


def place_words(zones: Sequence[str]) -> str:
    """The first zone, and those to try after it."""
    first, *others = zones
    return f"{first} (else {', '.join(others)})" if others else first


def open_warnings(spec: RentSpec, *, spot: str) -> Iterator[str]:
    """Warnings about the user's own choices: a machine that the cloud may take away (`spot`
    completes the sentence), and SSH from everywhere."""
    if spec.spot:
        yield f"the cloud may end a spot machine at any time{spot}"
    if spec.ssh_cidr is not None and spec.ssh_cidr.endswith("/0"):
        yield f"SSH is open to all addresses ({spec.ssh_cidr}); only the lease's key gets in"
