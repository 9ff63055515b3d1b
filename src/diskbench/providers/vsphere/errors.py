"""Translation of vSphere's faults to diskbench's errors: by the fault's type (errors.yaml)."""

import http.client
import importlib
import re
import ssl
from itertools import compress
from typing import Any
from xml.parsers.expat import ExpatError

from diskbench.errors import DiskbenchError, Unanswered
from diskbench.providers.error_table import error_of, error_tables, refusals

refused = refusals("diskbench.providers.vsphere")
TABLE = error_tables("diskbench.providers.vsphere")["service"]
"""Errors by the name of a fault's type in VMware's API."""

NO_ANSWER = (OSError, http.client.HTTPException, ExpatError)
"""Exceptions for a missing answer, or one that is not vSphere's, such as a proxy's page."""


def fault_name(error: BaseException | None) -> str:
    """vSphere's name of an error, diskbench's or the SDK's (`NoDiskSpace`); "" for none."""
    while error is not None:
        if isinstance(error, vmodl.MethodFault):
            return str(type(error)._wsdlName)  # noqa: SLF001 - its name in VMware's API
        error = error.__cause__
    return ""


def is_missing(error: BaseException) -> bool:
    """Whether vSphere reports that the resource does not exist, or no longer exists."""
    return fault_name(error) == "ManagedObjectNotFound"


def translate(error: Exception, action: str) -> DiskbenchError:
    """The diskbench error for an exception of pyVmomi at `action` (`VirtualMachine.Clone`).
    Programming errors and diskbench's own errors are raised unchanged."""
    if isinstance(error, vmodl.MethodFault):
        return of_fault(error, action)
    if isinstance(error, ssl.SSLCertVerificationError):
        return refused("certificate not trusted", error=error)
    if isinstance(error, ssl.SSLError):
        return refused("no TLS", error=error)
    if isinstance(error, NO_ANSWER):
        why = f"it is not vSphere's, {error}" if isinstance(error, ExpatError) else error
        return Unanswered(
            f"no answer to {action}: {why or type(error).__name__}",
            look_at="check the network and --endpoint-url",
        )
    raise error


def of_fault(fault: Any, action: str) -> DiskbenchError:  # noqa: ANN401 - pyVmomi's types are made at run time
    """The diskbench error for a fault of a call or a task."""
    more = {
        "privilege": str(getattr(fault, "privilegeId", None) or action),
        "datastore": str(getattr(fault, "datastore", None) or ""),
    }
    name, message = fault_name(fault), _message_of(fault)
    # The closest kind that it is one of, since a server may answer with one that the table lacks.
    kinds = [str(getattr(kind, "_wsdlName", "")) for kind in type(fault).__mro__]
    patterns = [pattern for row in TABLE for pattern in row.codes]
    is_known = (any(re.fullmatch(pattern, kind) for pattern in patterns) for kind in kinds)
    known = next(compress(kinds, is_known), name)
    more["told"] = f"{message} ({name})"
    return error_of(TABLE, (known,), message, action, more=more)


def _message_of(fault: Any) -> str:  # noqa: ANN401 - as above
    more = [message.message for message in getattr(fault, "faultMessage", None) or ()]
    texts = [getattr(fault, "msg", None), *more]
    words = [" ".join(str(text).split()) for text in texts if text]
    argument = getattr(fault, "invalidProperty", None) or getattr(fault, "property", None)
    if argument:
        words.append(f"at {argument}")
    return "; ".join(dict.fromkeys(words)) or "no reason given"


def sdk(name: str, module: str = "pyVmomi") -> Any:  # noqa: ANN401 - see above
    """`vim`, `vmodl`, `pbm` or another name of the SDK; raises ImportError without it."""
    return getattr(importlib.import_module(module), name)


class _Lazily:
    """A namespace of the SDK, which is imported when something of it is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - see above
        return getattr(sdk(self._name), name)


pbm, vim, vmodl = _Lazily("pbm"), _Lazily("vim"), _Lazily("vmodl")
