"""Numbers in a job file, read as fio reads them (axboe/fio, parse.c: str_to_decimal,
get_mult_bytes, get_mult_time; tried on fio 3.33), and those that its author has worked out.

fio reads the leading digits and ignores what it does not know: `1e6` is 1, `1.5m` is 1, and `0x10m`
is 16. Such values mean one number to their author and another to fio, so they are refused here;
`unreadable` says why. All others are read as fio reads them: `0x10000` is 65,536, `1k`, `1kb`
and `1ki` are 1,024, and, with fio's default kb_base, `1kib` is 1,000.

fio with CONFIG_ARITHMETIC evaluates what stands in parentheses, `(4k*8)`; without it (Debian's
3.33, tried) it refuses parentheses and reads `30g/2` as 30g. diskbench works the value out and
writes the number into the job file, so that every fio reads the same.
"""

import ast
import operator
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Final

_BYTES = re.compile(r"\+?(?P<n>[0-9]{1,18})(?P<unit>(?:[kmgtp](?:ib?|b)?|b)?)", re.IGNORECASE)
_HEX = re.compile(r"0[xX](?P<n>[0-9A-Fa-f]{1,15})")
_PERCENT = re.compile(r"(?P<n>[0-9]{1,9})%")
_TIME = re.compile(r"(?P<n>[0-9]{1,12})(?P<unit>d|h|m|s|ms|msec|us|usec)?", re.IGNORECASE)
_SECONDS = {
    "d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "": 1.0,
    "ms": 1e-3, "msec": 1e-3, "us": 1e-6, "usec": 1e-6,
}  # fmt: skip
_LARGEST = 2**63 - 1
DEFAULT_BLOCK: Final = "4k"
_MOST = 2**31 - 1
"""The largest count: fio stores counts in 32 bits, and larger ones overflow."""


def bytes_of(text: str) -> int | None:
    """Bytes of one size; None for anything else (a percentage, a range, zones)."""
    text = text.strip()
    if match := _HEX.fullmatch(text):
        value = int(match["n"], 16)
    elif match := _BYTES.fullmatch(text):
        unit = match["unit"].lower().removesuffix("b")
        base = 1000 if match["unit"].lower().endswith("ib") else 1024
        value = int(match["n"]) * base ** ("kmgtp".index(unit[0]) + 1 if unit else 0)
    else:
        return None
    return value if value <= _LARGEST else None


def percent_of(text: str) -> int | None:
    """The number in front of a `%`; None for any other value."""
    match = _PERCENT.fullmatch(text.strip())
    return int(match["n"]) if match else None


def count_of(text: str) -> int | None:
    """A number of things; fio takes size suffixes here, too: `1k` jobs are 1,024."""
    value = bytes_of(text)
    return value if value is not None and value <= _MOST else None


def seconds_of(text: str) -> float | None:
    """Seconds of one time; a bare number is seconds, as in `runtime`."""
    match = _TIME.fullmatch(text.strip())
    return int(match["n"]) * _SECONDS[(match["unit"] or "").lower()] if match else None


def range_of(text: str) -> tuple[int, int] | None:
    """Low and high of `4k-8k` or `4k:8k`, and of a single size; None where they are the wrong way
    round, which fio takes for an enormous range."""
    low, separator, high = re.sub(":", "-", text, count=1).partition("-")
    values = bytes_of(low), bytes_of(high if separator else low)
    if values[0] is None or values[1] is None or values[0] > values[1]:
        return None
    return values[0], values[1]


def blocks_of(name: str, text: str) -> tuple[int, ...] | None:
    """Every block size that `bs`, `bsrange` or `bssplit` (by `name`) contains, the largest of each
    range; None when one of them is unreadable. `,64k` leaves the first at fio's default."""
    block_sizes: list[int] = []
    for part in text.split(","):
        for piece in part.split(":") if name == "bssplit" else [part]:
            if not piece.strip():
                continue
            if name == "bsrange":
                pair = range_of(piece)
                size = pair[1] if pair and re.search("[-:]", piece) else None
            else:
                size = bytes_of(piece.partition("/")[0] if name == "bssplit" else piece)
            if size is None:
                return None
            block_sizes.append(size)
    return tuple(block_sizes) or None


def sizes_of(text: str) -> list[int | None]:
    """Each size in `4k,64k`, `4k-8k` or `4k/60:64k/40`, an empty one as fio's default; None for one
    that cannot be read."""
    pieces = (piece.partition("/")[0].strip() for piece in re.split("[,:-]", text))
    return [bytes_of(piece or DEFAULT_BLOCK) for piece in pieces]


def unreadable(name: str, value: str) -> str | None:
    """What is wrong with the value of a numeric option that diskbench reckons with, else None."""
    known = NUMERIC.get(name)
    return None if known is None or known[0](name, value) else known[1]


def _is_size(name: str, value: str) -> bool:
    """Of more than 100 % fio makes a number of exabytes, and of an offset of 100 % no I/O."""
    share = percent_of(value)
    if share is not None:
        return share <= (99 if name.startswith("offset") else 100)
    return bytes_of(value) is not None


def _are_blocks(name: str, value: str) -> bool:
    return all(blocks_of(name, value) or (0,))


def _is_count(name: str, value: str) -> bool:
    number = count_of(value)
    return number is not None and (number > 0 or name in _ZERO_IS_UNSET)


def _are_sizes(_: str, value: str) -> bool:
    parts = [part for part in value.split(",") if part.strip()]
    return bool(parts) and all(bytes_of(part) is not None for part in parts)


def _is_time(name: str, value: str) -> bool:
    parts = value.split("-") if name == "startdelay" else [value]
    return len(parts) <= 2 and all(seconds_of(p) is not None for p in parts)


_ZERO_IS_UNSET: Final = frozenset({"openfiles", "number_ios", "loops"})
"""Counts whose 0 fio takes as not set; of the others it refuses 0 or does no I/O (3.33, tried)."""

_Check = tuple[Callable[[str, str], bool], str]
_SIZE: Final[_Check] = (_is_size, "write bytes, perhaps with k, m, g or t, or N% up to 100%")
_COUNT: Final[_Check] = (_is_count, "write a whole number, 1 or more")
_TIMES: Final[_Check] = (_is_time, "write a whole number, with s, m, h, d, ms or us")

NUMERIC: Final[dict[str, _Check]] = {
    **dict.fromkeys(("size", "io_size", "offset", "offset_increment"), _SIZE),
    "filesize": (
        lambda _, value: (range_of(value) or (0, 0))[0] > 0,
        "write bytes, with k, m, g or t, or LOW-HIGH",
    ),
    "bs": (_are_blocks, "write block sizes such as 4k, or 4k,64k"),
    "bssplit": (_are_blocks, "write block sizes with their shares: 4k/60:64k/40"),
    "bsrange": (_are_blocks, "write ranges of block sizes: 4k-64k"),
    "rate": (_are_sizes, "write bytes per second, such as 10m, or 10m,5m"),
    **dict.fromkeys(("numjobs", "nrfiles", "openfiles", "loops", "iodepth", "number_ios"), _COUNT),
    **dict.fromkeys(("runtime", "ramp_time", "startdelay"), _TIMES),
}
"""Options from which space, memory and time are worked out, and the form that each must have."""

ONE_NUMBER: Final = frozenset(
    name for name, form in NUMERIC.items() if form is _SIZE or form is _COUNT
) | {"filesize", "bs"}
"""Options that take one number, which a job file may have fio work out."""


_TERM = re.compile(r"(?<![\w.])([0-9][0-9A-Za-z]*)(?![\w.])")
_EXPRESSION = re.compile(r"[0-9A-Za-z()+*/%^ -]{1,100}")
_MOST_POWER: Final = 63

_OPERATORS: Final[dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
}
"""fio's operators (axboe/fio, lex.l and y.y, 2014), and `^`, its power."""


def is_arithmetic(text: str) -> bool:
    """Whether a value is to be worked out from several numbers. `4k-64k` and `4k/60` are forms of
    fio's own in the options that take them: ask only for an option that takes one number."""
    return bool(_EXPRESSION.fullmatch(text)) and bool(re.search(r"[()*/+^]", text.lstrip("+")))


def evaluate(text: str) -> int | None:
    """The whole number of an arithmetic value, rounded down; None where the text is no such value,
    is negative, or exceeds 63 bits."""
    numbers = _TERM.sub(lambda match: _number(match[1]), text).replace("^", "**")
    if not _EXPRESSION.fullmatch(text) or re.search(r"[A-Za-z]", numbers):
        return None
    try:
        value = _value(ast.parse(numbers.strip(), mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError):
        return None
    return int(value) if 0 <= value <= _LARGEST else None


def _number(text: str) -> str:
    value = bytes_of(text)
    return "x" if value is None else str(value)


def _value(node: ast.expr) -> Fraction:
    """Raises ValueError for anything but numbers and fio's operators."""
    match node:
        case ast.Constant(value=int(number)):
            return Fraction(number)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            base, power = _value(left), _value(right)
            if not 0 <= power <= _MOST_POWER or power.denominator != 1:
                raise ValueError(f"power {power}")
            return _bounded(base ** int(power))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _bounded(_OPERATORS[type(op)](_value(left), _value(right)))
        case _:
            raise ValueError(ast.dump(node))


def _bounded(value: Fraction) -> Fraction:
    if abs(value) > _LARGEST:
        raise ValueError(f"{value} exceeds 63 bits")
    return value
