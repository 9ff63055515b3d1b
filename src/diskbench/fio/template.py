"""From a profile to a job file: parameters are read and checked, then Jinja fills the template.

Jinja runs in its sandbox with StrictUndefined (template_room.py), so that a template cannot reach
Python objects and an unknown name is an error. A user's template is expanded in a process with
limits on time and memory. Values of `--set` are typed and contain no character that could begin
another option.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from diskbench.errors import InvalidValue, ProfileError
from diskbench.fio import profiles, template_room
from diskbench.fio.jobfile import expand_variables, keywords
from diskbench.fio.options import parse_version
from diskbench.fio.target import FioTarget
from diskbench.fio.template_room import expand
from diskbench.limits import TEMPLATE_MEMORY_BYTES, TEMPLATE_S, TEMPLATE_WALL_S, TEXT_BYTES
from diskbench.model.facts import DiskFacts, HostFacts
from diskbench.plugin import network_nvme_models
from diskbench.units import MIB, format_bytes

ASYNC_ENGINES: Final = ("libaio", "io_uring", "posixaio", "psync")
"""Engines for a queue deeper than one, best first. The last is always available and has depth 1."""

OFFLOAD_WORKS: Final = (3, 42)
"""First fio whose io_submit_mode=offload does not hang as it starts (axboe/fio PR 2053, merged
2026-02-05: start_worker() overwrote a flag of the new thread)."""
SPRANDOM: Final = (3, 41)
"""The first fio with SPRandom (HOWTO, sprandom)."""

_MARKS = ("{{", "{%", "{#")
"""What Jinja acts on. A text without any of them is only copied."""
_KEPT = 32
"""Expanded templates that a process keeps; each has at most TEXT_BYTES."""


def is_local_nvme(disk: DiskFacts | None) -> bool:
    """Whether a disk is an NVMe drive of the machine itself, which is filled twice (MR-1)."""
    if disk is None or disk.transport != "nvme":
        return False
    return not any(name in (disk.model or "") for name in network_nvme_models())


def render(
    profile: profiles.Profile,
    overrides: Mapping[str, str],
    facts: HostFacts,
    target: FioTarget,
    *,
    drain_s: int | None = None,
) -> tuple[str, dict[str, profiles.Value]]:
    """The job file of `profile` on the machine with these facts, and the values of its parameters;
    among them of a plain job file the options of fio that the user sets (retarget.py puts them
    there). `drain_s` is 1.2 times the seconds in which a full load uses up the disk's burst credit;
    None where no credit is known.

    Raises UnknownName for an override that is no parameter, InvalidValue for one that is missing or
    out of its kind or range, ProfileError for a template that is wrong, naming variable and line.
    """
    for key, text in overrides.items():
        profiles.check_override(profile, key, text)
    missing = profile.missing(overrides)
    if missing:
        raise InvalidValue(
            f"profile {profile.name!r} needs a value for {', '.join(missing)}",
            advice="give " + " ".join(f"--set {name}=VALUE" for name in missing),
            field=f"parameters.{missing[0]}",
        )
    names = _names(facts, target, drain_s)
    values = {
        name: profiles.read_value(p, overrides[name])
        if name in overrides
        else _default(profile, p, names)
        for name, p in profile.parameters.items()
    }
    if not profile.is_template:
        text = expand_variables(profile.template, {k: str(v) for k, v in values.items()})
        memory_mib = facts.memory_bytes // MIB
        options = {key: text.strip() for key, text in overrides.items() if key not in values}
        return keywords(text, cores=facts.cpu.count, memory_mib=memory_mib), values | options
    text = _expand(profile, profile.template, {**names, **values}, profile.first_line)
    return text, values


def own_options(
    profile: profiles.Profile, parameters: Mapping[str, profiles.Value]
) -> tuple[tuple[str, str], ...]:
    """The options of fio that the user sets in a job file of his own, among the parameters."""
    own = ((key, value) for key, value in parameters.items() if key not in profile.parameters)
    return tuple((key, str(value)) for key, value in own)


def _default(
    profile: profiles.Profile, parameter: profiles.Parameter, names: dict[str, Any]
) -> profiles.Value:
    default = parameter.default
    assert default is not None  # render
    if profile.is_template and isinstance(default, str) and "{{" in default:
        default = _expand(profile, default, names, 1).strip()
    if isinstance(default, bool):
        return default
    return profiles.read_value(parameter, str(default))


def _names(facts: HostFacts, target: FioTarget, drain_s: int | None) -> dict[str, Any]:
    """The names `host`, `target` and `engine` of a template."""
    size, version = target.size_bytes, facts.fio_version
    return {
        "host": {
            "cores": facts.cpu.count,
            "memory_bytes": facts.memory_bytes,
            "memory_mib": facts.memory_bytes // MIB,
            "fio_version": version,
            # False where the version is not known
            "fio_offloads": bool(version) and parse_version(version or "") >= OFFLOAD_WORKS,
            "fio_sprandom": bool(version) and parse_version(version or "") >= SPRANDOM,
        },
        "target": {
            "kind": target.kind,
            "size_bytes": size,
            "size_mib": None if size is None else size // MIB,
            "capacity_bytes": target.capacity_bytes,
            "is_local_nvme": is_local_nvme(facts.disk),
            "rotational": facts.disk.rotational if facts.disk else None,
            "drain_s": drain_s,
        },
        "engine": _engine(facts.fio_engines),
    }


def _engine(available: tuple[str, ...]) -> str:
    """The best asynchronous engine of the target's fio; libaio where its engines are unknown."""
    if not available:
        return ASYNC_ENGINES[0]
    return next((engine for engine in ASYNC_ENGINES if engine in available), ASYNC_ENGINES[-1])


def _expand(profile: profiles.Profile, text: str, values: dict[str, Any], first_line: int) -> str:
    trusted = profile.digest in profiles.shipped_digests()
    runs_nothing = not any(mark in text for mark in _MARKS)
    expanded = expand(text, values) if trusted or runs_nothing else _expand_apart(text, values)
    if "text" in expanded:
        return str(expanded["text"])
    where = f"profile {profile.name!r}"
    kind, said = expanded["kind"], expanded["message"]
    if kind in _LIMITS:
        what, advice = _LIMITS[kind]
        raise ProfileError(f"{where}: its template {what}", advice=advice)
    advice = "correct the template"
    if kind == "undefined":
        known = ", ".join(sorted(values))
        advice = f"known in this template: {known}; declare others under parameters"
    raise ProfileError(f"{where}, line {first_line - 1 + expanded['line']}: {said}", advice=advice)


_LIMITS: Final = {
    "time": (f"takes more than {TEMPLATE_S:g} s of processor time",
             "check that each loop in it ends; the largest shipped template takes 0.01 s"),
    "memory": (f"needs more than {format_bytes(TEMPLATE_MEMORY_BYTES)}",
               "check how often it repeats a text or a list"),
    "long": (f"makes a job file of more than {format_bytes(TEXT_BYTES)}",
             "check how often it repeats a text or a loop"),
}  # fmt: skip
"""Which limit a template met (template_room.py) → what it did, and what to do."""


def _expand_apart(text: str, values: dict[str, Any]) -> dict[str, Any]:
    """`expand` in a process of its own, which the kernel ends if the template does not. Signals and
    timers of this process would not reach a worker's threads."""
    limits = {"seconds": TEMPLATE_S, "bytes": TEMPLATE_MEMORY_BYTES, "longest": TEXT_BYTES}
    try:
        return dict(_found_apart(json.dumps({"text": text, "values": values, **limits})))
    except (TimeoutError, MemoryError) as met:  # the process was ended before its template was
        kind = "time" if isinstance(met, TimeoutError) else "memory"
        return {"kind": kind, "message": "", "line": 1}


@lru_cache(maxsize=_KEPT)
def _found_apart(asked: str) -> Mapping[str, Any]:
    """What template_room.py answers to `asked`. The same question has the same answer, and each
    process takes 0.1 s: the cells of a matrix ask for few different ones. Raises TimeoutError and
    MemoryError, which are not kept: on a machine with less to do the template may end in time."""
    program = [sys.executable, "-P", template_room.__file__]
    try:
        done = subprocess.run(
            program, input=asked.encode(), capture_output=True, timeout=TEMPLATE_WALL_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    if done.returncode == -signal.SIGPROF:
        raise TimeoutError
    if done.returncode:
        raise MemoryError  # before Python could report it
    expanded: dict[str, Any] = json.loads(done.stdout)
    return expanded
