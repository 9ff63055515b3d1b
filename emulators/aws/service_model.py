"""Every request and every answer of EC2 against the service model that botocore ships.

Of a request: required members, types, ranges and, beyond what a client checks by itself, the
enumerations and that nothing else was sent. Of an answer: elements that the model does not have,
values outside an enumeration, numbers and booleans that are none. A client drops what its model
does not know, so that a wrong answer would go unnoticed.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any
from xml.etree import ElementTree as ET

from emulators.aws.call import Answer, Call, Proceed, Refusal
from emulators.aws.cloud import Cloud

MODELLED = {"ec2", "ssm", "sts"}
DIFFERS = {
    "requestId": "in every answer, and in no output shape",
    "imagesSet.platform": "EC2 writes `windows`, the model has `Windows`",
    "instanceTypeSet.processorInfo.supportedFeatures": "moto's copy of EC2's answer is newer",
}
"""What moto writes and EC2's model does not have, by its path without list positions, and why it
stays; nothing else may differ."""


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


def check_answer(cloud: Cloud, call: Call, answer: Answer) -> None:
    """Note a difference as a fault of the emulator."""
    if call.service == "ec2" and answer[0] < 300:
        for difference in differences(call.action, answer[2]):
            cloud.failed(AssertionError(f"the answer to {call.action}: {difference}"))


def differences(action: str, body: str | bytes) -> list[str]:
    """What an answer has that the model of its action does not allow."""
    shape = model("ec2").operation_model(action).output_shape
    root = ET.fromstring(body)  # noqa: S314 - the emulator's own text
    return [] if shape is None else list(_beyond(shape, root, ""))


def _beyond(shape: Any, element: ET.Element, path: str) -> Iterator[str]:
    members = {m.serialization.get("name", name): m for name, m in shape.members.items()}
    for child in element:
        name = child.tag.rpartition("}")[2]
        where = f"{path}.{name}".lstrip(".")
        if where in DIFFERS:
            continue
        if name not in members:
            yield f"{where} is not in the model"
            continue
        yield from _wrong(members[name], child, where)


def _wrong(shape: Any, element: ET.Element, path: str) -> Iterator[str]:
    text = (element.text or "").strip()
    if shape.type_name == "structure":
        yield from _beyond(shape, element, path)
    elif shape.type_name == "list":
        for item in element:
            yield from _wrong(shape.member, item, path)
    elif shape.type_name == "boolean" and text not in {"true", "false"}:
        yield f"{path} is {text!r}, no boolean"
    elif shape.type_name in {"integer", "long"} and not text.lstrip("-").isdigit():
        yield f"{path} is {text!r}, no number"
    elif shape.type_name == "string" and shape.enum and text not in shape.enum:
        yield f"{path} is {text!r}, not one of {', '.join(shape.enum[:5])} …"


@cache
def model(service: str) -> Any:
    """The service model of botocore."""
    from botocore.session import get_session

    return get_session().get_service_model(service)
