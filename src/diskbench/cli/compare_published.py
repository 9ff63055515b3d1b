"""`diskbench compare RUN… --published [ID]`: runs beside what others published."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Literal

from diskbench.cli.stores import evidence
from diskbench.cli.terminal import print_json

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

    from diskbench.results.selection import Selection


def compare_published(
    engine: Engine,
    asked: Selection,
    *,
    alone: bool,
    include_emulated: bool,
    output: Literal["table", "json"],
) -> None:
    """Set runs (or all of their trials) beside published figures, and print that.

    Names with a slash, or of a post, are figures; others are runs. Raises UnknownName for either,
    InvalidValue where no run is left that says anything about a cloud's disk.
    """
    from diskbench.report.published.document import compared
    from diskbench.results.run_evidence import EvidenceOfRuns

    run_evidence = EvidenceOfRuns(evidence)
    document = compared(engine, asked, run_evidence, alone=alone, include_emulated=include_emulated)
    if document.left_out:
        _say(f"left out, because no cloud sells them: {', '.join(document.left_out)}")
    if output == "json":
        print_json(document.model_dump_json())
        return
    from diskbench.report.published.text import beside_lines

    for line in beside_lines(document):
        print(line)


def _say(text: str) -> None:
    print(text, file=sys.stderr)
