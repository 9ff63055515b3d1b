"""Several disks of one trial as one RAID 0, which diskbench makes, and finds again.

The array's UUID derives from the trial. The kernel shows it (`md/uuid`), so it is also the identity
by which the array is checked like any other disk (device.py, agent.py). Its members are refused
while the array holds them, and so is any other array.
"""

import re
import uuid
from collections.abc import Sequence

from diskbench.errors import (
    AgentError,
    InvalidValue,
    MeasurementFailed,
    TargetRefused,
)
from diskbench.hosts.calls import ask
from diskbench.hosts.device import DeviceProof, check_device
from diskbench.ports import Host

CHUNK_KIB = 512
"""mdadm's default (mdadm(8), --chunk), passed explicitly so that it cannot change."""
MDADM_TIMEOUT_S = 120.0
_NAMESPACE = uuid.UUID("5c1a3b0e-3c5f-5d37-8f0e-6a2d7e1b9c44")


def stripe_uuid(trial_id: str) -> str:
    """The UUID of a trial's array, which is the identity that `check_device` expects of it."""
    return str(uuid.uuid5(_NAMESPACE, trial_id))


def stripe(host: Host, trial_id: str, members: Sequence[DeviceProof]) -> str:
    """The path of the RAID 0 of `members`, whose numbers are as they are then; made or found, also
    after a restart of the host.

    ALL DATA ON THE MEMBERS IS LOST. Before anything is written, each member passes the guard of all
    devices, and is checked again immediately before the write.
    Raises TargetRefused for a member that may not be written to, InvalidValue for members that
    cannot form a stripe, MeasurementFailed where mdadm is missing or fails.
    """
    sizes = {member.size_bytes for member in members}
    if len(members) < 2:
        raise InvalidValue(f"a stripe needs two or more disks, not {len(members)}")
    if len({member.identity for member in members}) < len(members):
        raise InvalidValue("the stripe names one disk twice")
    if len(sizes) > 1:
        raise InvalidValue(
            "a stripe needs disks of equal size, not of "
            + " and ".join(f"{size:,}" for size in sorted(sizes))
            + " bytes: its end would be slower than its start"
        )
    path = _array(host, trial_id, "find", members)
    if path is None:
        numbered = []
        for member in members:
            proof = check_device(host, member.path, member.identity, member.size_bytes)
            if proof.size_bytes != member.size_bytes:
                raise TargetRefused(
                    f"{member.path} on {host.name} has {proof.size_bytes:,} bytes, not the "
                    f"{member.size_bytes:,} of the disk that was made for this trial"
                )
            numbered.append(member.model_copy(update={"number": proof.number}))
        path = _array(host, trial_id, "create", numbered)
    assert path is not None
    return path


def _array(host: Host, trial_id: str, action: str, members: Sequence[DeviceProof]) -> str | None:
    """The path of the array, or None where there is none."""
    for member in members:
        if re.search(r"[\t\n]", member.path + member.identity) or re.search(r"\s", member.path):
            raise InvalidValue(f"{member.path!r} ({member.identity!r}) is not the name of a disk")
    try:
        answer = ask(
            host,
            "stripe",
            root=True,
            timeout_s=MDADM_TIMEOUT_S,
            action=action,
            uuid=stripe_uuid(trial_id),
            name=trial_id,  # mdadm takes 32 bytes, of which `any:` are four
            chunk_kib=CHUNK_KIB,
            disks=[member.allowed for member in members],
        )
        if not answer:
            raise AgentError("it ended without a message")
    except AgentError as error:
        raise MeasurementFailed(
            f"the stripe of {', '.join(m.path for m in members)} on {host.name}: {error.message}",
            advice="no other disks were changed; look at them with diskbench devices",
        ) from error
    return answer[-1][0] or None
