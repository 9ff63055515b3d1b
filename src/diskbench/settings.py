"""Settings: flag > DISKBENCH_* > ./diskbench.toml > the user's config.toml > default.

Read with the standard library rather than pydantic-settings, whose import alone takes 0.2 s at each
start and which does not report the origin of a value. Credentials of clouds are never settings of
diskbench: each SDK has its own chain.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr, ValidationError, field_validator

from diskbench.errors import InvalidValue
from diskbench.model.base import Frozen
from diskbench.model.value_fault import value_fault
from diskbench.settings_sources import typed_settings
from diskbench.store.urls import printable
from diskbench.visible import one_line


class Settings(Frozen):
    """What diskbench needs to know beyond a command's own flags.

    `database_url` may hold a password and is therefore typed as a secret. `owner` is a tag on
    every rented resource. `secret_file` holds the key that host and user keys derive from.
    """

    database_url: SecretStr = Field(description="rows and workflows: sqlite:///… or postgresql://…")
    evidence_url: str = Field(description="raw files: file:///…, s3://…, gs://… or az://…")
    log_format: Literal["human", "json"] = Field(description="how events are written to stderr")
    owner: str = Field(
        min_length=1, max_length=63, description="who rents: a tag on every resource"
    )
    secret_file: Path = Field(description="the secret that SSH keys derive from, shared by workers")

    @field_validator("owner")
    @classmethod
    def _owner_is_seen(cls, text: str) -> str:
        if one_line(text) != text:
            raise ValueError(f"{one_line(text)!r} holds control or invisible characters")
        return text

    def shown(self, name: str) -> str:
        """The value of a setting as it may be printed."""
        value = getattr(self, name)
        text = value.get_secret_value() if isinstance(value, SecretStr) else str(value)
        return printable(text) if name.endswith("_url") else text


@dataclass(frozen=True)
class Loaded:
    """The settings, the origin of each, and the unknown DISKBENCH_* variables."""

    settings: Settings
    origins: Mapping[str, str]
    unknown_variables: tuple[str, ...] = ()


def load_settings(
    flags: Mapping[str, str | None] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    directory: Path | None = None,
    user_directory: Path | None = None,
) -> Loaded:
    """The settings in force. `flags` maps setting names to what was typed (None: not typed).

    `directory` is the working directory, `user_directory` the user's config directory. Raises
    UnknownName or InvalidValue naming the file, variable or flag at fault.
    """
    sourced = typed_settings(
        flags, environ=environ, directory=directory, user_directory=user_directory
    )
    return Loaded(
        _validated(sourced.values, sourced.origins), sourced.origins, sourced.unknown_variables
    )


def _validated(values: Mapping[str, Any], origins: Mapping[str, str]) -> Settings:
    try:
        return Settings.model_validate(dict(values))
    except ValidationError as error:
        cause = error.errors()[0]
        name = str(cause["loc"][0])
        fault = value_fault(cause)
        raise InvalidValue(
            f"{name} from {origins[name]}: {fault.reason}", advice=fault.advice
        ) from None
