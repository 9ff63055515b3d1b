"""Google's description of the Compute API: which methods there are, and what each takes and gives.

The document is the one inside google-api-python-client (compute.v1.json).
"""

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote


@dataclass(frozen=True)
class Method:
    """One method: its name (`instances.insert`), its parameters and its schemas by name."""

    name: str
    verb: str
    pattern: re.Pattern[str]
    parameters: dict[str, dict[str, Any]]
    request: str | None
    response: str | None


@cache
def document() -> dict[str, Any]:
    """The document as it is."""
    import googleapiclient  # type: ignore[import-untyped]

    base = Path(googleapiclient.__file__).parent / "discovery_cache" / "documents"
    found: dict[str, Any] = json.loads((base / "compute.v1.json").read_text("utf-8"))
    return found


def schemas() -> dict[str, Any]:
    """All schemas by name."""
    found: dict[str, Any] = document()["schemas"]
    return found


def common_parameters() -> dict[str, dict[str, Any]]:
    """The query parameters that every method takes."""
    found: dict[str, dict[str, Any]] = document()["parameters"]
    return found


@cache
def methods() -> dict[tuple[str, int], tuple[Method, ...]]:
    """All methods by HTTP verb and number of parts of the path."""
    found: dict[tuple[str, int], tuple[Method, ...]] = {}
    for name, said in _walk(document()["resources"], ""):
        path = document()["servicePath"] + said.get("flatPath", said["path"])
        method = Method(
            name=name,
            verb=said["httpMethod"],
            pattern=re.compile("/" + re.sub(r"\{\+?(\w+)\}", r"(?P<\1>[^/]+)", path)),
            parameters=said.get("parameters", {}),
            request=said.get("request", {}).get("$ref"),
            response=said.get("response", {}).get("$ref"),
        )
        key = (method.verb, path.count("/") + 1)
        found[key] = (*found.get(key, ()), method)
    return found


def match(verb: str, path: str) -> tuple[Method, dict[str, str]] | None:
    """The method that a request is for, and the parameters in its path."""
    for method in methods().get((verb, path.count("/")), ()):
        if found := method.pattern.fullmatch(path):
            return method, {key: unquote(value) for key, value in found.groupdict().items()}
    return None


def _walk(resources: dict[str, Any], above: str) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for name, resource in resources.items():
        full = f"{above}{name}."
        found += [(full + key, said) for key, said in resource.get("methods", {}).items()]
        found += _walk(resource.get("resources", {}), full)
    return found
