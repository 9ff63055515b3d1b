"""`--provider vsphere` as the engine uses it."""

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime

from diskbench.catalog.books import Books
from diskbench.model.finding import Finding
from diskbench.model.rental import Acquired, Claim, Found, LeaseEnd, Rental, Scope, Which
from diskbench.model.spec import Cell
from diskbench.ports import Host, RentWatch
from diskbench.providers.guest import move_timer
from diskbench.providers.skeleton import leases
from diskbench.providers.skeleton.cloud import CloudProvider, ordered, requested_disk
from diskbench.providers.skeleton.doctor import reported_time
from diskbench.providers.skeleton.leases import Failures, Listed, Tagged, by_lease, giving_back
from diskbench.providers.vsphere import client, requests
from diskbench.providers.vsphere.attach import swapped
from diskbench.providers.vsphere.client import Vsphere, VsphereSessions, VsphereTiming
from diskbench.providers.vsphere.disk_request import VsphereResolved, disk_request
from diskbench.providers.vsphere.doctor import examine, policy, rehearse
from diskbench.providers.vsphere.errors import is_missing
from diskbench.providers.vsphere.handover import hand_over
from diskbench.providers.vsphere.inventory import PATHS, attribute_keys, is_on, machines, marked
from diskbench.providers.vsphere.login import server_of
from diskbench.providers.vsphere.lookup import resolve_details
from diskbench.providers.vsphere.offer import foresee, rental
from diskbench.providers.vsphere.plugin import VsphereOptions
from diskbench.providers.vsphere.provision import VsphereOrder, provision
from diskbench.providers.waits import while_looking

_TIMING = VsphereTiming()
REPEATS = 4
"""How many times an empty listing is repeated, a moment between two; our choice."""


class VsphereProvider(CloudProvider):
    """Machines of a vSphere installation, with a virtual disk on the datastore to measure. vSphere
    has neither prices nor quotas of an account."""

    name = "vsphere"
    sessions: VsphereSessions
    timing: VsphereTiming
    reading: VsphereTiming

    def __init__(self, timing: VsphereTiming = _TIMING) -> None:
        super().__init__(VsphereSessions(), timing)

    def check(self, cell: Cell) -> None:
        disk_request(cell.rent)

    def resolve(self, cell: Cell, books: Books) -> Rental:  # noqa: ARG002 - it has no prices
        spec, requested = requested_disk(cell, disk_request)
        server = server_of(spec)
        with while_looking():
            vsphere = self.sessions.at(server, self.reading)
            attribute_keys(vsphere, spec.tags)
            details = resolve_details(vsphere, server, VsphereOptions.of(spec), requested)
            installation = str(vsphere.content.about.instanceUuid)
        return rental(spec, details, server, installation, cell.promise)

    def foresee(self, cell: Cell, books: Books) -> Rental:  # noqa: ARG002 - it has no prices
        return foresee(*requested_disk(cell, disk_request), cell.promise)

    def acquire(self, claim: Claim, rental: Rental, watch: RentWatch) -> Acquired:
        order = self._order(claim, rental, watch)
        return hand_over(order, provision(order))

    def check_swap(self, cell: Cell) -> None:
        """Every disk is virtual and can be swapped."""

    def swap(self, claim: Claim, rental: Rental, watch: RentWatch) -> Acquired:
        order = self._order(claim, rental, watch)
        return hand_over(order, swapped(order))

    def _order(self, claim: Claim, rental: Rental, watch: RentWatch) -> VsphereOrder:
        details = VsphereResolved.model_validate(rental.details)
        vsphere = self.sessions.of_scope(rental.scope, self.timing, watch)
        of_claim = ordered(claim, rental, watch)
        return VsphereOrder(**of_claim, vsphere=vsphere, details=details, timing=self.timing)

    @while_looking()
    def found(self, scope: Scope) -> Sequence[Found]:
        listed = machines(self.sessions.of_scope(scope, self.reading))
        return by_lease(scope, listed)

    @while_looking()
    def present(self, scope: Scope) -> datetime:
        vsphere = self.sessions.of_scope(scope, self.reading)
        cloud_time = vsphere.call("CurrentTime", vsphere.instance.CurrentTime)
        return reported_time("vsphere", cloud_time.astimezone(UTC))

    def _why_gone(self, lease_id: str, scope: Scope) -> str | None:
        listed = machines(self.sessions.of_scope(scope, self.reading), Which(lease_id))
        if not listed:
            return f"vSphere lists no machine of lease {lease_id}"
        if not any(is_on(machine.item) for machine in listed):
            return f"{listed[-1].told} is {listed[-1].item.values.get('runtime.powerState')}"
        return None

    def examine(self, scope: Scope) -> Sequence[Finding]:
        return examine(self.sessions, scope, self.reading)

    def rehearse(self, rental: Rental) -> Sequence[Finding]:
        return rehearse(self.sessions, rental, self.reading)

    def release(
        self, lease_id: str, scope: Scope, *, made: Sequence[str] = (), copied: Sequence[str] = ()
    ) -> None:
        """The machine with its disks is deleted, awaited and verified."""
        which, timing = Which(lease_id, made, copied), self.timing
        with giving_back(lease_id):
            vsphere = self.sessions.of_scope(scope, timing)

        def list_lease(deleted: Collection[str]) -> Listed:
            listed = [one for one in machines(vsphere) if one.lease_id == lease_id]
            unlisted = set(made) - set(deleted) - {machine.told for machine in listed}
            listed += _by_id(vsphere, lease_id, unlisted)
            carrying = {machine.told: machine for machine in listed}
            return leases.parted(carrying, lambda told, one: which.takes(one.name, told))

        def unlisted_s(first: Listed) -> float | None:
            """A clone that was just made may not be listed yet."""
            return None if copied or first.meant else REPEATS * timing.first_poll_s

        def give_back(listing: Listed, failures: Failures) -> None:
            for told, machine in listing.meant.items():
                with leases.noting(failures, told, is_missing):
                    _remove(vsphere, machine)

        lag = leases.Lag(timing, unlisted_s, timing.appear_s, REPEATS)
        with giving_back(lease_id):
            leases.release(which, "vSphere", list_lease, give_back, lag=lag)

    def extend(
        self, lease_id: str, scope: Scope, end: LeaseEnd, guest: Host, made: Sequence[str] = ()
    ) -> None:
        """First the guest's timer is moved, which alone ends a machine by itself, then the
        machine's notes, where other text stays. Its disks have none: they are deleted with it."""
        vsphere = self.sessions.of_scope(scope, self.timing)
        move_timer(guest, end)
        for machine in machines(vsphere, Which(lease_id, made)):
            written = str(machine.item.values.get("config.annotation") or "")
            vm, spec = machine.item.ref, requests.new_expiry(written, end.expires_at)
            action = "VirtualMachine.Config.Annotation"
            vsphere.reconfigure(vm, action, f"new notes of {client.moid(vm)}", spec)

    def policy(self, region: str | None = None) -> str:  # noqa: ARG002 - one for all regions
        return policy()


def _by_id(vsphere: Vsphere, lease_id: str, resources: Iterable[str]) -> list[Tagged]:
    """The machines among `resources` (`machine vm-53`) that exist and carry the lease's notes, read
    by their ids: a listing may not show them yet."""
    parts = (resource.partition(" ") for resource in sorted(resources))
    ids = [moref for kind, _, moref in parts if kind == "machine"]
    refs = [client.reference(vsphere, "VirtualMachine", moref) for moref in ids]
    items = [item for ref in refs if (item := vsphere.properties(ref, PATHS))]
    carrying = filter(None, map(marked, items))
    return [machine for machine in carrying if machine.lease_id == lease_id]


def _remove(vsphere: Vsphere, machine: Tagged) -> None:
    vm = machine.item.ref
    name = client.moid(vm)
    if is_on(machine.item):
        vsphere.switch("VirtualMachine.PowerOff", f"end of {name}", vm.PowerOffVM_Task)
    what, limit_s = f"removal of {name}", vsphere.timing.delete_s
    vsphere.run("VirtualMachine.Destroy", what, vm.Destroy_Task, limit_s)
