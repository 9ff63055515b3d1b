"""What the tests of renting on Azure do it with: the emulator, and a provider that waits little."""

import dataclasses
import time
from typing import cast

from emulators.azure import server
from tests.books import SHIPPED

from diskbench.model.options import RentSpec
from diskbench.model.rental import LeaseEnd
from diskbench.model.spec import Cell, TargetSpec
from diskbench.ports import Completed, Host
from diskbench.providers.azure.client import AzureTiming
from diskbench.providers.azure.cloud import AzureProvider
from diskbench.providers.azure.plugin import AzureOptions
from diskbench.providers.azure.provision import provision
from diskbench.testing.rig import RigOnlooker, claim

QUICK = AzureTiming(
    first_poll_s=0.02, max_poll_s=0.3, network_s=60, machine_s=90, disk_s=60, attach_s=60,
    appear_s=60, ssh_s=60, ready_s=60, delete_s=90, retry_s=60, look_s=60, first_retry_s=0.02,
    max_retry_s=0.2, nap_s=0.02, settle_s=2,
)  # fmt: skip
PREMIUM = RentSpec(disk="Premium_LRS", size_gib=4, region=server.REGION)
SOON_S = 3600.0


class NoTimer:
    """A guest without a timer."""

    name = "nobody"

    def run(self, *_, **__):
        return Completed(3, b"", b"")


class Rig:
    """One emulated Azure, and all that a test needs to rent there."""

    def __init__(self, azure):
        self.cloud, self.endpoint = azure.cloud, azure.endpoint
        self.provider = AzureProvider(QUICK, ask_caller=lambda: "203.0.113.7/32")
        self.watch = RigOnlooker()

    @property
    def faults(self):
        return self.cloud.faults

    def impatient(self, *limits):
        """Give some waits up after a moment."""
        timing = dataclasses.replace(self.provider.timing, **dict.fromkeys(limits, 1.0))
        self.provider = AzureProvider(timing, self.provider.ask_caller)

    def cell(self, spec=PREMIUM, **more):
        azure = AzureOptions(
            **{name: more.pop(name) for name in AzureOptions.model_fields if name in more}
        )
        given = {**spec.model_dump(), "endpoint_url": self.endpoint, "azure": azure, **more}
        rent = RentSpec.model_validate(given)
        target = TargetSpec(kind="device", path="")
        return Cell(provider="azure", target=target, rent=rent, profile="quick")

    def resolve(self, spec=PREMIUM, **more):
        return self.provider.resolve(self.cell(spec, **more), SHIPPED)

    def acquire(self, lease="one", spec=PREMIUM, **more):
        rental = self.resolve(spec, **more)
        claim = self.claim(lease).model_copy(update={"tags": rental.spec.tags})
        return self.provider.acquire(claim, rental, self.watch)

    def provisioned(self, rental):
        """The machine of a rental up to the point where SSH would be tried."""
        self.faults.never_ready()
        return provision(self.provider._order(self.claim(), rental, self.watch))

    def without_a_guest(self, **more):
        return self.provisioned(self.resolve(**more))

    def claim(self, lease="one", lasts_s=SOON_S):
        return claim(lease, expires_at=float(int(time.time() + lasts_s)))

    def extend(self, lasts_s, lease="one"):
        """Let a lease end so many seconds from now; its guest has no timer to be moved."""
        end = LeaseEnd(expires_at=float(int(time.time() + lasts_s)), left_s=lasts_s)
        self.provider.extend(lease, self.scope(), end, cast("Host", NoTimer()))

    def scope(self):
        return self.resolve().scope

    def release(self, lease="one"):
        self.provider.release(lease, self.scope())

    def resource(self, kind):
        """The only resource of a kind (`disks`)."""
        (found,) = self.resources(kind)
        return found

    def resources(self, kind):
        with self.cloud.lock:
            rows = list(self.cloud.resources.values())
        return [row for row in rows if row["type"].partition("/")[2] == kind]

    def left(self):
        return server.left(self.cloud)
