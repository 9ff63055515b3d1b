"""Checks of a machine before anything is written to it: access, tools, fio, and a safe target."""

from __future__ import annotations

import hashlib
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from diskbench.errors import HostUnavailable, InvalidValue, TargetRefused
from diskbench.fio.offered import stand_in
from diskbench.hosts.device import check_devices
from diskbench.hosts.directory import LOOK, require_absolute, usable_bytes
from diskbench.hosts.facts import gather, gather_and_look
from diskbench.hosts.install import install_fio as install
from diskbench.hosts.parse_only import parse_only
from diskbench.model.facts import DiskFacts

if TYPE_CHECKING:
    from diskbench.model.facts import HostFacts
    from diskbench.model.spec import Cell, Plan, TargetSpec
    from diskbench.ports import Host

NO_DISK = DiskFacts(name="", path="", number="")
"""Stands for a path that is no block device, which `check_devices` refuses."""
MINIMUM_FIO = (3, 16)
"""The oldest fio whose output is parsed and tested: Ubuntu 20.04's (facts/peers.md section 5)."""


def probe(host: Host, cell: Cell, *, install_fio: bool) -> HostFacts:
    """The facts of a machine, after every check that is possible without writing to its target.

    Raises HostUnavailable (unreachable, not trusted, no fio …) or TargetRefused.
    """
    spec = cell.target
    is_device = spec.kind == "device"
    look = LOOK if not is_device and spec.path.startswith("/") else ""
    facts, looked = gather_and_look(host, spec.path, device=is_device, look=look)
    if facts.fio_version is None and install_fio:
        install(host)
        facts, looked = gather_and_look(host, spec.path, device=is_device, look=look)
    facts = _with_others(facts, host, spec)
    _check_fio(facts, host.name)
    _check_tools(facts, host.name)
    _check_free(cell, facts)
    if is_device:
        named = [(disk.path, disk.destroy_data or "") for disk in spec.disks]
        check_devices(host, named, spec.size_bytes)
    else:
        require_absolute(spec.path)
        usable_bytes(looked, host.name, spec.path, spec.size_bytes)
    return facts


def _with_others(facts: HostFacts, host: Host, spec: TargetSpec) -> HostFacts:
    """The facts with the further disks of the target, and whether any of them is measured now."""
    others = [gather(host, disk.path, device=True) for disk in spec.others]
    more = {
        key: list(
            dict.fromkeys(name for each in (facts, *others) for name in each.extra.get(key, ()))
        )
        for key in ("disks", "busy")
    }
    return facts.model_copy(
        update={
            "other_disks": tuple(each.disk or NO_DISK for each in others),
            "extra": facts.extra | {key: values for key, values in more.items() if values},
        }
    )


def _check_free(cell: Cell, facts: HostFacts) -> None:
    """Refuse a disk that another trial measures now, where the cell is not to wait."""
    busy = facts.extra.get("busy")
    if cell.if_busy == "fail" and busy:
        raise TargetRefused(
            f"the disk under {cell.target.path} ({' '.join(facts.extra.get('disks', ()))}) is "
            f"measured by {busy[0]}",
            advice="start it again when that has ended, or with --if-busy wait",
        )


NEEDED_TOOLS = ("awk", "tar", "sha256sum", "setsid", "mkfifo")
"""What a unit needs on its host beside fio and a POSIX shell."""


def _check_tools(facts: HostFacts, name: str) -> None:
    missing = [tool for tool in NEEDED_TOOLS if tool not in facts.extra.get("tools", NEEDED_TOOLS)]
    if missing:
        raise HostUnavailable(
            f"{name} has no {', '.join(missing)}, which diskbench needs there",
            advice=f"install {' and '.join(missing)} there",
        )


def _check_fio(facts: HostFacts, name: str) -> None:
    if facts.fio_version is None:
        raise HostUnavailable(
            f"{name} has no fio",
            advice="install it there, or add --install-fio to have diskbench do it",
        )
    digits = facts.fio_version.removeprefix("fio-").split("-")[0].split(".")
    version = tuple(int(d) for d in digits[:2] if d.isdigit())
    if version < MINIMUM_FIO:
        raise InvalidValue(
            f"{name} has {facts.fio_version}; diskbench reads fio 3.16 and newer",
            advice="install a newer fio there",
        )


@dataclass
class ParsedOnce:
    """Has fio parse a plan's job files once for all hosts with the same fio and the same jobs.
    Those of replicates differ in their paths alone. Threads that need the same check wait for the
    first."""

    _parsed: dict[str, Future[bool]] = field(default_factory=dict)

    def check(self, host: Host, plan: Plan) -> None:
        """Have the target's own fio parse every step, unless the same fio has parsed the same jobs
        before. Raises ProfileError with fio's words."""
        key, first = _key(plan), Future[bool]()
        known = self._parsed.setdefault(key, first)
        if known is not first and known.result():
            return
        try:
            parse_only(host, [(step.name, stand_in(step).job) for step in plan.steps])
        except BaseException:
            first.set_result(False)  # the other hosts then run the check with their own fio
            if known is first:
                del self._parsed[key]
            raise
        first.set_result(True)


def _key(plan: Plan) -> str:
    facts = plan.facts
    text = (facts.fio_version, facts.fio_engines, _jobs_without_paths(plan))
    return hashlib.sha256(repr(text).encode()).hexdigest()


def _jobs_without_paths(plan: Plan) -> tuple[str, ...]:
    """The job files without the trial's own path: the part that is equal on every host."""
    target = plan.target
    own = [target.work_dir or target.device or target.path, *(d.device for d in target.others)]
    jobs = [step.job for step in plan.steps]
    for path in sorted(own, key=len, reverse=True):  # /dev/sdaa before /dev/sda
        jobs = [job.replace(path, "") for job in jobs]
    return tuple(jobs)
