"""Translation of AWS's errors to diskbench's: by the service's error code, else by the SDK's class.

Codes, sentences and advice are in errors.yaml.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from diskbench.errors import DiskbenchError, UnknownName
from diskbench.providers.error_table import error_of, error_tables, refusals

refused = refusals("diskbench.providers.aws")
_TABLES = error_tables("diskbench.providers.aws")
TABLE, _STATES, _SDK = _TABLES["service"], _TABLES["state"], _TABLES["sdk"]
NO_SPOT_ROLE = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"
_NAMED = r"not authorized to perform: [a-z0-9-]+:[A-Za-z]+"

_ENCODED = re.compile(r"(?P<before>.*)Encoded authorization failure message: (?P<text>\S+)", re.S)
_STATE_CODE = re.compile(r"((?:Client|Server)\.[\w.]*\w)(?=:|$)")
_DECODED_ACTION = re.compile(r'"action"\s*:\s*"([a-z0-9-]+:[A-Za-z]+)"')


def error_code(error: BaseException | None) -> str:
    """AWS's code of an error, diskbench's or the SDK's; "" where it has none."""
    while error is not None:
        response = getattr(error, "response", None)
        if isinstance(response, dict):
            return str(response.get("Error", {}).get("Code", ""))
        error = error.__cause__
    return ""


REGION_OFF = frozenset({"AuthFailure", "InvalidClientTokenId", "UnrecognizedClientException"})
"""Codes for credentials that a region does not know: wrong ones, or of an account that has not
enabled the region."""


def is_missing(error: BaseException) -> bool:
    """Whether AWS reports that the resource does not exist, or no longer exists."""
    code = error_code(error)
    gone = code in {"ParameterNotFound", "InvalidAMIID.Unavailable"}  # a deregistered image
    return gone or code.endswith((".NotFound", "NotFoundException"))


def translate(
    error: Exception,
    action: str,
    *,
    profile: str | None = None,
    decode: Callable[[str], str | None] | None = None,
) -> DiskbenchError:
    """The diskbench error for an error of boto; `action` is the IAM name of the call
    (`ec2:RunInstances`).

    `decode` decodes EC2's encoded authorization messages, and may fail. An exception of botocore
    that reports a programming error is returned unchanged.
    """
    from botocore import exceptions as sdk
    from botocore.parsers import ResponseParserError
    from botocore.session import get_session

    if isinstance(error, sdk.ClientError):
        details = error.response.get("Error", {})
        code = str(details.get("Code", ""))
        message = str(details.get("Message", "")) or "no reason given"
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        return of_code(code, message, action, status=int(status), profile=profile, decode=decode)
    if isinstance(error, sdk.ProfileNotFound):
        # `profile` is None where AWS_PROFILE sets it.
        known = tuple(get_session().available_profiles)
        return UnknownName("AWS profile", str(error.kwargs["profile"]), known)
    if isinstance(error, sdk.NoRegionError):
        return refused("no region")
    if not isinstance(error, ResponseParserError | sdk.BotoCoreError):
        raise error
    classes = tuple(kind.__name__ for kind in type(error).__mro__)
    return error_of(_SDK, classes, str(error), action, more={"flag": _flag(profile)})


def of_code(
    code: str,
    text: str,
    action: str,
    *,
    status: int = 0,
    profile: str | None = None,
    decode: Callable[[str], str | None] | None = None,
) -> DiskbenchError:
    """The diskbench error for an AWS code, from an answer or from a state's reason."""
    encoded = _ENCODED.match(text)
    if encoded is not None:
        before = encoded["before"].strip()
        text = before + _decoded(decode(encoded["text"]) if decode else None, before)
    return error_of(TABLE, (code,), text, action, status, {"flag": _flag(profile)})


def _decoded(opened: str | None, before: str) -> str:
    """What a decoded message tells beyond `before`: the action, that a policy denies it explicitly,
    and on which keys that depends. The keys of the request itself stand elsewhere in it."""
    action_match = None if re.search(_NAMED, before) else _DECODED_ACTION.search(opened or "")
    words = f" (not authorized to perform: {action_match[1]})" if action_match else ""
    try:
        document = json.loads(opened or "{}")
        if document.get("explicitDeny") and "explicit deny" not in before:
            words += " (an explicit deny)"
        keys = [
            str(condition["key"])
            for statement in document["matchedStatements"]["items"]
            if document.get("explicitDeny")
            for condition in statement["conditions"]["items"]
        ]
    except (ValueError, TypeError, KeyError):
        return words
    return f"{words} (the policy depends on {', '.join(keys)})" if keys else words


def of_state(instance: Mapping[str, Any], why: str) -> DiskbenchError:
    """The error for an instance that ended, by the code of its state's reason; `why` is EC2's
    text."""
    reason = instance.get("StateReason") or {}
    # Live accounts reported "Server.InternalError" with the message "Client.InternalError: Client
    # error on launch" (aws/karpenter-provider-aws issue 1407, 2022): the message decides.
    code_match = _STATE_CODE.match(str(reason.get("Message") or ""))
    code = code_match[1] if code_match else str(reason.get("Code") or "")
    more = {"what": f"instance {instance['InstanceId']}", "state": instance["State"]["Name"]}
    return error_of(_STATES, (code,), why, "ec2:RunInstances", more={**more, "told": why})


def _flag(profile: str | None) -> str:
    """The option that gives the AWS command line the profile."""
    return f" --profile {profile}" if profile else ""
