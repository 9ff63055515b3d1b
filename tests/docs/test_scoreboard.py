"""docs/scoreboard.md says what diskbench says today, and nothing got worse unseen."""

from __future__ import annotations

from benchmarks import scoreboard


def test_the_scoreboard_is_up_to_date() -> None:
    found = scoreboard.rows()

    written = scoreboard.PAGE.read_text(encoding="utf-8")
    wanted = scoreboard.page(found)
    assert written == wanted, "run python -m benchmarks.scoreboard --write and read what changed"


def test_no_verdict_is_absurd() -> None:
    absurd = [row.name for row in scoreboard.rows() if row.mark == "absurd"]

    assert not set(absurd) - KNOWN_ABSURD


KNOWN_ABSURD = {
    "p15-of-2018-in-sequence",
    "pd-ssd-256-of-2018",
    "gp2-6000-of-2018",
    "pd-standard-256-fell",
    "cache-that-does-not-help",
}
"""Only ever made shorter."""
