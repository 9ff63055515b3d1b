"""A JSON serializer for DBOS, so that no checkpoint depends on a class's import path."""

import json
from datetime import datetime

from dbos import Serializer
from pydantic import BaseModel


class JsonSerializer(Serializer):
    """Serializes to JSON. Models are written as their documents, which the reader validates;
    exceptions as type and text, the scheduled time that DBOS passes to a workflow as ISO 8601 with
    its offset."""

    def serialize(self, data: object) -> str:
        """`data` as JSON."""
        return json.dumps(data, default=_as_document, separators=(",", ":"))

    def deserialize(cls, serialized_data: str) -> object:  # noqa: N805 - DBOS names it so
        """The value that `serialize` wrote."""
        return json.loads(serialized_data)

    def name(self) -> str:
        """The name that DBOS stores with each value."""
        return "diskbench_json"


def _as_document(value: object) -> object:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, BaseException):
        return {"error": type(value).__name__, "text": str(value)}
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} cannot cross a checkpoint: pass plain JSON")
