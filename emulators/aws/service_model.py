"""Every request against the service model that botocore ships: required members, types, ranges and,
beyond what a client checks by itself, the enumerations and that nothing else was sent."""

from __future__ import annotations

from functools import cache
from typing import Any

from emulators.aws.call import Answer, Call, Proceed, Refusal
from emulators.aws.cloud import Cloud

MODELLED = {"ec2", "ssm", "sts"}


def hook(cloud: Cloud, call: Call, proceed: Proceed) -> Answer:  # noqa: ARG001 - a hook's form
    """Refuse what the model does not allow."""
    if call.service in MODELLED:
        for code, message in complaints(call.service, call.action, call.params):
            raise Refusal(code, message)
        if call.service == "ec2":
            _refuse_unread(call)
    return proceed()


def complaints(service: str, action: str, params: dict[str, Any]) -> list[tuple[str, str]]:
    """What is wrong with the parameters: error code and message each."""
    from botocore.validate import ParamValidator

    shape = model(service).operation_model(action).input_shape
    if shape is None:
        return []
    report = ParamValidator().validate(params, shape)
    found = [("ValidationError", report.generate_report())] if report.has_errors() else []
    return found + [
        (_enum_code(path), f"Value ({value}) for parameter {path} is invalid.")
        for path, value in _not_in_enums(shape, params, "")
    ]


def _enum_code(path: str) -> str:
    # Named so by "Error codes for the Amazon EC2 API".
    return "UnknownVolumeType" if path.endswith("VolumeType") else "InvalidParameterValue"


def _not_in_enums(shape: Any, value: Any, path: str) -> list[tuple[str, Any]]:
    if shape.type_name == "structure":
        return [
            wrong
            for name, member in shape.members.items()
            if name in value
            for wrong in _not_in_enums(member, value[name], f"{path}.{name}".lstrip("."))
        ]
    if shape.type_name == "list":
        return [wrong for item in value for wrong in _not_in_enums(shape.member, item, path)]
    if shape.type_name == "string" and shape.enum and value not in shape.enum:
        return [(path, value)]
    return []


def _refuse_unread(call: Call) -> None:
    """A parameter that the model does not know is dropped by whoever reads by the model; EC2 says
    UnknownParameter."""
    from botocore.serialize import create_serializer

    operation = model("ec2").operation_model(call.action)
    written = create_serializer("ec2", include_validation=False).serialize_to_request(
        call.params, operation
    )
    sent = set(call.response.data)
    unknown = sorted(sent - set(written["body"]) - {"Action", "Version"})
    # An empty list is written as its bare name, and read as none.
    unknown = [name for name in unknown if call.response.data[name] != [""]]
    if unknown:
        raise Refusal("UnknownParameter", f"The parameter {unknown[0]} is not recognized")


@cache
def model(service: str) -> Any:
    """The service model of botocore."""
    from botocore.session import get_session

    return get_session().get_service_model(service)
