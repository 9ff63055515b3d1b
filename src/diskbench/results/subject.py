"""What was asked for, of a run or of several: the subject of a figure, in fields and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from diskbench.model.run import Run

Fields = tuple[tuple[str, str], ...]
"""Names with values, in a fixed order."""

_NOT_SUBJECT = ("zone", "account", "subnet", "security_group", "placement", "ssh_cidr", "image",
                "endpoint_url", "no_public_ip", "iap")  # fmt: skip


def subject_of(run: Run, rent: Mapping[str, Any] | None) -> Fields:
    """The requested fields of a run; `rent` is the rental as typed (None: nothing was rented)."""
    fields: dict[str, Any] = {"provider": run.provider}
    if not run.imported:
        fields |= {"profile": run.profile, "job": run.profile_digest}
        fields |= {f"set.{name}": value for name, value in sorted(run.parameters.items())}
    if rent:
        fields |= _rented(rent)
        fields["instance_type"] = run.instance_type or rent.get("instance_type")
        fields["filesystem"] = run.filesystem
    elif not run.imported:
        fields["machine"] = run.place
        fields |= {"target": run.target_path, "filesystem": run.filesystem}
    return tuple((name, str(value)) for name, value in fields.items() if value not in (None, ""))


def _rented(rent: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The typed fields of a rental without defaults; options of one provider become `lab.noise`."""
    fields: dict[str, Any] = {}
    for name, value in rent.items():
        if isinstance(value, dict):
            fields |= _rented(value, f"{name}.")
        elif name == "size_gib" and value:
            fields["size"] = f"{value} GiB"
        elif value not in (None, False, "") and name not in _NOT_SUBJECT:
            fields[prefix + name] = value
    for name, usual in (("count", 1), ("lab.time_scale", 1), ("lab.user", "root")):
        if fields.get(name) == usual:
            del fields[name]
    return fields


def words(subject: Fields, *, without: Iterable[str] = ()) -> str:
    """A subject in one line: `lab pd-ssd 100 GiB, quick`."""
    unnamed = {name: value for name, value in subject if name not in without}
    unnamed.pop("job", None)
    profile = unnamed.pop("profile", "")
    named = [unnamed.pop(name, "") for name in ("provider", "region", "instance_type", "machine")]
    named += [unnamed.pop("disk", ""), unnamed.pop("size", "")]
    fields = [f"{name} {value}" for name, value in unnamed.items() if not name.startswith("set.")]
    return ", ".join(part for part in (" ".join(filter(None, named)), profile, *fields) if part)


def common_fields(subjects: Sequence[Fields]) -> Fields:
    """The fields that all subjects have in common, without the disk and its size, which always
    belong to the name of a subject."""
    if not subjects:
        return ()
    shared = set(subjects[0]).intersection(*subjects[1:])
    return tuple(pair for pair in subjects[0] if pair in shared and pair[0] not in {"disk", "size"})
