"""What every noun shares: frozen, closed against unknown fields, and plain JSON."""

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
