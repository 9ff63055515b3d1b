"""What goes wrong on purpose, and a record of everything that was asked. Thread-safe.

Codes and HTTP statuses: EC2 API Reference, "Error codes for the Amazon EC2 API" (RequestLimit-
Exceeded and InsufficientInstanceCapacity are server errors); an expired session is RequestExpired
to EC2, ExpiredTokenException to JSON services and ExpiredToken to STS.
"""

import copy
import threading
from collections.abc import Callable
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
    """Refuse the next `times` calls of an action."""

    action: str
    code: str
    message: str
    status: int
    times: float


@dataclass
class Faults:
    """The faults in force. Each method takes effect with the next request."""

    asked: list[Asked] = field(default_factory=list)
    _refusals: list[_Refuse] = field(default_factory=list)
    _expiry: Expiry = field(default_factory=Expiry)
    _moments: dict[tuple[str, str], Callable[[], None]] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def reset(self) -> None:
        """Nothing goes wrong any more, and nothing was asked."""
        with self._lock:
            self.asked.clear()
            self._refusals.clear()
            self._expiry.reset()
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
        self, action: str, code: str, message: str, *, status: int = 400, times: float = 1
    ) -> None:
        """Refuse the next calls of `action` (`*` is any of EC2)."""
        with self._lock:
            self._refusals.append(_Refuse(action, code, message, status, times))

    def forbid(self, action: str, times: float = float("inf")) -> None:
        """The caller lacks the permission."""
        message = f"You are not authorized to perform this operation: ec2:{action}."
        self.refuse(action, "UnauthorizedOperation", message, status=403, times=times)

    def expire_credentials(self, after_calls: int = 0) -> None:
        """The access keys in use expire after that many further calls; other keys work."""
        self._expiry.expire(after_calls)

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
                if one.times > 0 and one.action in {"*", call.action}:
                    one.times -= 1
                    raise Refusal(one.code, one.message, status=one.status)
