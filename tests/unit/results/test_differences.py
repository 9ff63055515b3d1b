"""What differs between two sides of a comparison."""

from diskbench.results.compare_runs import differences
from diskbench.results.trial_figures import FigureLine, LineFigure

NAMES = [f"field-{at}" for at in range(12)]


def figure(side: str) -> LineFigure:
    pairs = [(name, f"{name} of {side}") for name in NAMES]
    return LineFigure(
        trial_id=side, campaign_id=side, replicate=0, at=None, machine=side,
        subject=tuple(pairs[:6]), facts=tuple(pairs[6:]), order=0, value=1.0, apart=0.0,
        line=FigureLine("read", "read", "read", 4096, None),
    )  # fmt: skip


def test_differences_stand_in_the_order_of_the_fields_whatever_the_hash_seed():
    assert [each.fact for each in differences([figure("a")], [figure("b")])] == NAMES
