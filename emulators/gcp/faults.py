"""What goes wrong on purpose, and a record of everything that was asked. Thread-safe.

Reasons and statuses: Compute Engine, "Troubleshooting resource availability" and "API rate
limits" (403 rateLimitExceeded); stockouts in both wordings that users report
(github.com/google/syzkaller/pull/4385).
"""

import copy
import threading
from dataclasses import dataclass, field, replace
from typing import Any

from emulators.expiry import Expiry
from emulators.gcp.call import Call, Failure, Refusal

VERBS = {"insert": "create", "aggregatedList": "list"}
"""Where a permission is not named as its method is."""


@dataclass(frozen=True)
class Asked:
    """One request that came in, whatever became of it."""

    method: str
    path: dict[str, str]
    query: dict[str, str]
    body: dict[str, Any]


@dataclass
class _Due:
    """What the next `times` calls of a method meet whose parameters and body hold `where`."""

    method: str
    error: Refusal | Failure
    times: float
    where: dict[str, Any]


@dataclass
class Faults:
    """The faults in force. Each method takes effect with the next request."""

    asked: list[Asked] = field(default_factory=list)
    quotas: dict[str, float] = field(default_factory=dict)
    """Metric → limit, where it is not the usual one."""
    never_up: bool = False
    """Machines made from now on run, and answer no SSH."""
    _due: list[_Due] = field(default_factory=list)
    _lost: dict[str, float] = field(default_factory=dict)
    _slow: dict[str, float] = field(default_factory=dict)
    _expiry: Expiry = field(default_factory=Expiry)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def reset(self) -> None:
        """Nothing goes wrong any more, and nothing was asked."""
        with self._lock:
            for one in (self.asked, self.quotas, self._due, self._lost, self._slow):
                one.clear()
            self._expiry.reset()
            self.never_up = False

    def refuse(
        self,
        method: str,
        reason: str,
        message: str,
        *,
        status: int = 400,
        times: float = 1,
        **where: Any,
    ) -> None:
        """Refuse the next calls of `method` (`*` is any) that have these values."""
        with self._lock:
            self._due.append(_Due(method, Refusal(status, reason, message), times, where))

    def fail(
        self,
        method: str,
        code: str,
        message: str,
        *,
        status: int = 400,
        status_message: str = "BAD REQUEST",
        times: float = 1,
        **where: Any,
    ) -> None:
        """The operations of the next such calls end with that error. `{project}` and `{zone}` in
        the message are the call's."""
        with self._lock:
            failure = Failure(code, message, status, status_message)
            self._due.append(_Due(method, failure, times, where))

    def stockout(
        self,
        *,
        zone: str | None = None,
        machine_type: str | None = None,
        times: float = 1,
        details: bool = False,
    ) -> None:
        """No machine of that type in that zone; None is any. Told inside the operation."""
        where = {"zone": zone, "machineType": machine_type}
        message = (
            "The zone 'projects/{project}/zones/{zone}' does not have enough resources available "
            "to fulfill the request.  "
        )
        hint = (
            "'(resource type:compute)'." if details else "Try a different zone, or try again later."
        )
        self.fail(
            "instances.insert",
            "ZONE_RESOURCE_POOL_EXHAUSTED" + ("_WITH_DETAILS" if details else ""),
            message + hint,
            status=503,
            status_message="SERVICE UNAVAILABLE",
            times=times,
            **{key: value for key, value in where.items() if value is not None},
        )

    def quota(self, metric: str, limit: float) -> None:
        """A region's quota is that from now on; what is rented counts."""
        with self._lock:
            self.quotas[metric] = limit

    def throttle(self, method: str = "*", times: float = 1) -> None:
        """Too many requests, the next `times` times."""
        message = "Quota exceeded for quota metric 'Queries' and limit 'Queries per minute'"
        self.refuse(method, "rateLimitExceeded", message, status=403, times=times)

    def unavailable(self, method: str = "*", times: float = 1) -> None:
        """The service is not there, the next `times` times."""
        message = "Service is currently unavailable."
        self.refuse(method, "backendError", message, status=503, times=times)

    def forbid(self, method: str, times: float = float("inf")) -> None:
        """The caller lacks the permission."""
        kind, _, verb = method.rpartition(".")
        message = f"Required 'compute.{kind}.{VERBS.get(verb, verb)}' permission for the resource"
        self.refuse(method, "forbidden", message, status=403, times=times)

    def forbidden(self) -> list[str]:
        """The permissions that callers lack now."""
        with self._lock:
            due = [one for one in self._due if one.times > 0 and isinstance(one.error, Refusal)]
        methods = [one.method for one in due if one.error.reason == "forbidden"]  # type: ignore[union-attr]
        pairs = [method.rpartition(".") for method in methods]
        return [f"compute.{kind}.{VERBS.get(verb, verb)}" for kind, _, verb in pairs]

    def stuck(self, method: str) -> None:
        """Operations that such calls start never end."""
        self.slow(method, float("inf"))

    def slow(self, method: str, looks: float) -> None:
        """Operations that such calls start take that many looks longer."""
        with self._lock:
            self._slow[method] = looks

    def lose_answer(self, method: str, times: float = 1) -> None:
        """What is asked is done, and the connection breaks before the answer."""
        with self._lock:
            self._lost[method] = times

    def expire_credentials(self, after_calls: int = 0) -> None:
        """The credentials in use expire after that many further calls; others work."""
        self._expiry.expire(after_calls)

    def calls(self, method: str) -> list[Asked]:
        """All requests of a method, in order."""
        with self._lock:
            return [one for one in self.asked if one.method == method]

    def note(self, call: Call) -> None:
        """Remember the request as it came."""
        with self._lock:
            self.asked.append(
                Asked(call.method, call.path, dict(call.query), copy.deepcopy(call.body))
            )

    def check_credentials(self, caller: str) -> None:
        """Raise Refusal when the caller's have expired."""
        if self._expiry.counted(caller):
            raise Refusal(
                401,
                "authError",
                "Request had invalid authentication credentials. Expected OAuth 2 access "
                "token, login cookie or other valid authentication credential.",
            )

    def check_refusals(self, call: Call) -> None:
        """Raise Refusal when one is due for this call."""
        error = self._take(call, Refusal)
        if isinstance(error, Refusal):
            raise error

    def failure(self, call: Call) -> Failure | None:
        """How the operation of this call is to end, where that was said."""
        error = self._take(call, Failure)
        if not isinstance(error, Failure):
            return None
        message = error.message.replace("{project}", call.project)
        return replace(error, message=message.replace("{zone}", call.path.get("zone", "")))

    def looks_more(self, method: str) -> float:
        """How many looks an operation of this method takes longer."""
        return self._slow.get(method, 0)

    def loses_answer(self, method: str) -> bool:
        """Is this answer to be lost?"""
        with self._lock:
            if self._lost.get(method, 0) <= 0:
                return False
            self._lost[method] -= 1
            return True

    def _take(self, call: Call, kind: type) -> Refusal | Failure | None:
        with self._lock:
            for one in self._due:
                if (
                    isinstance(one.error, kind)
                    and one.times > 0
                    and one.method in {"*", call.method}
                    and _holds(call, one.where)
                ):
                    one.times -= 1
                    return one.error
        return None


def _holds(call: Call, where: dict[str, Any]) -> bool:
    given = call.body | call.query | call.path
    return all(str(given.get(key, "")).rpartition("/")[2] == value for key, value in where.items())
