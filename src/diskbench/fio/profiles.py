"""Profiles: YAML front matter that says what the profile is for, then a fio job file as a Jinja
template; and what `--set` gives them.

A plain fio job file without front matter is a profile, too. It is used unchanged: nothing in it is
expanded. `--set` gives parameters of their kind and range, and to a plain job file options of fio;
a value holds no character that could begin another option.
"""

import hashlib
import json
import math
import re
from collections.abc import Container, Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, Self

from pydantic import Field, ValidationError, field_serializer, model_validator

from diskbench.errors import InvalidValue, ProfileError, UnknownName, check_known
from diskbench.fio.guard import settable
from diskbench.fio.jobfile import ALIASES, may_be_secret, variables
from diskbench.limits import ROUNDS, YAML_BYTES
from diskbench.model.base import Frozen
from diskbench.model.spec import Filesystem, PageCache, Role, TargetKind
from diskbench.model.threshold import Threshold
from diskbench.model.value_fault import value_faults
from diskbench.units import format_bytes, format_duration_s, parse_duration_s, parse_size_bytes
from diskbench.yaml_lines import read_yaml

SUFFIX: Final = ".fio.j2"
_MOST = 10
"""How many mistakes in front matter a message lists."""
ParameterKind = Literal["int", "float", "bool", "str", "size", "duration", "condition"]
Value = str | int | float | bool
_OF_FILE: Final = frozenset({"name", "template", "is_template", "first_line", "digest"})
"""Fields of a profile that front matter may not give."""
_WORDS: Final = {"name", "title", "question", "source", "notes", "first_line", "digest"}
_SAFE = re.compile(r"^[A-Za-z0-9 _.,:%+/=-]*\Z")
_TRUE, _FALSE = {"1", "true", "yes", "on"}, {"0", "false", "no", "off"}


class Parameter(Frozen):
    """A parameter that `--set` may change.

    `kind` is how a value is read: `size` as fio reads sizes (64k, 1g), into bytes; `duration`
    as seconds or with s, m, h, d, into seconds; `condition` as `p99 < 2ms`. `default` may be a
    Jinja expression over `host` and `target`, such as `{{ host.cores }}`; without a default (None)
    a value has to be given.
    `minimum` and `maximum` are in the value's own unit.
    """

    name: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    default: Value | None
    help: str
    kind: ParameterKind = "str"
    minimum: float | None = None
    maximum: float | None = None


class ProfileLoop(Frozen):
    """Steps repeated until a tracked job is steady (MR-2): from job `first` to the last.

    Without `first` the loop begins after the last step that fills.
    """

    first: str | None = None
    tracked: str
    direction: Literal["read", "write"]
    min_rounds: int = Field(default=5, ge=5, le=ROUNDS)
    max_rounds: int = Field(default=25, ge=5, le=ROUNDS)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.max_rounds < self.min_rounds:
            raise ValueError("max_rounds is less than min_rounds")
        return self


class ProfileSearch(Frozen):
    """Steps that offer shares of the rate of the step `capacity`, until the highest is found that
    keeps to a target (analysis/sla.py). The others are names of parameters."""

    capacity: str
    target: str
    precision: str
    beyond: str


class ProfileThreshold(Frozen):
    """A threshold for a figure of the step `step`, such as `sync p99 < 10ms`, and its source."""

    step: str = Field(min_length=1)
    expect: str
    source: str = Field(min_length=1)

    @model_validator(mode="after")
    def _readable(self) -> Self:
        self.threshold()
        return self

    def threshold(self) -> Threshold:
        """The threshold. Raises ValueError where `expect` is not readable."""
        return Threshold.parse(self.expect, step=self.step, source=self.source)


class Profile(Frozen):
    """A profile as read from its file: what its front matter says, the YAML between the `---`
    lines, and what the file itself says (`_OF_FILE`).

    `roles` maps a section name to what its step is for. `template` is the job file without the
    front matter, and `is_template` False for a plain fio job file. `digest` is the SHA-256 of all
    that decides what runs: rewording a profile begins no new history.
    """

    name: str
    title: str = Field(min_length=1)
    question: str = Field(min_length=1)
    source: str = Field(min_length=1)
    notes: str = ""
    targets: tuple[TargetKind, ...] = Field(default=("directory", "device"), min_length=1)
    filesystem: Filesystem = "none"
    page_cache: PageCache = "drop"
    drop_caches_every_s: float | None = Field(default=None, gt=0)
    roles: dict[str, Role] = Field(default_factory=dict)
    loop: ProfileLoop | None = None
    search: ProfileSearch | None = None
    thresholds: tuple[ProfileThreshold, ...] = ()
    parameters: dict[str, Parameter] = Field(default_factory=dict)
    template: str
    is_template: bool = True
    first_line: int = 1
    digest: str = ""

    @model_validator(mode="before")
    @classmethod
    def _parameters_by_key(cls, data: object) -> object:
        """Put each parameter's key into it as its name."""
        if isinstance(data, dict) and isinstance(data.get("parameters"), dict):
            named = {
                key: {"name": key, **value} if isinstance(value, dict) else value
                for key, value in data["parameters"].items()
            }
            return {**data, "parameters": named}
        return data

    @field_serializer("parameters")
    def _listed(self, parameters: dict[str, Parameter]) -> tuple[Parameter, ...]:
        return tuple(parameters.values())

    @field_serializer("thresholds")
    def _parsed(self, thresholds: tuple[ProfileThreshold, ...]) -> tuple[Threshold, ...]:
        return tuple(entry.threshold() for entry in thresholds)

    def missing(self, given: Container[str]) -> list[str]:
        """The names of the parameters that need a value and are not `given` one."""
        return [n for n, p in self.parameters.items() if p.default is None and n not in given]


def shipped_names() -> tuple[str, ...]:
    """The names of the profiles that come with diskbench, sorted."""
    shipped = shipped_directory("jobs").glob(f"*{SUFFIX}")
    return tuple(sorted(path.name.removesuffix(SUFFIX) for path in shipped))


@cache
def shipped_profile(name: str) -> Profile:
    """The shipped profile `name`. Raises UnknownName with the nearest names."""
    check_known("profile", name, shipped_names(), field="profile")
    path = shipped_directory("jobs") / f"{name}{SUFFIX}"
    return parse_profile(path.read_text("utf-8"), name=name)


@cache
def shipped_digests() -> frozenset[str]:
    """The digests of the profiles that come with diskbench, whose templates are trusted."""
    return frozenset(shipped_profile(name).digest for name in shipped_names())


def parse_profile(text: str, *, name: str) -> Profile:
    """The profile in `text`. Raises ProfileError naming every mistake in its front matter."""
    matter, body, first_line = _split(text, name)
    if matter is None:
        return Profile(
            name=name, title=name, source="the user's fio job file",
            question="How does this disk do under the user's own fio job file?",
            parameters={
                variable: Parameter(name=variable, default=None, help="a variable of the job file")
                for variable in variables(text)
            },
            template=text, is_template=False, digest=hashlib.sha256(text.encode()).hexdigest(),
        )  # fmt: skip
    data = _front_matter(matter, name)
    wrong = ""
    if isinstance(data, dict):
        wrong = "; ".join(f"{field}: there is no such field" for field in data if field in _OF_FILE)
        data |= {"name": name, "template": body, "first_line": first_line}
    try:
        profile = Profile.model_validate(data)
    except ValidationError as error:
        wrong = "; ".join(filter(None, (value_faults(error, "front matter"), wrong)))
    if wrong:
        advice = "docs/profiles.md lists the fields"
        raise ProfileError(f"profile {name!r}: {wrong}", advice=advice)
    decisive = profile.model_dump(mode="json", exclude=_WORDS, exclude_defaults=True)
    for parameter in decisive.get("parameters", ()):
        del parameter["help"]
    text = json.dumps(decisive, sort_keys=True)
    return profile.model_copy(update={"digest": hashlib.sha256(text.encode()).hexdigest()})


def with_environment(profile: Profile, environment: Mapping[str, str]) -> Profile:
    """A plain job file whose variables have the environment's values as defaults.

    Raises ProfileError for a variable whose name says that it holds a secret: values are evidence.
    """
    if profile.is_template:
        return profile
    for name in filter(may_be_secret, profile.parameters):
        raise ProfileError(
            f"profile {profile.name!r} uses ${{{name}}}, whose name suggests a secret; the values "
            f"of variables are kept as evidence",
            advice="give the variable another name, or write the value into a copy of the file",
        )
    filled = {
        name: parameter.model_copy(update={"default": environment.get(name)})
        for name, parameter in profile.parameters.items()
    }
    return profile.model_copy(update={"parameters": filled})


def _split(text: str, name: str) -> tuple[str | None, str, int]:
    """Front matter (None without any), the rest, and the number of the rest's first line."""
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return None, text, 1
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() == "---":
            return "\n".join(lines[1:number]), "\n".join(lines[number + 1 :]), number + 2
    raise ProfileError(
        f"profile {name!r}: the front matter has no end", advice="close it with a line ---"
    )


def _front_matter(matter: str, name: str) -> Any:  # noqa: ANN401 - any YAML
    advice = "see `diskbench profiles show quick` for an example"
    if len(matter.encode()) > YAML_BYTES:
        raise ProfileError(
            f"profile {name!r}: the front matter has more than {format_bytes(YAML_BYTES)}",
            advice=advice,
        )
    parsed = read_yaml(matter)
    if parsed.mistakes and matter.strip():
        # The front matter begins in the second line of the file.
        listed = "; ".join(f"line {m.line + 1}: {m.message}" for m in parsed.mistakes[:_MOST])
        raise ProfileError(
            f"profile {name!r}: the front matter cannot be read: {listed}", advice=advice
        )
    return {} if parsed.data is None else parsed.data


def shipped_directory(kind: Literal["jobs", "matrices"]) -> Path:
    """Where the shipped files of a kind are: in the installed package, or beside src in a
    checkout."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "profiles" / kind
    return installed if installed.is_dir() else package.parents[1] / "profiles" / kind


def check_override(profile: Profile, key: str, text: str) -> None:
    """Raise UnknownName for a parameter that a profile does not have, InvalidValue for a value that
    it cannot have. Of a plain job file any option of fio that profiles may hold can be set."""
    if key in (parameters := profile.parameters):
        read_value(parameters[key], text)
        return
    kind, field = f"parameter of profile {profile.name!r}", f"parameters.{key}"
    if profile.is_template:
        raise UnknownName(kind, key, parameters, field=field)
    if ALIASES.get(key, key) not in settable():
        near = get_close_matches(key, {*parameters, *settable()}, n=3)
        raise UnknownName(
            kind,
            key,
            parameters,
            advice=(f"did you mean {' or '.join(near)}? " if near else "")
            + "A variable of the job file and an option of fio that profiles may hold can be set",
            field=field,
        )
    if not _SAFE.match(text):
        raise _unsafe(f"parameter {key}={text!r}", field)


def _unsafe(setting: str, field: str) -> InvalidValue:
    return InvalidValue(
        f"{setting} holds a character that no parameter may hold",
        advice="use only letters, digits, blanks and _ . , : % + / = -",
        field=field,
    )


def read_value(parameter: Parameter, text: str) -> Value:
    """`text` as the parameter's kind. Raises InvalidValue naming parameter and value."""
    setting = f"parameter {parameter.name}={text!r}"
    if parameter.kind != "condition" and not _SAFE.match(text):
        raise _unsafe(setting, f"parameters.{parameter.name}")
    value = _typed(parameter, text.strip(), setting)
    if isinstance(value, bool | str):
        return value
    low, high = parameter.minimum, parameter.maximum
    below, above = low is not None and value < low, high is not None and value > high
    if not math.isfinite(value) or below or above:
        known = (("at least", low), ("at most", high))
        bounds = " and ".join(f"{w} {_shown(parameter, b)}" for w, b in known if b is not None)
        raise InvalidValue(
            f"{setting} is out of range",
            advice=f"it must be {bounds}" if bounds else "give a number",
            field=f"parameters.{parameter.name}",
        )
    return value


def _typed(parameter: Parameter, text: str, setting: str) -> Value:
    try:
        match parameter.kind:
            case "condition":
                if not (asked := Threshold.parse(text)).is_latency or not asked.is_ceiling:
                    raise ValueError(text)  # a latency that has to stay below
                return text
            case "int":
                return int(text)
            case "float":
                return float(text)
            case "size":
                return parse_size_bytes(text)
            case "duration":
                return _whole(parse_duration_s(text))
            case "bool" if text.lower() in _TRUE | _FALSE:
                return text.lower() in _TRUE
            case "bool":
                raise ValueError(text)
            case "str":
                return text
    except (ValueError, OverflowError, InvalidValue) as error:
        raise InvalidValue(
            f"{setting} is not a valid {parameter.kind}",
            advice=f"{parameter.name}: {parameter.help}",
            field=f"parameters.{parameter.name}",
        ) from error


def _whole(value: float) -> int | float:
    return int(value) if value == int(value) else value


def _shown(parameter: Parameter, value: float) -> str:
    """A bound in the unit in which the user types the parameter."""
    if parameter.kind == "size":
        return format_bytes(value)
    if parameter.kind == "duration":
        return format_duration_s(value) if value == int(value) else f"{value:g} s"
    return f"{_whole(value):,}"
