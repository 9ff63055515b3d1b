"""One request to the emulated AWS, and how it is answered or refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from moto.core.exceptions import ServiceException
from moto.core.responses import ActionResult

if TYPE_CHECKING:
    from moto.core.responses import BaseResponse

Answer = tuple[int, dict[str, Any], Any]
"""HTTP status, headers, body."""


@dataclass(frozen=True)
class Call:
    """A request as the service model of botocore reads it. `params` may be changed by a hook before
    moto sees them."""

    service: str
    action: str
    region: str
    access_key: str
    params: dict[str, Any]
    response: BaseResponse

    @property
    def ec2(self) -> Any:
        """moto's EC2 of this account and region."""
        from moto.ec2.models import ec2_backends

        return ec2_backends[self.response.current_account][self.region]

    @property
    def dry(self) -> bool:
        """Is it only asked whether it would be allowed?"""
        return bool(self.params.get("DryRun"))

    def answer(self, result: object) -> Answer:
        """`result` in the form that the action's output has."""
        return self.response.serialized(ActionResult(result))


Proceed = Callable[[], Answer]
"""The rest of the way: the hooks that follow, and moto at the end."""


class Refusal(ServiceException):
    """An error as AWS answers it: code, message and HTTP status."""

    def __init__(self, code: str, message: str, *, status: int = 400) -> None:
        super().__init__(code, message)
        self.status = status


_WRITTEN: dict[str, Callable[[str, str], str]] = {
    "kms": lambda code, message: json.dumps({"__type": code, "message": message}),
    "ssm": lambda code, message: json.dumps({"__type": code, "message": message}),
    "sts": lambda code, message: (
        f"<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code>"
        f"<Message>{message}</Message></Error></ErrorResponse>"
    ),
}


def refused(call: Call, error: ServiceException) -> Answer:
    """The answer that carries `error`."""
    if call.service in _WRITTEN and isinstance(error, Refusal):
        # moto writes only such errors as the service's own model names, and EC2's names none.
        body = _WRITTEN[call.service](error.code, error.message)
        return error.status, {"status": str(error.status)}, body
    status, headers, body = call.answer(error)
    status = getattr(error, "status", status)
    headers["status"] = str(status)
    return status, headers, body
