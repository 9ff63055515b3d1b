"""From a draft to a plan: rent its machine, examine it, and plan for its facts.

Another process may repeat the renting, because everything is found by the trial's name. After a
failure the caller releases what was made (engine/matrix/cells.py).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from threading import Event

from pydantic import SecretBytes

from diskbench import __version__
from diskbench.engine.session import Session
from diskbench.engine.trial.lease import renew
from diskbench.engine.trial.probe import probe
from diskbench.engine.trial.steps import unit_of
from diskbench.engine.trial.watch import HostLost, raise_if_broken
from diskbench.errors import Interrupted, InvalidValue, ProfileError, RentalFailed
from diskbench.fio.profiles import Profile
from diskbench.hosts.device import DeviceProof
from diskbench.hosts.facts import vouched
from diskbench.hosts.jobs import patiently, start_and_watch
from diskbench.hosts.ssh import host_at
from diskbench.hosts.stripe import CHUNK_KIB, stripe, stripe_uuid
from diskbench.hosts.workspace import make_workspace
from diskbench.model.rental import Acquired, Claim, Rental, SshAccess
from diskbench.model.spec import NamedDisk, Plan, Step, TargetSpec
from diskbench.plan.trial import TrialIds, make_plan
from diskbench.ports import Host, Renter, RentWatch, SnapshotsDisks, SwapsDisks
from diskbench.store.archive import write_plan
from diskbench.store.profile_file import find_profile
from diskbench.store.rows import replace_draft
from diskbench.units import format_bytes


def rent(session: Session, draft: Plan, asked: Event, note: Callable[[str], None]) -> Plan:
    """Acquire the draft's machine, examine it, and replace the draft by the plan for the machine.
    `asked` is set when the trial should stop; `note` tells its user what happens.

    Raises DiskbenchError; what was acquired is then not released yet.
    """
    onlooker = Onlooker(
        note=note,
        stopping=asked.is_set,
        secret=session.secret,
        span=lambda name: session.timing.span(f"rent: {name}", draft.trial_id),
        host=lambda access, address: host_at(address, access.config),
    )
    renter = session.renter(draft)
    assert renter is not None
    assert draft.rental is not None
    profile = find_profile(draft.cell.profile)
    if profile.digest != draft.profile.digest:
        raise ProfileError(
            f"profile {draft.cell.profile!r} is not the one that this run was planned with",
            advice="start a new run; what was rented for this one is given back",
        )
    lease = renew(session, draft, onlooker)
    with session.timing.span("rent", draft.trial_id):
        assert lease is not None
        assert lease.ends is not None
        typed = draft.cell.rent.tags if draft.cell.rent else ()
        claim = Claim(
            lease_id=draft.lease_id,
            expires_at=lease.ends.timestamp(),
            owner=session.owner,
            version=__version__,
            turn=draft.machine.turn if draft.machine else 1,
            tags=tuple({**dict(session.tags), **dict(typed)}.items()),
        )
        if draft.rental.spec.snapshot_of_fill:
            acquired = _from_fill(session, draft, profile, renter, claim, onlooker)
        else:
            acquired = _acquired(renter, claim, draft.rental, onlooker)
    if asked.is_set():
        raise Interrupted("stopped by the user")
    host = host_at(acquired.address, acquired.ssh.config if acquired.ssh else None)
    lost = HostLost(draft, renter, note).noted_or_raise
    on_machine = partial(_plan_on_machine, session, draft, profile, acquired, host)
    try:
        with session.timing.span("connect and look", draft.trial_id):
            plan = patiently(on_machine, asked.is_set, lost)
    except BaseException:
        host.close()
        raise
    if plan.target.others:  # which device of the job file is which disk is known only now
        for line in plan.changes:
            if line.startswith("filename="):
                note(line)
    evidence = session.evidence_of(plan.trial_id)
    replace_draft(session.database, plan, evidence.url)
    write_plan(evidence, plan)
    session.hosts[plan.trial_id] = host
    return plan


def _acquired(renter: Renter, claim: Claim, rental: Rental, watch: RentWatch) -> Acquired:
    """The machine with its disks: newly rented, or the shared machine with new disks."""
    if claim.turn == 1:
        return renter.acquire(claim, rental, watch)
    if not isinstance(renter, SwapsDisks):
        raise InvalidValue(
            f"--provider {renter.name} cannot change the disks of a machine",
            advice="leave reuse_host out of the matrix",
            field="provider",
        )
    return renter.swap(claim, rental, watch)


def _from_fill(
    session: Session, draft: Plan, profile: Profile, renter: Renter, claim: Claim, watch: Onlooker
) -> Acquired:
    """The machine with disks made from a snapshot of a disk that was filled on it."""
    rental = draft.rental
    assert rental is not None
    if not isinstance(renter, SnapshotsDisks) or claim.turn > 1:
        raise InvalidValue(
            f"--snapshot-of-fill needs a machine of its own and a cloud with snapshots of disks, "
            f"not --provider {renter.name}",
            advice="diskbench providers lists them; leave reuse_host out of the matrix",
            field="snapshot_of_fill",
        )
    spec = rental.spec.model_copy(update={"snapshot_of_fill": False})

    def fill() -> None:
        acquired = renter.acquire(claim, rental.model_copy(update={"spec": spec}), watch)
        cell = draft.cell.model_copy(update={"rent": spec})
        _fill(session, draft.model_copy(update={"cell": cell}), profile, acquired, renter, watch)

    made = renter.snapshot(claim, rental, fill, watch)
    if watch.stopping():
        raise Interrupted("stopped by the user")
    copy = rental.spec.model_copy(update={"snapshot": made})
    return renter.swap(
        claim.model_copy(update={"turn": 2}), rental.model_copy(update={"spec": copy}), watch
    )


_FILL = """[global]
filename={path}
size={bytes}
ioengine=libaio
direct=1
rw=write
bs=1m
iodepth=8
refill_buffers=1
end_fsync=1

[fill]
"""


def _fill(
    session: Session,
    draft: Plan,
    profile: Profile,
    acquired: Acquired,
    renter: Renter,
    watch: Onlooker,
) -> None:
    """Write what the profile will read to the lease's first disk, once, with data that no cloud can
    shrink. Raises as a step does."""
    host = host_at(acquired.address, acquired.ssh.config if acquired.ssh else None)
    host_lost = HostLost(draft, renter, watch.note)
    on_machine = partial(_plan_on_machine, session, draft, profile, acquired, host)
    try:
        plan = patiently(on_machine, watch.stopping, host_lost.noted_or_raise)
        job = _FILL.format(path=plan.target.disks[0].device, bytes=plan.space_bytes)
        step = Step(index=0, name="snapshot-fill", role="fill", job=job, expected_s=0.0)
        workspace = partial(make_workspace, host, plan.target, watch.stopping)
        patiently(workspace, watch.stopping, host_lost.noted_or_raise)
        unit = unit_of(plan, 0, step)
        watch.note(f"{format_bytes(plan.space_bytes)} of the disk are written for its snapshot")
        with watch.span("fill"):
            end = start_and_watch(
                host, unit, lambda _: None, watch.stopping, watch.note, host_lost.noted
            )
        if end.stopped:
            raise Interrupted("stopped by the user")
        raise_if_broken(end, unit, host.name, {})
        if end.fio_exit:
            raise RentalFailed(
                f"the disk could not be filled for its snapshot: fio ended with exit code "
                f"{end.fio_exit}",
                advice="try again; look at the disk (dmesg)",
            )
    finally:
        host.close()


def _plan_on_machine(
    session: Session, draft: Plan, profile: Profile, acquired: Acquired, host: Host
) -> Plan:
    """The plan for the machine that was acquired, from its facts."""
    names = TrialIds(draft.campaign_id, draft.trial_id, draft.run_ids)
    assert draft.rental is not None
    if draft.rental.spec.stripe:
        acquired = striped(host, draft.trial_id, acquired)
    cell = draft.cell.model_copy(update={"target": _target(draft, acquired)})
    facts = probe(host, cell, install_fio=True)
    rented = acquired.facts.get("instance_id")
    proven = vouched(host, facts.cloud, cell.provider, str(rented) if rented else None)
    cloud = facts.cloud.model_copy(update={"verified": proven})
    facts = facts.model_copy(update={"cloud": cloud})
    plan = make_plan(
        cell, profile, facts, names, session.books, version=__version__, rental=draft.rental
    )
    plan = plan.model_copy(
        update={"acquired": acquired, "machine": draft.machine, "notes": draft.notes}
    )
    session.parse_once(host, plan)
    return plan


def striped(host: Host, trial_id: str, acquired: Acquired) -> Acquired:
    """The machine with its disks joined to one array; idempotent. Raises as hosts.stripe does."""
    members = [
        DeviceProof(path=path, number="-", identity=identity, size_bytes=acquired.size_bytes)
        for path, identity in zip(acquired.devices, acquired.identities, strict=True)
    ]
    array = stripe(host, trial_id, members)
    facts = {"stripe_disks": len(members), "stripe_chunk_bytes": CHUNK_KIB * 1024}
    return acquired.model_copy(
        update={
            "device": array,
            "identity": stripe_uuid(trial_id),
            "size_bytes": acquired.size_bytes * len(members),
            "facts": acquired.facts | {"disk_size_bytes": acquired.size_bytes, **facts},
        }
    )


def _target(draft: Plan, acquired: Acquired) -> TargetSpec:
    """The only target on the machine that may be written to: this lease's disk or directory, or
    its disks where the job file names as many devices."""
    spec = draft.cell.target
    if acquired.directory is not None:
        return spec.model_copy(update={"kind": "directory", "path": acquired.directory})
    others: tuple[NamedDisk, ...] = ()
    if spec.others:
        pairs = zip(acquired.devices[1:], acquired.identities[1:], strict=True)
        others = tuple(NamedDisk(path=path, destroy_data=identity) for path, identity in pairs)
        if len(others) != len(spec.others):
            raise RentalFailed(
                f"{len(spec.others) + 1} disks were requested, but {len(acquired.devices)} "
                f"attached",
                advice="start the run again; what was rented is given back",
            )
    device = {"kind": "device", "path": acquired.device, "destroy_data": acquired.identity}
    return spec.model_copy(update={**device, "others": others})


@dataclass(frozen=True)
class Onlooker:
    """What a provider may call while it rents: see ports.RentWatch."""

    note: Callable[[str], None]
    stopping: Callable[[], bool]
    secret: Callable[[], SecretBytes]
    span: Callable[[str], AbstractContextManager[None]]
    host: Callable[[SshAccess, str], Host]
