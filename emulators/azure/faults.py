"""What goes wrong on purpose, and a record of everything that was asked. Thread-safe.

Actions are named as role definitions name them, `Microsoft.Compute/disks/write`; `*` stands for
any. Codes: learn.microsoft.com, azure-resource-manager/troubleshooting/common-deployment-errors
and virtual-machines/troubleshooting/allocation-failure.
"""

import copy
import fnmatch
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from emulators.azure.call import Call, Refusal
from emulators.expiry import Expiry

MACHINE = "Microsoft.Compute/virtualMachines/write"
DISK = "Microsoft.Compute/disks/write"


@dataclass(frozen=True)
class Asked:
    """One request that came in, whatever became of it."""

    action: str
    method: str
    path: str
    body: Any


@dataclass
class _Due:
    """Refuse the next `times` calls of an action whose body holds `where`."""

    action: str
    refusal: Refusal
    times: float
    where: dict[str, Any]


@dataclass
class Faults:
    """The faults in force. Each method takes effect with the next request."""

    asked: list[Asked] = field(default_factory=list)
    quota_cores: int = 100
    """How many cores a region gives."""
    quota_of: dict[str, int] = field(default_factory=dict)
    """How many cores a family of sizes gives; as many as the region where it is not named."""
    role: frozenset[str] | None = None
    """The actions that callers may take (rights.py); None is Owner."""
    demanded: set[str] = field(default_factory=set)
    """Every action that was demanded of a caller so far."""
    refused_terms: set[str] = field(default_factory=set)
    """The plans whose terms nobody accepted."""
    registrations: dict[str, str] = field(default_factory=dict)
    """The state of resource providers that the subscription is not registered for."""
    demanded_tags: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Keys of tags that policies demand → of what: "groups", "resources" (policies.py)."""
    consumed: dict[str, float] = field(default_factory=dict)
    """Azure Monitor's value of every minute, by the metric's name; none where it is not named."""
    _refusals: list[_Due] = field(default_factory=list)
    _failures: list[_Due] = field(default_factory=list)
    _lost: dict[str, float] = field(default_factory=dict)
    _expiry: Expiry = field(default_factory=Expiry)
    _stuck: list[str] = field(default_factory=list)
    _deaf: bool = False
    _late_looks: int = 0
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def reset(self) -> None:
        """Nothing goes wrong any more, and nothing was asked."""
        with self._lock:
            for one in (self.asked, self._refusals, self._failures, self._stuck):
                one.clear()
            self._lost.clear()
            self._expiry.reset()
            self._deaf = False
            self._late_looks = 0
            self.quota_cores = 100
            self.quota_of.clear()
            self.role = None
            self.demanded.clear()
            self.registrations.clear()
            self.refused_terms.clear()
            self.demanded_tags.clear()
            self.consumed.clear()

    def grant(self, actions: Iterable[str]) -> None:
        """From now on callers have exactly this role."""
        self.role = frozenset(actions)

    def unregister(self, namespace: str) -> None:
        """The subscription is not registered for that provider."""
        self.registrations[namespace] = "NotRegistered"

    def refuse(
        self,
        action: str,
        code: str,
        message: str,
        *,
        status: int = 400,
        times: float = 1,
        retry_after: int | None = None,
        **where: Any,
    ) -> None:
        """Refuse the next calls of `action`; `where` are values anywhere in their bodies."""
        refusal = Refusal(code, message, status=status, retry_after=retry_after)
        with self._lock:
            self._refusals.append(_Due(action, refusal, times, where))

    def fail(self, action: str, code: str, message: str, *, times: float = 1, **where: Any) -> None:
        """Accept the next calls of `action`, and let their operations fail."""
        with self._lock:
            self._failures.append(_Due(action, Refusal(code, message), times, where))

    def capacity(
        self,
        *,
        zone: str | None = None,
        size: str | None = None,
        times: float = 1,
        at_once: bool = False,
    ) -> None:
        """No machine of that size in that zone, told inside the operation, or `at_once` as the
        answer to the PUT (azuresandbox 70 and 654, azure-cli 32628); None is any."""
        code = "ZonalAllocationFailed" if zone else "AllocationFailed"
        where = {"zones": [zone]} if zone else {}
        if at_once:
            self.refuse(
                MACHINE,
                "SkuNotAvailable",
                "The requested VM size for resource 'Following SKUs have failed for Capacity "
                f"Restrictions: {size or 'any'}' is currently not available in location 'eastus'. "
                "Please try another size or deploy to a different location or different zone. See "
                "https://aka.ms/azureskunotavailable for details.",
                status=409,
                times=times,
                **where,
                **({"vmSize": size} if size else {}),
            )
            return
        self.fail(
            MACHINE,
            code,
            "Allocation failed. We do not have sufficient capacity for the requested VM size in "
            f"this {'zone' if zone else 'region'}. Read more about improving likelihood of "
            "allocation success at http://aka.ms/allocation-guidance",
            times=times,
            **where,
            **({"vmSize": size} if size else {}),
        )

    def reserve_interface(self, seconds: int = 180) -> None:
        """The next machine finds its interface kept for one that failed (taskcluster 7196,
        bosh-azure-cpi-release 765)."""
        self.refuse(
            MACHINE,
            "NicReservedForAnotherVm",
            "Nic(s) in request is reserved for another Virtual Machine for 180 seconds. Please "
            f"provide another nic(s) or retry after {seconds} seconds. Reserved VM: "
            "/subscriptions/0/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/other",
        )

    def throttle(self, action: str = "*", times: float = 1, retry_after: int = 0) -> None:
        """Too many requests, the next `times` times."""
        self.refuse(
            action,
            "TooManyRequests",
            "The request is being throttled as the limit has been reached for operation type.",
            status=429,
            times=times,
            retry_after=retry_after,
        )

    def break_down(self, action: str = "*", times: float = 1) -> None:
        """A server error, as seen in the recordings."""
        message = "The request timed out. Diagnostic information: activity id 'none'."
        self.refuse(action, "ServerTimeout", message, status=503, times=times)

    def lose_answers(self, action: str, times: float = 1) -> None:
        """Do what is asked, and hang up without an answer."""
        with self._lock:
            self._lost[action] = self._lost.get(action, 0) + times

    def forbid(self, action: str, times: float = float("inf")) -> None:
        """The caller lacks the permission."""
        self.refuse(
            action,
            "AuthorizationFailed",
            "The client 'diskbench' with object id '00000000-0000-0000-0000-0000000000aa' does not "
            f"have authorization to perform action '{action}' over scope '/subscriptions' or the "
            "scope is invalid. If access was recently granted, please refresh your credentials.",
            status=403,
            times=times,
        )

    def forbidden(self) -> list[str]:
        """What callers may not do now."""
        with self._lock:
            due = [one for one in self._refusals if one.times > 0]
        return [one.action for one in due if one.refusal.code == "AuthorizationFailed"]

    def stuck(self, action: str) -> None:
        """Operations that such a call begins from now on never end."""
        with self._lock:
            self._stuck.append(action)

    def never_ready(self) -> None:
        """Machines made from now on answer no SSH."""
        with self._lock:
            self._deaf = True

    def late_attach(self, looks: int) -> None:
        """Changing a machine's disks takes that many looks longer."""
        with self._lock:
            self._late_looks = looks

    def expire_credentials(self, after_calls: int = 0) -> None:
        """The tokens in use expire after that many further calls, and their owners get no new ones;
        other clients do."""
        self._expiry.expire(after_calls)

    @property
    def machines_are_deaf(self) -> bool:
        """Do new machines answer no SSH?"""
        return self._deaf

    @property
    def late_looks(self) -> int:
        """How many looks a change of disks takes longer."""
        return self._late_looks

    def calls(self, action: str) -> list[Asked]:
        """All requests of an action, in order."""
        with self._lock:
            return [one for one in self.asked if one.action == action]

    def note(self, call: Call) -> None:
        """Remember the request as it came."""
        with self._lock:
            body = copy.deepcopy(call.body)
            self.asked.append(Asked(call.action, call.method, call.path, body))

    def check_client(self, client: str) -> None:
        """Raise Refusal when a caller's credentials have expired. Counts a call."""
        if self._expiry.counted(client):
            message = "The access token expiry UTC time is earlier than current UTC time."
            raise Refusal("ExpiredAuthenticationToken", message, status=401)

    def is_expired(self, client: str) -> bool:
        """Does this client get no token any more?"""
        return self._expiry.of(client)

    def check_refusals(self, call: Call) -> None:
        """Raise Refusal when one is due for this call."""
        if due := self._take(self._refusals, call):
            raise due

    def failure(self, call: Call) -> Refusal | None:
        """What the operation of this call is to fail with."""
        return self._take(self._failures, call)

    def is_stuck(self, call: Call) -> bool:
        """Does the operation of this call never end?"""
        return any(fnmatch.fnmatch(call.action, one) for one in self._stuck)

    def loses(self, call: Call) -> bool:
        """Is this call's answer to be lost?"""
        with self._lock:
            for action, left in self._lost.items():
                if left > 0 and fnmatch.fnmatch(call.action, action):
                    self._lost[action] = left - 1
                    return True
        return False

    def _take(self, dues: list[_Due], call: Call) -> Refusal | None:
        with self._lock:
            for one in dues:
                if one.times > 0 and fnmatch.fnmatch(call.action, one.action):
                    if not all(_holds(call.body, *pair) for pair in one.where.items()):
                        continue
                    one.times -= 1
                    return one.refusal
        return None


def _holds(body: Any, name: str, value: Any) -> bool:
    """Is there a member of that name and value anywhere in it?"""
    if isinstance(body, dict):
        return body.get(name) == value or any(_holds(one, name, value) for one in body.values())
    return isinstance(body, list) and any(_holds(one, name, value) for one in body)
