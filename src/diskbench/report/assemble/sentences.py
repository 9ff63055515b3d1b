"""Clauses of verdicts and doubts as sentences.

Evidence, messages and advice are stored as clauses: `with 4 I/Os in flight, each takes 690 µs`.
"""

from __future__ import annotations

_ENDS = (".", "!", "?", "…")
_AS_TYPED = frozenset({"fio", "fio's", "fsync", "fdatasync", "write()", "results"})
"""Words that stay in lower case at the beginning of a sentence: names and commands."""


def sentences(*clauses: str) -> str:
    """Return the clauses as sentences, without the empty ones: `It fell. Repeat it.`"""
    return " ".join(_sentence(clause.strip()) for clause in clauses if clause.strip())


def _sentence(clause: str) -> str:
    first = clause.split()[0]
    if first not in _AS_TYPED and first.strip(",;:").replace("'", "").isalpha():
        clause = clause[0].upper() + clause[1:]
    return clause if clause.endswith(_ENDS) else f"{clause}."
