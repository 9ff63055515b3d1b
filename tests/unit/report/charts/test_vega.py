"""Drawings of a child process are those of this one, and the child ends with the work."""

from __future__ import annotations

import subprocess

import pytest

from diskbench.report.charts import vega


def document(text: str = "µs ·") -> dict[str, object]:
    return {
        "data": {"values": ({"a": 1, "b": 2, "text": text},)},
        "mark": "text",
        "encoding": {
            "x": {"field": "a", "type": "quantitative", "title": text},
            "y": {"field": "b", "type": "quantitative"},
            "text": {"field": "text"},
        },
    }


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[str]]:
    """The children that are started from here on."""
    started: list[subprocess.Popen[str]] = []
    real = vega._started

    def recorded(*arguments: str) -> subprocess.Popen[str]:
        started.append(real(*arguments))
        return started[-1]

    monkeypatch.setattr(vega, "_started", recorded)
    return started


def test_a_drawing_is_the_same_in_a_process_of_its_own(
    children: list[subprocess.Popen[str]],
) -> None:
    here = vega.vega_svg(document())
    with vega.drawn_apart():
        assert vega.vega_svg(document()) == here
        assert vega.vega_svg(document("more")) != here
    assert here.startswith("<svg")
    assert [child.returncode for child in children] == [0]


def test_what_cannot_be_drawn_is_said_and_the_next_is_drawn(
    children: list[subprocess.Popen[str]],
) -> None:
    with vega.drawn_apart():
        with pytest.raises(ValueError, match=r"."):
            vega.vega_svg({"mark": {"type": 7}, "vconcat": 3})
        assert vega.vega_svg(document()).startswith("<svg")
    assert [child.returncode for child in children] == [0]


def test_nothing_is_started_where_nothing_is_drawn_or_drawn_here(
    children: list[subprocess.Popen[str]],
) -> None:
    with vega.drawn_apart():
        pass
    vega.vega_svg(document())
    assert children == []


def test_a_child_draws_the_same_and_is_the_only_one(
    children: list[subprocess.Popen[str]],
) -> None:
    here = vega.vega_svg(document())
    with vega.drawn_apart():
        with vega.drawn_apart():  # a page within a command that draws apart
            assert vega.vega_svg(document()) == here
        assert vega.vega_svg(document()) == here
    assert [child.returncode for child in children] == [0]


def test_a_child_that_was_killed_is_an_error_and_no_endless_wait(
    children: list[subprocess.Popen[str]],
) -> None:
    with vega.drawn_apart():
        vega.vega_svg(document())
        children[0].kill()
        children[0].wait()
        with pytest.raises(RuntimeError, match=r"-9"):
            vega.vega_svg(document())
