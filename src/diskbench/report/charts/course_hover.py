"""The hover text of a course at the pointer or keyboard position: run, time, phase, values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from diskbench.report.assemble.phases import clock
from diskbench.report.charts.course_layers import at_field
from diskbench.report.charts.layers import columns
from diskbench.report.charts.measure import bare, with_unit

if TYPE_CHECKING:
    import altair as alt
    import numpy as np
    from numpy.typing import NDArray

    from diskbench.report.assemble.course import StepCourse
    from diskbench.report.charts.palette import Palette

    Floats = NDArray[np.float64]

MOST_COLUMNS = 60
"""Stretches of a course with hover text: five pixels each, which a pointer can distinguish."""


def hover_layer(
    course: StepCourse, tracks: Mapping[str, Floats], metric: str, x: alt.X, palette: Palette
) -> alt.Chart:
    """Invisible columns with the text of their stretch: run, time, phase, values."""
    rows = column_words(course, tracks, metric)
    return columns(rows, palette, {"x": at_field(x, "start"), "x2": "end:Q"})


def column_words(
    course: StepCourse, tracks: Mapping[str, Floats], metric: str
) -> list[dict[str, Any]]:
    """The text of each of at most 60 stretches of a course: median, lowest and highest second."""
    import numpy as np

    count = min(MOST_COLUMNS, course.seconds)
    edges = np.linspace(0, course.seconds, count + 1).round().astype(int)
    rows = []
    for start, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        columns = []
        for name, values in tracks.items():
            known = values[start:end]
            known = known[~np.isnan(known)]
            if not known.size:
                continue
            middle = with_unit(metric, float(np.median(known)))
            low, high = bare(metric, float(known.min())), bare(metric, float(known.max()))
            columns.append(f"{name} {middle}" + (f" ({low} to {high})" if known.size > 1 else ""))
        until = f"–{clock(end)}" if end - start > 1 else ""
        phase = phase_at(course, (start + end) / 2)
        words = [f"run {course.run_id}", course.step, f"{clock(start)}{until}", phase, *columns]
        text = " · ".join(word for word in words if word)
        rows.append({"start": start, "end": end, "words": text})
    return rows


def phase_at(course: StepCourse, second: float) -> str:
    """The kind of the phase at a second; empty if no phase was found."""
    phases = course.phases.phases if course.phases else ()
    return next((phase.kind for phase in phases if phase.start_s <= second < phase.end_s), "")
