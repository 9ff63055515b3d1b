"""What every noun shares: frozen, closed against unknown fields, and plain JSON."""

from functools import cache
from typing import TypeVar

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A value: immutable, hashable where its fields are, and refusing unknown fields."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        # A command imports 165 models and uses a part of them: a validator is made at first use.
        defer_build=True,
    )


_Value = TypeVar("_Value", bound=Frozen)


def sharing_names(value: _Value) -> _Value:
    """The same value, which shares the set of the names of its fields with all others of its kind.
    Apart, these sets are 0.7 KB a value: for what a report holds one of for each step of each run.
    """
    object.__setattr__(value, "__pydantic_fields_set__", _field_names(type(value)))
    return value


@cache
def _field_names(kind: type[Frozen]) -> set[str]:
    return set(kind.model_fields)
