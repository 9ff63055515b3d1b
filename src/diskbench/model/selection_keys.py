"""The keys by which runs are selected: `disk=gp2`, `region=eu-central-1`, `iops>3000`.

One list, from which help, docs (docs/compare.md) and errors come. Each key stands for a column
of runs or of their measurements; beside these short names every such column is a key by its own
name. Any other key is the name of a label.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Key:
    """A name that may be typed, the column that it stands for, an example, and what it is."""

    name: str
    column: str
    example: str
    words: str


KEYS = (
    Key("disk", "disk_type", "disk=gp2", "disk type, as the cloud calls it"),
    Key("size", "disk_gib", "size>=100", "size of one disk that was rented, in GiB"),
    Key("region", "region", "region=eu-central-1", "region of the cloud"),
    Key("zone", "zone", "zone=eu-central-1a", "zone of the cloud"),
    Key("instance", "instance_type", "instance~m7i", "machine type, as the cloud calls it"),
    Key("cache", "host_cache", "cache=readonly", "host cache: none, readonly, readwrite"),
    Key("provider", "provider", "provider=lab", "where the machine came from: local, ssh, lab …"),
    Key("profile", "profile", "profile=quick", "name of the profile"),
    Key("date", "measured_at", "date>=2026-11-01", "when it was measured, in UTC"),
    Key("state", "state", "state=done", "planned, running, done, failed, interrupted, cancelled"),
    Key("iops", "iops", "iops>3000", "IOPS of one of its steps"),
    Key("p99", "p99_ns", "p99<2000000", "p99 latency of one of its steps, in nanoseconds"),
)
LABEL, PARAMETER = "label", "set"
BY_LABEL = {
    key.column: key.name
    for key in KEYS
    if key.name in {"disk", "region", "zone", "instance", "cache"}
}
"""Columns of which a label with the key's name speaks where the run itself knows nothing."""
_TOLD = ("disk", "region", "size", "profile", "iops")
COLUMN_OF = {key.name: key.column for key in KEYS}
OPERATORS = "= != > >= < <= and ~ (contains)"

_SOME = ", ".join(key.example for key in KEYS if key.name in _TOLD)
FILTER_HELP = (
    f"Only runs that meet all: {_SOME}, label.team=x. Keys: "
    f"{', '.join(key.name for key in KEYS)}, and every column of `results list --output csv`."
)
SELECTION_HELP = (
    "runs, trials or matrices (ids or the beginnings of them, `last`, `last~1`, names), KEY=VALUE "
    "(disk=gp2, region=eu-central-1, size>=100, a label …) or dates (2026-11-01..2026-11-07)"
)
FORMS = (
    "a run, trial or matrix; KEY=VALUE such as disk=gp2 or a label; or dates: "
    "2026-11-01..2026-11-07"
)
