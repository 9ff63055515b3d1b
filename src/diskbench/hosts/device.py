"""The guard before a raw device: a mistake here destroys somebody's data.

A device is written to only if there is no reason to refuse it and its owner typed its identity
(serial, WWN, or for a loop device its backing file, alone or with its inode). A fact that cannot be
read is a reason to refuse. `refusals` is pure; its input is read in one round trip.
"""

import logging
import time
from collections.abc import Iterable, Sequence

from diskbench.errors import AgentError, HostUnavailable, TargetRefused
from diskbench.hosts.calls import ask
from diskbench.hosts.disks import NAMES, DeviceState, Inspection, parse_inspection
from diskbench.model.base import Frozen
from diskbench.ports import Host
from diskbench.units import format_bytes

_LOG = logging.getLogger(__name__)
LOOKS = 4
"""How often a device is inspected whose only fault is that a process holds it open; our choice."""
PAUSE_S = 0.3
_HELD_OPEN = "is held open"
_TABLES = {"dos", "gpt", "PMBR", "mac", "sun", "bsd", "sgi", "atari", "dvh"}


class DeviceProof(Frozen):
    """A device that passed every check, pinned by kernel number, identity and size: its facts must
    be the same before fio starts and after it has ended. A number `-` is taken as it is then.

    `mount_point` is set where a filesystem was made on it: then it must be mounted there. Otherwise
    it must not be mounted at all. `holds_data` is set for a disk that was made from a snapshot for
    this lease: it alone may have partitions and signatures.
    """

    path: str
    number: str
    identity: str
    size_bytes: int
    mount_point: str | None = None
    holds_data: bool = False

    @property
    def allowed(self) -> dict[str, object]:
        """What the program on the host is told of a disk that may be written to."""
        return {
            "path": self.path,
            "number": self.number,
            "identity": self.identity,
            "size": self.size_bytes,
        }


def refusals(
    state: DeviceState,
    others: Iterable[DeviceState],
    typed: str | None,
    *,
    size_bytes: int | None = None,
    holds_data: bool = False,
) -> tuple[str, ...]:
    """Every reason not to write to this device, worst first; empty when there is none. `holds_data`
    is set for a disk that was made from a snapshot for this lease: its content is no reason.

    `others` are the machine's other devices: an identity that two of them share proves nothing.
    `typed` is the identity that the user gave; None skips that check (for lists).
    """
    rest = [o for o in others if o.disk.number != state.disk.number]
    return (
        *_in_use(state),
        *_backing(state, rest),
        *(_content(state) if not holds_data or state.partition_of is not None else ()),
        *_unfit(state, size_bytes),
        *_identity(state, rest, typed),
    )


def _in_use(state: DeviceState) -> list[str]:
    openers, unseen = ", ".join(state.openers), state.unseen == "active"
    uses = {
        "is the disk this system runs from": state.system,
        f"is mounted on {', '.join(state.mounts)}": state.mounts,
        "is in use as swap": state.swap,
        f"is held by {', '.join(state.holders)}": state.holders,
        f"{_HELD_OPEN} by process {openers}": openers,
        "is read or written by a process that cannot be seen from this PID namespace": unseen,
    }
    found = [words for words, is_so in uses.items() if is_so]
    hidden = "is in exclusive use by something that cannot be identified"
    return [hidden] if state.busy and not found else found


def _backing(state: DeviceState, others: list[DeviceState]) -> list[str]:
    """Refusals because of other loop devices: one that is backed by this device, which shows as no
    holder and no process, or one on the same bytes of the same file, under any of its names."""
    own = {state.disk.path, *(f"/dev/{name}" for name in state.partitions)}
    upper = [o.disk.path for o in others if o.disk.backing_file in own]
    uses = [f"is the backing device of {', '.join(upper)}"] if upper else []
    mine = state.backing
    if mine is not None:
        for other in others:
            theirs = other.backing
            if theirs and theirs[:2] == mine[:2] and theirs[2] < mine[3] and mine[2] < theirs[3]:
                where = f" ({', '.join(other.mounts)})" if other.mounts else ""
                uses.append(f"shares its backing file with {other.disk.path}{where}")
    return uses


def _content(state: DeviceState) -> list[str]:
    contents: list[str] = []
    if state.partition_of is not None:
        contents.append("is a partition; only whole disks are written to")
    table = state.partition_table or next((s for s in state.signatures if s in _TABLES), None)
    if table:
        contents.append(f"has a partition table ({table})")
    elif state.partitions:
        contents.append(f"has partitions ({', '.join(state.partitions)})")
    data = [s for s in state.signatures if s not in _TABLES]
    contents += [NAMES["signatures"].get(s, f"holds data (signature: {s})") for s in data]
    contents += [
        f"holds a copy of a superblock of {copy}, from which its data can be recovered"
        for copy in state.copies
        if copy.partition(" ")[0] not in state.signatures
    ]
    return list(dict.fromkeys(contents))


def _unfit(state: DeviceState, size_bytes: int | None) -> list[str]:
    faults: list[str] = []
    size = state.disk.size_bytes
    if state.read_only:
        faults.append("is read-only")
    if not size:
        faults.append("has size 0")
    elif size_bytes is not None and size < size_bytes:
        faults.append(f"has {format_bytes(size)}, less than the {format_bytes(size_bytes)} asked")
    if state.unreadable:
        faults.append(f"cannot be read: {state.unreadable}")
    if not state.looked or not state.examined:
        faults.append("could not be examined: blkid and wipefs (util-linux) are needed on the host")
    return faults


def _identity(state: DeviceState, others: list[DeviceState], typed: str | None) -> list[str]:
    # A partition answers to its disk's identities; it is the same disk.
    rivals = [o for o in others if o.partition_of is None]
    shared = {i for o in rivals for i in o.identities}
    own = [i for i in state.identities if i not in shared]
    if not state.identities:
        return ["has no identity: neither serial nor WWN nor backing file"]
    if not own:
        also = ", ".join(
            o.disk.path for o in rivals if {*o.identities}.intersection(state.identities)
        )
        listed = ", ".join(state.identities)
        return [f"shares its identity ({listed}) with {also or 'another device'}"]
    if typed is None:
        return []
    identity = typed.strip()
    if not identity:
        return [f"needs --destroy-data with its identity: {own[0]}"]
    if identity in own:
        return []
    if identity in state.identities:
        return [f"shares the identity {identity} with another device; {own[0]} is its own"]
    owner = next((o.disk.path for o in rivals if identity in o.identities), None)
    whose = f"that is {owner}" if owner else "no device here has that"
    return [f"is not {identity!r} ({whose}); its identity is {own[0]}"]


def inspect(host: Host, path: str | None) -> Inspection:
    """All block devices of `host`, with all facts of `path` (or of every disk), in one round trip.

    Needs root there to read signatures and to see which process holds a device open. Raises
    HostUnavailable where there is no root or the answer is incomplete.
    """
    try:
        answer = ask(host, "devices", root=True, only=path or "", disk=NAMES["read"]["disk"])
        inspection = parse_inspection(answer)
        if inspection.complete:
            return inspection
        why = "no answer"
    except AgentError as error:
        why = error.message
    raise HostUnavailable(f"the block devices of {host.name} could not be examined: {why}")


def judge(
    inspection: Inspection, path: str, typed: str, size_bytes: int | None, *, host_name: str,
    holds_data: bool = False,
) -> DeviceProof:  # fmt: skip
    """The proof that `path` may be written to, or TargetRefused with every reason: pure."""
    where = f"{path} on {host_name}"
    if inspection.asked == "missing":
        raise TargetRefused(
            f"{where} does not exist", advice="diskbench devices lists the disks there"
        )
    state = inspection.find(inspection.asked or "")
    if inspection.asked == "other" or state is None:
        raise TargetRefused(
            f"{where} is not a block device",
            advice="for a directory use --path; see diskbench devices",
        )
    reasons = refusals(
        state, inspection.devices, typed, size_bytes=size_bytes, holds_data=holds_data
    )
    if reasons:
        raise TargetRefused(
            f"{where} is refused: it " + "; it ".join(reasons),
            advice="nothing was written; diskbench devices lists the disks and their identities",
        )
    assert state.disk.size_bytes is not None
    return DeviceProof(
        path=state.disk.path,
        number=state.disk.number,
        identity=typed.strip(),
        size_bytes=state.disk.size_bytes,
    )


def check_device(
    host: Host, path: str, typed: str, size_bytes: int | None = None, *, holds_data: bool = False
) -> DeviceProof:
    """Inspect `path`; returns the proof that it may be written to. Raises TargetRefused with every
    reason; `holds_data` as `refusals` has it.

    A device whose only fault is that a process holds it open is inspected up to LOOKS times: udev,
    blkid and losetup open every device for a moment, but a real user keeps it open.
    """
    for look in range(LOOKS):
        if look:
            time.sleep(PAUSE_S)
        inspection = inspect(host, path)
        state = inspection.find(inspection.asked or "")
        reasons = state and refusals(
            state, inspection.devices, typed, size_bytes=size_bytes, holds_data=holds_data
        )
        if not reasons or not all(reason.startswith(_HELD_OPEN) for reason in reasons):
            break
    proof = judge(inspection, path, typed, size_bytes, host_name=host.name, holds_data=holds_data)
    if state is not None and state.unseen:
        _LOG.warning(
            "%s sees only the processes of its PID namespace; another process may have %s open, "
            "but none holds it exclusively, and nothing reads or writes it",
            *(host.name, path),
        )
    return proof


def check_devices(
    host: Host,
    named: Sequence[tuple[str, str]],
    size_bytes: int | None = None,
    *,
    holds_data: bool = False,
) -> tuple[DeviceProof, ...]:
    """The proofs that several disks may be written to, each a path with the identity typed for it.

    Each passes every check of `check_device`. Raises TargetRefused as that does, and where two of
    them are one disk: the second would be written to as if it were another.
    """
    proofs: list[DeviceProof] = []
    for path, typed in named:
        proof = check_device(host, path, typed, size_bytes, holds_data=holds_data)
        same = next((earlier for earlier in proofs if earlier.number == proof.number), None)
        if same is not None:
            raise TargetRefused(
                f"{path} on {host.name} is the same disk as {same.path} (number {proof.number})",
                advice="nothing was written; name each disk once, see diskbench devices",
            )
        proofs.append(proof)
    return tuple(proofs)


def list_devices(host: Host) -> tuple[tuple[DeviceState, tuple[str, ...]], ...]:
    """Every whole disk of `host` with the reasons that refuse it, by name."""
    inspection = inspect(host, None)
    disks = [d for d in inspection.devices if d.partition_of is None]
    return tuple((d, refusals(d, inspection.devices, None)) for d in disks)
