"""Every answer of EC2 against the service model that botocore ships: elements that the model does
not have, values outside an enumeration, numbers and booleans that are none.

A client drops what its model does not know, so that a wrong answer would go unnoticed. `DIFFERS`
names what moto writes and EC2's model does not have; nothing else may differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree as ET

from emulators.aws.call import Answer, Call
from emulators.aws.cloud import Cloud
from emulators.aws.service_model import model

DIFFERS = {
    "requestId": "in every answer, and in no output shape",
    "imagesSet.platform": "EC2 writes `windows`, the model has `Windows`",
    "instanceTypeSet.processorInfo.supportedFeatures": "moto's copy of EC2's answer is newer",
}
"""What the model does not have, by its path without list positions, and why it stays."""


def check(cloud: Cloud, call: Call, answer: Answer) -> None:
    """Note a difference as a fault of the emulator."""
    if call.service == "ec2" and answer[0] < 300:
        for difference in differences(call.action, answer[2]):
            cloud.failed(AssertionError(f"the answer to {call.action}: {difference}"))


def differences(action: str, body: str | bytes) -> list[str]:
    """What an answer has that the model of its action does not allow."""
    shape = model("ec2").operation_model(action).output_shape
    root = ET.fromstring(body)  # noqa: S314 - the emulator's own text
    return [] if shape is None else list(_structure(shape, root, ""))


def _structure(shape: Any, element: ET.Element, path: str) -> Iterator[str]:
    members = {m.serialization.get("name", name): m for name, m in shape.members.items()}
    for child in element:
        name = child.tag.rpartition("}")[2]
        where = f"{path}.{name}".lstrip(".")
        if where in DIFFERS:
            continue
        if name not in members:
            yield f"{where} is not in the model"
            continue
        yield from _value(members[name], child, where)


def _value(shape: Any, element: ET.Element, path: str) -> Iterator[str]:
    text = (element.text or "").strip()
    if shape.type_name == "structure":
        yield from _structure(shape, element, path)
    elif shape.type_name == "list":
        for item in element:
            yield from _value(shape.member, item, path)
    elif shape.type_name == "boolean" and text not in {"true", "false"}:
        yield f"{path} is {text!r}, no boolean"
    elif shape.type_name in {"integer", "long"} and not text.lstrip("-").isdigit():
        yield f"{path} is {text!r}, no number"
    elif shape.type_name == "string" and shape.enum and text not in shape.enum:
        yield f"{path} is {text!r}, not one of {', '.join(shape.enum[:5])} …"
