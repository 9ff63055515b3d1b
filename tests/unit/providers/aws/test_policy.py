"""The policy that the page shows allows what the program calls, and nothing more."""

import json
import re
from pathlib import Path

import botocore.session

import diskbench.providers.aws as package

ROOT = Path(__file__).parents[4]
SERVICES = ("ec2", "ssm", "sts")
BY_THE_WAY = {"ec2:CreateTags"}
"""Needed by the calls that make something with tags."""


def called() -> set[str]:
    """Every operation that the adapter's code names, as IAM calls it."""
    code = "\n".join(file.read_text() for file in Path(package.__path__[0]).glob("*.py"))
    words = set(re.findall(r"\b[a-z]+(?:_[a-z0-9]+)+\b", code))
    session = botocore.session.get_session()
    found = set()
    for service in SERVICES:
        for operation in session.get_service_model(service).operation_names:
            word = re.sub(r"(?<!^)(?=[A-Z])", "_", operation).lower()
            quoted = f'"{word}"' in code or f".{word}(" in code
            if word in words and quoted:
                found.add(f"{service}:{operation}")
    return found


def allowed() -> set[str]:
    (text,) = re.findall(r"```json\n(.*?)```", (ROOT / "docs/aws.md").read_text(), re.DOTALL)
    actions: set[str] = set()
    for statement in json.loads(text)["Statement"]:
        named = statement["Action"]
        actions.update([named] if isinstance(named, str) else named)
    return actions


def test_the_policy_allows_what_is_called() -> None:
    assert called() | BY_THE_WAY == allowed()
