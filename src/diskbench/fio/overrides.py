"""What `--set` gives a profile: parameters of their kind and range, and of a user's own job file
options of fio. A value holds no character that could begin another option."""

import math
import re
from difflib import get_close_matches

from diskbench.errors import InvalidValue, UnknownName
from diskbench.fio.guard import settable
from diskbench.fio.jobfile import ALIASES
from diskbench.fio.profiles import Parameter, Profile, Value
from diskbench.units import format_bytes, format_duration_s, parse_duration_s, parse_size_bytes

_SAFE = re.compile(r"^[A-Za-z0-9 _.,:%+/=-]*\Z")
_TRUE, _FALSE = {"1", "true", "yes", "on"}, {"0", "false", "no", "off"}


def check_override(profile: Profile, key: str, text: str) -> None:
    """Raise UnknownName for a parameter that a profile does not have, InvalidValue for a value that
    it cannot have. Of a plain job file any option of fio that profiles may hold can be set."""
    parameters = {parameter.name: parameter for parameter in profile.parameters}
    if key in parameters:
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
    if not _SAFE.match(text):
        raise _unsafe(setting, f"parameters.{parameter.name}")
    value = _typed(parameter, text.strip(), setting)
    if isinstance(value, int | float) and not isinstance(value, bool):
        _check_range(parameter, value, setting)
    return value


def _typed(parameter: Parameter, text: str, setting: str) -> Value:
    try:
        match parameter.kind:
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


def _check_range(parameter: Parameter, value: float, setting: str) -> None:
    low, high = parameter.minimum, parameter.maximum
    below, above = low is not None and value < low, high is not None and value > high
    if not math.isfinite(value) or below or above:
        bounds = " and ".join(
            f"{word} {_shown(parameter, bound)}"
            for word, bound in (("at least", low), ("at most", high))
            if bound is not None
        )
        raise InvalidValue(
            f"{setting} is out of range",
            advice=f"it must be {bounds}" if bounds else "give a number",
            field=f"parameters.{parameter.name}",
        )


def _shown(parameter: Parameter, value: float) -> str:
    """A bound in the unit in which the user types the parameter."""
    match parameter.kind:
        case "size":
            return format_bytes(value)
        case "duration":
            return format_duration_s(value) if value == int(value) else f"{value:g} s"
        case _:
            return f"{_whole(value):,}"
