"""Settings, and where they come from: flag > DISKBENCH_* > ./diskbench.toml > the user's
config.toml > default.

Read with the standard library rather than pydantic-settings, whose import alone takes 0.2 s at each
start and which does not report the origin of a value. Credentials of clouds are never settings of
diskbench: each SDK has its own chain.
"""

import getpass
import os
import socket
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from platformdirs import user_config_path, user_data_path
from pydantic import Field, SecretStr, ValidationError, field_validator

from diskbench.errors import InvalidValue, check_known
from diskbench.files import read_text
from diskbench.limits import SETTINGS_BYTES
from diskbench.model.base import Frozen
from diskbench.model.value_fault import value_fault
from diskbench.store.urls import database_url, evidence_url, printable
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
    tags: tuple[tuple[str, str], ...] = Field(
        description="tags of your own on everything that is rented, like --tag: env=test,team=db"
    )

    @field_validator("owner")
    @classmethod
    def _owner_is_seen(cls, text: str) -> str:
        if one_line(text) != text:
            raise ValueError(f"{one_line(text)!r} holds control or invisible characters")
        return text

    @field_validator("tags", mode="before")
    @classmethod
    def _pairs(cls, value: object) -> object:
        """The pairs of `env=test,team=db`, or of a table in a file."""
        if isinstance(value, dict):
            pairs = [f"{key}={text}" for key, text in value.items()]
        elif isinstance(value, str):
            pairs = [pair for pair in value.split(",") if pair.strip()]
        else:
            return value
        if not pairs:
            return ()
        from diskbench.plan.rent_options import key_values  # with the catalogue: for tags alone

        try:
            return key_values("tag", pairs)
        except InvalidValue as error:
            raise ValueError(error.message) from None

    def shown(self, name: str) -> str:
        """The value of a setting as it may be printed."""
        value = getattr(self, name)
        if name == "tags":
            return ",".join(f"{key}={text}" for key, text in self.tags)
        text = value.get_secret_value() if isinstance(value, SecretStr) else str(value)
        return printable(text) if name.endswith("_url") else text


PREFIX = "DISKBENCH_"
FILE_NAME = "diskbench.toml"
USER_FILE_NAME = "config.toml"
_NO_SETTINGS = {
    f"{PREFIX}{name}"
    for name in ("DEBUG", "SSH_CONFIG", "LAB_DIR", "FAKE_DIR", "SECRET", "NOTIFY_URL")
}
"""Variables of diskbench that are no settings; the code that needs them reads them."""
NAMES = tuple(Settings.model_fields)
DEFAULT = "default"
"""The origin of a value that was not set."""
_Value = tuple[str, Any, str]


def load_settings(flags: Mapping[str, str | None] | None = None) -> Settings:
    """The settings in force, as `traced_settings` finds them."""
    return traced_settings(flags)[0]


def traced_settings(
    flags: Mapping[str, str | None] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    directory: Path | None = None,
    user_directory: Path | None = None,
) -> tuple[Settings, Mapping[str, str], list[str]]:
    """The settings in force, the origin of each, and the unknown DISKBENCH_* variables. `flags`
    maps setting names to what was typed (None: not typed).

    `directory` is the working directory, `user_directory` the user's config directory. Raises
    UnknownName or InvalidValue naming the file, variable or flag at fault.
    """
    environ = os.environ if environ is None else environ
    typed = [(name, value, f"--{name.replace('_', '-')}") for name, value in (flags or {}).items()]
    variables = {name: f"{PREFIX}{name.upper()}" for name in NAMES}
    sources = [
        *(source for source in typed if source[1] is not None),
        *((name, environ[of], of) for name, of in variables.items() if environ.get(of)),
        *_file((directory or Path()) / FILE_NAME),
        *_file((user_directory or user_config_path("diskbench")) / USER_FILE_NAME),
        *_defaults(),
    ]
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for name, value, origin in sources:
        if name not in values:
            values[name], origins[name] = value, origin
    for name, read in (("database_url", database_url), ("evidence_url", evidence_url)):
        values[name] = _read(values[name], read, f"{name} from {origins[name]}")
    known = {*variables.values(), *_NO_SETTINGS}
    unknown = sorted(name for name in environ if name.startswith(PREFIX) and name not in known)
    try:
        return Settings.model_validate(values), origins, unknown
    except ValidationError as error:
        cause = error.errors()[0]
        name, (reason, advice) = str(cause["loc"][0]), value_fault(cause)
        wrong = f"{name} from {origins[name]}: {reason}"
        raise InvalidValue(wrong, advice=advice) from None


def _read(value: object, read: Callable[[str], str], origin: str) -> object:
    """The normalised URL. A value that is no text is left to the validation of all settings."""
    if not isinstance(value, str):
        return value
    try:
        return read(value)
    except InvalidValue as error:
        raise InvalidValue(f"{origin}: {error.message}", advice=error.advice) from None


def _file(path: Path) -> list[_Value]:
    try:
        text = read_text(path, SETTINGS_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise InvalidValue(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise InvalidValue(f"{path} is not valid TOML: {error}") from error
    try:
        table = tomllib.loads(text)
    except RecursionError:
        raise InvalidValue(f"{path} is not readable TOML: nested too deeply") from None
    except ValueError as error:  # of TOML, and of numbers with thousands of digits
        raise InvalidValue(f"{path} is not valid TOML: {error}") from error
    for name in table:
        check_known(f"setting in {path}:", name, NAMES)
    return [(name, value, str(path)) for name, value in table.items()]


def _defaults() -> list[_Value]:
    data = user_data_path("diskbench")
    try:
        owner = getpass.getuser()
    except (KeyError, OSError):  # a user id without a name, as in many containers
        owner = f"uid-{os.getuid()}"
    values = {
        "database_url": f"sqlite:///{data / 'diskbench.db'}",
        "evidence_url": (data / "evidence").as_uri(),
        "log_format": "human",
        "owner": f"{owner}@{socket.gethostname()}"[:63],
        "secret_file": data / "secret",
        "tags": (),
    }
    return [(name, value, DEFAULT) for name, value in values.items()]
