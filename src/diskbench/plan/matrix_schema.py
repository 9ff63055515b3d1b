"""The JSON schema of a matrix file, for editors: pure.

It is pydantic's schema of `Matrix`, with names that the model cannot know (of providers, profiles
and disks), and with axes as they are written rather than as they are stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from diskbench.model.matrix import MAPPING_FIELDS
from diskbench.plan.matrix_model import cell_model, matrix_model

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SCHEMA_ID = "https://json-schema.org/draft/2020-12/schema"
_FIELDS = {"$ref": "#/$defs/CellFields"}


def matrix_schema(known: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the schema. `known` lists field values that an editor should propose. Other values
    stay allowed: profiles may be paths, and a provider may sell more than the catalogue lists."""
    schema = matrix_model().model_json_schema()
    fields = schema["$defs"]["CellFields"]["properties"]
    for name, values in known.items():
        fields[name] = {
            "anyOf": [{"enum": list(values)}, {"type": "string"}],
            "description": fields[name]["description"],
        }
    schema = _plain(schema)
    fields = schema["$defs"]["CellFields"]["properties"]
    axes = schema["properties"]["axes"]
    schema["properties"]["axes"] = {
        "type": "object",
        "description": axes["description"],
        "properties": {name: _axis(name, fields[name]) for name in cell_model().model_fields},
        "additionalProperties": {"type": "array", "minItems": 1, "items": _FIELDS},
    }
    return {"$schema": SCHEMA_ID, **schema}


def _axis(name: str, field: dict[str, Any]) -> dict[str, Any]:
    about = f"Values of {name}, or mappings of several fields."
    several = [_FIELDS, field] if name in MAPPING_FIELDS else [field, _FIELDS]
    return {"type": "array", "minItems": 1, "items": {"anyOf": several}, "description": about}


def _plain(node: Any) -> Any:  # noqa: ANN401 - JSON
    """Return a schema node without the null type of optional fields and pydantic's titles."""
    if isinstance(node, list):
        return [_plain(item) for item in node]
    if not isinstance(node, dict):
        return node
    plain = {
        key: _plain(value)
        for key, value in node.items()
        if not (key == "title" and isinstance(value, str))
        and not (key == "default" and value is None)
    }
    kinds = plain.get("anyOf")
    if isinstance(kinds, list) and {"type": "null"} in kinds:
        kinds = [kind for kind in kinds if kind != {"type": "null"}]
        del plain["anyOf"]
        plain = {**kinds[0], **plain} if len(kinds) == 1 else {**plain, "anyOf": kinds}
    return plain
