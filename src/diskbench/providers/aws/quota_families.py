"""The families of machines whose processors EC2 counts in one quota, as data.

Codes and names: Service Quotas, "Amazon EC2" (EC2 User Guide, "On-Demand Instance quotas" and "Spot
Instance quotas", as stored 2026; the codes of spot Trn, DL and X as listed by
`aws service-quotas list-service-quotas`, read 2026-11-23). mac instances run on dedicated hosts,
which have quotas of their own in hosts; HPC and High Memory have no spot quota.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class QuotaFamily:
    """One quota: the families by the letters before the first digit of a type's name, and the quota
    codes on demand and for spot; None where there is none."""

    name: str
    letters: tuple[str, ...]
    on_demand: str
    spot: str | None


FAMILIES = (
    QuotaFamily(
        "Standard", ("a", "c", "d", "h", "i", "im", "is", "m", "r", "t", "z"),
        "L-1216C47A", "L-34B43A08",
    ),
    QuotaFamily("DL", ("dl",), "L-6E869C2A", "L-85EED4F7"),
    QuotaFamily("F", ("f",), "L-74FC7D96", "L-88CF9481"),
    QuotaFamily("G and VT", ("g", "gr", "vt"), "L-DB2E81BA", "L-3819A6DF"),
    QuotaFamily("HPC", ("hpc",), "L-F7808C92", None),
    QuotaFamily("High Memory", ("u",), "L-43DA4232", None),
    QuotaFamily("Inf", ("inf",), "L-1945791B", "L-B5D1601B"),
    QuotaFamily("P", ("p",), "L-417A185B", "L-7212CCBC"),
    QuotaFamily("Trn", ("trn",), "L-2C3B7624", "L-6B0D517C"),
    QuotaFamily("X", ("x",), "L-7295265B", "L-E3A00192"),
)  # fmt: skip


def family_of(instance_type: str) -> QuotaFamily | None:
    """The quota that counts a type; None for one that no quota in vCPUs counts (mac)."""
    match = re.match(r"[a-z]+", instance_type)
    letters = match[0] if match else ""
    return next((family for family in FAMILIES if letters in family.letters), None)
