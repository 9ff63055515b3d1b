import pytest

from diskbench.analysis.compare_sentence import sentence
from diskbench.model.comparison import Compared, Interval, Replicated

SIDE = Replicated(trials=8, machines=8, median=1, low=1, high=1)


def said(finding, ratio, low=None, high=None, metric="iops", median=None):
    interval = None if low is None else Interval(low=low, high=high, coverage=0.96)
    other = SIDE.model_copy(update={"median": ratio if median is None else median})
    return sentence(
        Compared(
            block="x", step="s", direction="read", metric=metric, a=SIDE, b=other, pairs=8, n=8,
            unpaired=0, in_turn=True, ratio=ratio, interval=interval, finding=finding,
        )
    )  # fmt: skip


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (said("differs", 0.8, 0.7, 0.9), "B does 20 % fewer IOPS than A (−30 % to −10 %, n = 8)"),
        (
            said("differs", 1.054, 1.01, 1.2),
            "B does 5.4 % more IOPS than A (+1.0 % to +20 %, n = 8)",
        ),
        (
            said("differs", 2, 1.5, 3, "p99_ns"),
            (
                "the 99th percentile of latency of B is 100 % higher than that of A "
                "(+50 % to +200 %, n = 8)"
            ),
        ),
        (said("alike", 1, 0.99, 1.01), "A and B are alike within 5 % (−1.0 % to +1.0 %, n = 8)"),
        (
            said("small", 1.03, 1.01, 1.06),
            (
                "B does 3.0 % more IOPS than A, which is below the 5 % that count "
                "(+1.0 % to +6.0 %, n = 8)"
            ),
        ),
        (
            said("noise", 0.9, 0.7, 1.1),
            "the difference is smaller than the noise (−30 % to +10 %, n = 8)",
        ),
        (
            said("too few", 0.9),
            (
                "B/A is 0.90; no interval (n = 8): at least six independent pairs are needed to "
                "tell a difference from noise"
            ),
        ),
    ],
)
def test_each_finding_has_its_sentence(found, words):
    assert found == words


def test_a_ratio_that_is_not_that_of_the_medians_says_what_it_is_of():
    assert "20 % more IOPS than A in the median pair (" in said(
        "differs", 1.2, 1.1, 1.3, median=1.4
    )
    assert said("too few", 1.2, median=1.4).startswith(
        "B/A is 1.20 in the median pair; no interval"
    )
