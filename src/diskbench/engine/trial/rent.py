"""From a draft to a plan: rent its machine, examine it, and plan for its facts.

Another process may repeat the renting, because everything is found by the trial's name. After a
failure the caller releases what was made (engine/matrix/cells.py).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from threading import Event

from pydantic import SecretBytes

from diskbench import __version__
from diskbench.catalog.books import Books
from diskbench.engine.session import Session
from diskbench.engine.trial.lease import renew
from diskbench.engine.trial.probe import ParsedOnce, probe
from diskbench.engine.trial.watch import HostLost
from diskbench.errors import Interrupted, InvalidValue, ProfileError, RentalFailed
from diskbench.fio.profiles import Profile
from diskbench.hosts.facts import vouched
from diskbench.hosts.jobs import patiently
from diskbench.hosts.ssh import host_at
from diskbench.hosts.stripe import Member, stripe
from diskbench.model.facts import HostFacts
from diskbench.model.rental import Acquired, Claim, Rental, SshAccess
from diskbench.model.spec import NamedDisk, Plan, TargetSpec
from diskbench.plan.trial import TrialIds, rented_plan
from diskbench.ports import Host, Renter, RentWatch, SwapsDisks
from diskbench.store.archive import write_plan
from diskbench.store.leases import Lease
from diskbench.store.profile_file import find_profile
from diskbench.store.rows import replace_draft


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
        acquired = _acquired(renter, _claim(session, draft, lease), draft.rental, onlooker)
    if asked.is_set():
        raise Interrupted("stopped by the user")
    host = host_at(acquired.address, acquired.ssh.config if acquired.ssh else None)
    try:
        with session.timing.span("connect and look", draft.trial_id):
            plan = patiently(
                lambda: _plan_on_machine(
                    draft, profile, acquired, host, session.books, session.parsed
                ),
                asked.is_set,
                HostLost(draft, renter, note).noted_or_raise,
            )
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


def _plan_on_machine(
    draft: Plan,
    profile: Profile,
    acquired: Acquired,
    host: Host,
    books: Books,
    parsed: ParsedOnce,
) -> Plan:
    """The plan for the machine that was acquired, from its facts."""
    names = TrialIds(draft.campaign_id, draft.trial_id, draft.run_ids)
    assert draft.rental is not None
    if draft.rental.spec.stripe:
        acquired = striped(host, draft.trial_id, acquired)
    cell = draft.cell.model_copy(update={"target": _target(draft, acquired)})
    facts = probe(host, cell, install_fio=True)
    facts = _vouched(facts, host, draft, acquired)
    plan = rented_plan(cell, profile, facts, names, draft.rental, books, version=__version__)
    plan = plan.model_copy(
        update={"acquired": acquired, "machine": draft.machine, "notes": draft.notes}
    )
    parsed.check(host, plan)
    return plan


def striped(host: Host, trial_id: str, acquired: Acquired) -> Acquired:
    """The machine with its disks joined to one array; idempotent. Raises as hosts.stripe does."""
    members = [
        Member(path=path, identity=identity, size_bytes=acquired.size_bytes)
        for path, identity in zip(acquired.devices, acquired.identities, strict=True)
    ]
    array = stripe(host, trial_id, members)
    facts = {
        "disk_size_bytes": acquired.size_bytes,
        "stripe_disks": len(members),
        "stripe_chunk_bytes": array.chunk_bytes,
    }
    return acquired.model_copy(
        update={
            "device": array.path,
            "identity": array.identity,
            "size_bytes": acquired.size_bytes * len(members),
            "facts": acquired.facts | facts,
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
                f"{len(acquired.devices)} disks were attached, not {len(spec.others) + 1}",
                advice="start the run again; what was rented is given back",
            )
    return spec.model_copy(
        update={
            "kind": "device",
            "path": acquired.device,
            "destroy_data": acquired.identity,
            "others": others,
        }
    )


def _vouched(facts: HostFacts, host: Host, draft: Plan, acquired: Acquired) -> HostFacts:
    """The facts, with whether the guest's metadata prove that it is the rented machine."""
    instance_id = acquired.facts.get("instance_id")
    proven = vouched(
        host, facts.cloud, draft.cell.provider, str(instance_id) if instance_id else None
    )
    return facts.model_copy(update={"cloud": facts.cloud.model_copy(update={"verified": proven})})


def _claim(session: Session, plan: Plan, lease: Lease | None) -> Claim:
    assert lease is not None
    assert lease.expires_at is not None
    typed = plan.cell.rent.tags if plan.cell.rent else ()
    return Claim(
        lease_id=plan.lease_id,
        expires_at=datetime.fromisoformat(lease.expires_at).timestamp(),
        owner=session.owner,
        version=__version__,
        turn=plan.machine.turn if plan.machine else 1,
        tags=tuple({**dict(session.tags), **dict(typed)}.items()),
    )


@dataclass(frozen=True)
class Onlooker:
    """What a provider may call while it rents: see ports.RentWatch."""

    note: Callable[[str], None]
    stopping: Callable[[], bool]
    secret: Callable[[], SecretBytes]
    span: Callable[[str], AbstractContextManager[None]]
    host: Callable[[SshAccess, str], Host]
