"""What DBOS writes down is JSON, so that no checkpoint depends on a class's import path."""

import json
from datetime import datetime

from dbos import Serializer


class JsonSerializer(Serializer):
    """JSON in and out; what JSON cannot hold is written as text: exceptions, and the moment that
    DBOS tells a workflow it was scheduled for (ISO 8601 with its offset)."""

    def serialize(self, data: object) -> str:
        """`data` as JSON."""
        return json.dumps(data, default=_as_text, separators=(",", ":"))

    def deserialize(cls, serialized_data: str) -> object:  # noqa: N805 - DBOS names it so
        """What was written."""
        return json.loads(serialized_data)

    def name(self) -> str:
        """The name DBOS keeps beside each value."""
        return "diskbench_json"


def _as_text(value: object) -> object:
    if isinstance(value, BaseException):
        return {"error": type(value).__name__, "text": str(value)}
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} cannot cross a checkpoint: pass plain JSON")
