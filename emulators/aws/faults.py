"""What goes wrong on purpose, and a record of everything that was asked. Thread-safe.

Codes and HTTP statuses: EC2 API Reference, "Error codes for the Amazon EC2 API" (RequestLimit-
Exceeded and InsufficientInstanceCapacity are server errors); an expired session is RequestExpired
to EC2, ExpiredTokenException to JSON services and ExpiredToken to STS.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from emulators.aws.call import Call, Refusal
from emulators.expiry import Expiry

EXPIRED = {
    "ec2": ("RequestExpired", "Request has expired.", 400),
    "ssm": ("ExpiredTokenException", "The security token included in the request is expired", 400),
    "sts": ("ExpiredToken", "The security token included in the request is expired", 403),
}


def not_enabled(service: str) -> Refusal:
    """What a region answers whose account has not enabled it (terraform-provider-aws 12940)."""
    if service == "ec2":
        said = "AWS was not able to validate the provided access credentials"
        return Refusal("AuthFailure", said, status=401)
    said = "The security token included in the request is invalid."
    code = "InvalidClientTokenId" if service in {"sts", "iam"} else "UnrecognizedClientException"
    return Refusal(code, said, status=403)


@dataclass(frozen=True)
class Asked:
    """One request that came in, whatever became of it."""

    service: str
    action: str
    region: str
    params: dict[str, Any]


@dataclass
class _Refuse:
    """Refuse the next `times` calls of an action whose parameters hold `where`."""

    action: str
    code: str
    message: str
    status: int
    times: float
    where: dict[str, Any]


@dataclass
class Faults:
    """The faults in force. Each method takes effect with the next request."""

    asked: list[Asked] = field(default_factory=list)
    _refusals: list[_Refuse] = field(default_factory=list)
    _expiry: Expiry = field(default_factory=Expiry)
    _stuck: bool = False
    _never_ready: bool = False
    _late_looks: int = 0
    _moments: dict[tuple[str, str], Callable[[], None]] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def reset(self) -> None:
        """Nothing goes wrong any more, and nothing was asked."""
        with self._lock:
            self.asked.clear()
            self._refusals.clear()
            self._expiry.reset()
            self._stuck = self._never_ready = False
            self._late_looks = 0
            self._moments.clear()

    def at(self, when: Literal["lost", "done"], action: str, happen: Callable[[], None]) -> None:
        """Let something happen at the next call of `action`: `lost` before the cloud knows of it,
        which then never does, or `done` after it did what was asked and before it answers."""
        with self._lock:
            self._moments[when, action] = happen

    def meet(self, when: Literal["lost", "done"], action: str) -> None:
        """Let happen what was planned for this moment. Raises Refusal when the call is lost."""
        with self._lock:
            happen = self._moments.pop((when, action), None)
        if happen is None:
            return
        happen()
        if when == "lost":
            raise Refusal("ServiceUnavailable", "The request was lost.", status=503)

    def refuse(
        self,
        action: str,
        code: str,
        message: str,
        *,
        status: int = 400,
        times: float = 1,
        **where: Any,
    ) -> None:
        """Refuse the next calls of `action` (`*` is any of EC2) that have these parameters."""
        with self._lock:
            self._refusals.append(_Refuse(action, code, message, status, times, where))

    def capacity(
        self, *, zone: str | None = None, instance_type: str | None = None, times: float = 1
    ) -> None:
        """No instance of that type in that zone; None is any."""
        where = {"InstanceType": instance_type, "zone": zone}
        self.refuse(
            "RunInstances",
            "InsufficientInstanceCapacity",
            f"We currently do not have sufficient {instance_type or 'instance'} capacity in the "
            f"Availability Zone you requested ({zone or 'any'}). Our system will be working on "
            "provisioning additional capacity.",
            status=500,
            times=times,
            **{key: value for key, value in where.items() if value is not None},
        )

    def throttle(self, action: str = "*", times: float = 1) -> None:
        """Too many requests, the next `times` times."""
        self.refuse(
            action, "RequestLimitExceeded", "Request limit exceeded.", status=503, times=times
        )

    def forbid(self, action: str, times: float = float("inf")) -> None:
        """The caller lacks the permission."""
        message = f"You are not authorized to perform this operation: ec2:{action}."
        self.refuse(action, "UnauthorizedOperation", message, status=403, times=times)

    def stuck_creating(self) -> None:
        """Volumes made from now on never become available."""
        with self._lock:
            self._stuck = True

    def never_ready(self) -> None:
        """Instances made from now on never pass their checks, and answer no SSH."""
        with self._lock:
            self._never_ready = True

    def late_attach(self, looks: int) -> None:
        """Attaching takes that many looks at the volume longer, and the device comes only then."""
        with self._lock:
            self._late_looks = looks

    def expire_credentials(self, after_calls: int = 0) -> None:
        """The access keys in use expire after that many further calls; other keys work."""
        self._expiry.expire(after_calls)

    @property
    def volumes_are_stuck(self) -> bool:
        """Do new volumes stay in `creating`?"""
        return self._stuck

    @property
    def instances_are_never_ready(self) -> bool:
        """Do new instances fail their checks?"""
        return self._never_ready

    @property
    def late_looks(self) -> int:
        """How many looks an attachment takes longer."""
        return self._late_looks

    def calls(self, action: str) -> list[Asked]:
        """All requests of an action, in order."""
        with self._lock:
            return [one for one in self.asked if one.action == action]

    def note(self, call: Call) -> None:
        """Remember the request as it came."""
        with self._lock:
            given = copy.deepcopy(call.params)
            self.asked.append(Asked(call.service, call.action, call.region, given))

    def check_credentials(self, call: Call) -> None:
        """Raise Refusal when the caller's have expired."""
        if call.service not in EXPIRED:
            return
        if self._expiry.counted(call.access_key):
            code, message, status = EXPIRED[call.service]
            raise Refusal(code, message, status=status)

    def check_refusals(self, call: Call) -> None:
        """Raise Refusal when one is due for this call."""
        with self._lock:
            for one in self._refusals:
                if one.times > 0 and one.action in {"*", call.action} and _holds(call, one.where):
                    one.times -= 1
                    raise Refusal(one.code, one.message, status=one.status)


def _holds(call: Call, where: dict[str, Any]) -> bool:
    return all(value in list(_values(call, name)) for name, value in where.items())


def _values(call: Call, name: str) -> Iterator[Any]:
    if name != "zone":
        yield call.params.get(name)
        return
    yield launch_zone(call)


def launch_zone(call: Call) -> str | None:
    """The zone that a RunInstances or CreateVolume names, by itself or by its subnet."""
    params = call.params
    interfaces = params.get("NetworkInterfaces") or [{}]
    subnet = params.get("SubnetId") or interfaces[0].get("SubnetId")
    if subnet:
        found = call.ec2.get_subnet(subnet)
        return str(found.availability_zone)
    placed = params.get("Placement", {}).get("AvailabilityZone")
    return placed or params.get("AvailabilityZone")
