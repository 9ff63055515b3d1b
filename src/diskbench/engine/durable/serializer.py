"""What DBOS writes down is JSON, so that no checkpoint depends on a class's import path."""

import json

from dbos import Serializer


class JsonSerializer(Serializer):
    """JSON in and out; an exception, which JSON cannot hold, is written as its text."""

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
    raise TypeError(f"{type(value).__name__} cannot cross a checkpoint: pass plain JSON")
