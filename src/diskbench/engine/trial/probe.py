"""Checks of a machine before anything is written to it: access, tools, fio, and a safe target; and
detection of two addresses that reach the same machine or the same disk.

The kernel makes a boot id when it starts, so equal boot ids mean the same kernel, whatever the
address, the container or the machine id (which copies of an image share). Within a kernel each disk
has one device number; a disk that two machines reach has one WWN (or model, size and serial
number), and a network filesystem one export. Only existing machines are compared: rented ones are
new, and machines of the lab share this machine's kernel by design.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future

from diskbench.errors import HostUnavailable, InvalidValue, TargetRefused
from diskbench.fio.offered import stand_in
from diskbench.hosts.device import check_devices
from diskbench.hosts.directory import require_absolute, usable_bytes
from diskbench.hosts.facts import gather, gather_and_look, with_machine_type
from diskbench.hosts.installed_fio import install_fio as install
from diskbench.hosts.installed_fio import parse_only
from diskbench.model.facts import DiskFacts, HostFacts
from diskbench.model.spec import Cell, Plan, TargetSpec
from diskbench.ports import Host

NO_DISK = DiskFacts(name="", path="", number="")
"""Stands for a path that is no block device, which `check_devices` refuses."""
NEEDED_TOOLS = ("tar", "sha256sum", "setsid")
"""What a unit needs on its host beside fio, Python and a POSIX shell."""
MINIMUM_FIO = (3, 16)
"""The oldest fio whose output is parsed and tested: Ubuntu 20.04's (facts/peers.md section 5)."""
_RATE = "measured at once, each gets about {part} of its rate"
_LIMIT = "they share its limits for all disks together"


def probe(host: Host, cell: Cell, *, install_fio: bool) -> HostFacts:
    """The facts of a machine, after every check that is possible without writing to its target.

    Raises HostUnavailable (unreachable, not trusted, no fio …) or TargetRefused.
    """
    spec = cell.target
    is_device = spec.kind == "device"
    look = not is_device and spec.path.startswith("/")
    facts, looked = gather_and_look(host, spec.path, device=is_device, look=look)
    if facts.fio_version is None and install_fio:
        install(host)
        facts, looked = gather_and_look(host, spec.path, device=is_device, look=look)
    facts = _with_others(facts, host, spec)
    if cell.ask_metadata:
        facts = with_machine_type(host, facts)
    _check_fio(facts, host.name)
    tools = facts.extra.get("tools", NEEDED_TOOLS)
    if missing := [tool for tool in NEEDED_TOOLS if tool not in tools]:
        raise HostUnavailable(
            f"{host.name} has no {', '.join(missing)}, which diskbench needs there",
            advice=f"install {' and '.join(missing)} there",
        )
    busy = facts.extra.get("busy")
    if cell.if_busy == "fail" and busy:
        raise TargetRefused(
            f"the disk under {spec.path} ({' '.join(facts.extra.get('disks', ()))}) is "
            f"being measured by {busy[0]}",
            advice="start again when that has ended, or add --if-busy wait",
        )
    if is_device:
        named = [(disk.path, disk.destroy_data or "") for disk in spec.disks]
        check_devices(host, named, spec.size_bytes, holds_data=cell.is_from_snapshot)
    else:
        require_absolute(spec.path)
        usable_bytes(looked, host.name, spec.path, spec.size_bytes)
    return facts


def _with_others(facts: HostFacts, host: Host, spec: TargetSpec) -> HostFacts:
    """The facts with the further disks of the target, and whether any of them is measured now."""
    others = [gather(host, disk.path, device=True) for disk in spec.others]
    extra = dict(facts.extra)
    for key in ("disks", "busy"):
        names = [name for each in (facts, *others) for name in each.extra.get(key, ())]
        if names:
            extra[key] = list(dict.fromkeys(names))
    disks = tuple(each.disk or NO_DISK for each in others)
    return facts.model_copy(update={"other_disks": disks, "extra": extra})


def _check_fio(facts: HostFacts, name: str) -> None:
    if facts.fio_version is None:
        raise HostUnavailable(
            f"{name} has no fio",
            advice="install it there, or add --install-fio to have diskbench do it",
        )
    digits = facts.fio_version.removeprefix("fio-").split("-")[0].split(".")
    version = tuple(int(d) for d in digits[:2] if d.isdecimal())
    if version < MINIMUM_FIO:
        raise InvalidValue(
            f"{name} has {facts.fio_version}; diskbench reads fio 3.16 and newer",
            advice="install a newer fio there",
        )


def parsing_once() -> Callable[[Host, Plan], None]:
    """A function that has the host's own fio parse every step of a plan, unless the same fio has
    parsed the same jobs before: those of replicates differ in their paths alone. Threads that need
    the same check wait for the first. It raises ProfileError with fio's words."""
    parsed: dict[str, Future[bool]] = {}

    def check(host: Host, plan: Plan) -> None:
        key, first = _key(plan), Future[bool]()
        known = parsed.setdefault(key, first)
        if known is not first and known.result():
            return
        try:
            parse_only(host, [(step.name, stand_in(step).job) for step in plan.steps])
        except BaseException:
            first.set_result(False)  # the other hosts then run the check with their own fio
            if known is first:
                del parsed[key]
            raise
        first.set_result(True)

    return check


def _key(plan: Plan) -> str:
    """Of the host's fio, and of the job files without the trial's own paths: equal on every host
    where the same check is made."""
    target, facts = plan.target, plan.facts
    own = [target.work_dir or target.device or target.path, *(d.device for d in target.others)]
    jobs = [step.job for step in plan.steps]
    for path in sorted(own, key=len, reverse=True):  # /dev/sdaa before /dev/sda
        jobs = [job.replace(path, "") for job in jobs]
    return hashlib.sha256(repr((facts.fio_version, facts.fio_engines, jobs)).encode()).hexdigest()


_OWN = ("localhost", "127.", "[::1]")
"""How the export of a machine's own file server begins."""
_LEAST_SERIAL = 8
"""Shorter serial numbers are those of emulated disks (`1`, `sda`); our choice."""
_NAMED = 4
"""Most addresses that a note names; of more it says how many there are."""


_Shared = tuple[str, str]
"""What two plans share, and what each of those that are measured at once gets a part of; empty
where they are measured in turn."""


def _listed(addresses: Sequence[str]) -> str:
    names = sorted(set(addresses), key=_numbered)
    if len(names) == 1:
        return f"{len(addresses)} trials on {names[0]}"
    if len(names) > _NAMED:
        names[_NAMED - 1 :] = [f"{len(names) - _NAMED + 1} more"]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def queued_behind(plan: Plan, others: Iterable[Plan]) -> Plan:
    """`plan` with a note on those of `others` that take a part of what it measures: the same disk,
    reached through one machine or through two, or another disk of the same machine.

    Raises TargetRefused instead where both measure one disk of one machine and the plan is not to
    wait (`--if-busy fail`).
    """
    sharing: dict[_Shared, list[str]] = {}
    for other in others:
        shared = _shared(plan, other)
        if shared is not None:
            sharing.setdefault(shared, []).append(_address(other))
    if not sharing:
        return plan
    notes = [*plan.notes]
    for (what, divided), others_at in sharing.items():
        addresses = [*others_at, _address(plan)]
        part = "half" if len(addresses) == 2 else f"1/{len(addresses)}"
        means = divided.format(part=part) or "they are measured one after the other"
        notes.append(f"{_listed(addresses)} {what}: {means}")
    return plan.model_copy(update={"notes": tuple(notes)})


def without_canary_of_others(plans: Sequence[Plan]) -> list[Plan]:
    """`plans` of one run; those that are measured at the same time on one machine have
    `shares_machine`: the canary of each would measure the others, and take processor time from
    their fio."""

    def is_beside(plan: Plan, other: Plan) -> bool:
        """Whether two plans may run fio on one machine at the same time: on different disks, or on
        one that either of them does not wait for."""
        if not _are_two_here(plan, other) or not _same_kernel(plan, other):
            return False
        is_shared = "share" in (plan.cell.if_busy, other.cell.if_busy)
        disks, others = set(_disks(plan)), set(_disks(other))
        return bool(disks and others) and (is_shared or not disks & others)

    beside = {plan.trial_id for plan in plans if any(is_beside(plan, other) for other in plans)}
    shares = {"shares_machine": True}
    return [plan.model_copy(update=shares) if plan.trial_id in beside else plan for plan in plans]


def _are_two_here(plan: Plan, other: Plan) -> bool:
    """Whether they are two trials on machines that were there before."""
    return plan.trial_id != other.trial_id and plan.rental is None and other.rental is None


def _shared(plan: Plan, other: Plan) -> _Shared | None:
    """What two plans share; None for nothing. Raises TargetRefused as `queued_behind`."""
    if not _are_two_here(plan, other):
        return None
    if not _same_kernel(plan, other):
        disk = _same_identity(plan, other)
        return (f"reach one disk ({disk})", _RATE) if disk else None
    disks = ", ".join(sorted(set(_disks(plan)) & set(_disks(other))))
    machine = f"reach the same {_machine(plan, other)}"
    if not disks:
        return (machine, _LIMIT) if _disks(plan) and _disks(other) else None
    same = f"{machine} and the same disk ({disks})"
    if plan.cell.if_busy == "fail":
        names = " and ".join(sorted((_address(plan), _address(other))))
        raise TargetRefused(
            f"{names} {same}, which would be measured twice at the same time",
            advice="name it once and repeat with --runs, or measure one after the other: "
            "--if-busy wait",
        )
    return same, _RATE if plan.cell.if_busy == "share" else ""


def _address(plan: Plan) -> str:
    return plan.address or "this machine"


def _numbered(address: str) -> tuple[str | int, ...]:
    """A key that sorts host2 before host10."""
    return tuple(int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", address))


def _same_kernel(plan: Plan, other: Plan) -> bool:
    boot = plan.facts.extra.get("boot_id")
    return bool(boot) and boot == other.facts.extra.get("boot_id")


def _same_identity(plan: Plan, other: Plan) -> str:
    """The name by which two machines reach one disk: the export of a file server, or a disk's WWN
    or serial number; empty where none says so. Names that every machine may have do not count."""
    if plan.facts.network_filesystem and other.facts.network_filesystem:
        exports = {each.facts.mount.source for each in (plan, other) if each.facts.mount}
        export = next(iter(exports)) if len(exports) == 1 else ""
        return "" if export.startswith(_OWN) else export
    own, theirs = plan.facts.disk, other.facts.disk
    if own is None or theirs is None or "QEMU" in f"{own.vendor} {own.model}":
        return ""  # QEMU numbers the disks of every guest alike
    if own.wwn and own.wwn == theirs.wwn:
        return own.wwn
    serial = own.serial or ""
    models = {(disk.model, disk.size_bytes, disk.serial) for disk in (own, theirs)}
    return serial if len(serial) >= _LEAST_SERIAL and len(models) == 1 else ""


def _disks(plan: Plan) -> list[str]:
    disks = plan.facts.extra.get("disks")
    return [str(disk) for disk in disks] if isinstance(disks, list) else []


def _machine(plan: Plan, other: Plan) -> str:
    ids = [each.facts.extra.get("machine_id") for each in (plan, other)]
    if ids[0] and ids[0] == ids[1]:
        return "machine (machine id and boot id agree)"
    return "kernel (boot id agrees)"
