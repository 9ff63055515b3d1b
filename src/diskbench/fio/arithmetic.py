"""Sizes that a job file's author works out in place: `30g/2`, `(4k*8)`.

fio with CONFIG_ARITHMETIC evaluates what stands in parentheses; without it (Debian's 3.33, tried)
it refuses parentheses and reads `30g/2` as 30g. diskbench works the value out and writes the
number into the job file, so that every fio reads the same.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from diskbench.fio.numbers import bytes_of

_TERM = re.compile(r"(?<![\w.])([0-9][0-9A-Za-z]*)(?![\w.])")
_EXPRESSION = re.compile(r"[0-9A-Za-z()+*/%^ -]{1,100}")
_LARGEST: Final = 2**63 - 1
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
