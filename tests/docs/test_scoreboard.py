"""docs/evidence/scoreboard.md says what diskbench says today, and nothing got worse unseen."""

from __future__ import annotations

from benchmarks import scoreboard


def test_the_scoreboard_is_up_to_date() -> None:
    found = scoreboard.rows()

    written = scoreboard.PAGE.read_text(encoding="utf-8")
    wanted = scoreboard.page(found)
    assert written == wanted, "run python -m benchmarks.scoreboard --write and read what changed"


def test_no_verdict_is_absurd() -> None:
    assert not [row.name for row in scoreboard.rows() if row.mark == "absurd"]
