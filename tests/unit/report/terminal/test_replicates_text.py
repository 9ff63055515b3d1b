"""What replicates say together, for a terminal."""

import pytest

from diskbench.model.campaign import Replicates
from diskbench.report.terminal.replicates_text import replicate_lines


@pytest.mark.parametrize(
    ("marks", "trials", "warned"),
    [(("emulated",), 10, True), (("emulated",), 1, False), ((), 10, False)],
)
def test_emulated_replicates_are_said_to_share_a_machine(marks, trials, warned):
    lines = list(replicate_lines(Replicates(asked="x", trials=trials, marks=marks, lines=())))
    assert any("physical machine" in line for line in lines) == warned
    assert all(len(line) <= 80 for line in lines)
