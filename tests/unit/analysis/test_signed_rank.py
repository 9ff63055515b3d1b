"""Our signed-rank test is SciPy's, without its import."""

import subprocess
import sys
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import wilcoxon

from diskbench.analysis.signed_rank import two_sided_p

EXAMPLES = settings(deadline=None, max_examples=25)
"""Of few differences SciPy tries every sign, which takes it 0.3 s."""


def scipys(differences):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(wilcoxon(differences).pvalue)


@EXAMPLES
@given(st.lists(st.integers(-6, 6), min_size=1, max_size=70).filter(any))
def test_with_ties_and_zeros_it_is_that_of_scipy(differences):
    assert two_sided_p(differences) == pytest.approx(scipys(differences), rel=1e-9)


@EXAMPLES
@given(
    st.lists(st.floats(-1, 1).map(lambda one: round(one, 12)), min_size=1, max_size=70).filter(any)
)
def test_of_any_differences_it_is_that_of_scipy(differences):
    assert two_sided_p(differences) == pytest.approx(scipys(differences), rel=1e-9)


@pytest.mark.parametrize("count", [1, 6, 13, 14, 50, 51, 1000])
@pytest.mark.parametrize("sign", [1, -1])
def test_of_any_number_it_is_that_of_scipy(count, sign):
    plain = [sign * (n + 1) * (-1 if n % 3 == 0 else 1) for n in range(count)]
    assert two_sided_p(plain) == pytest.approx(scipys(plain), rel=1e-9)
    tied = [one // 2 or 7 for one in plain]
    assert two_sided_p(tied) == pytest.approx(scipys(tied), rel=1e-9)


def test_zeros_alone_are_no_difference():
    assert two_sided_p([0.0] * 8) == 1.0


def test_comparing_does_not_import_scipy():
    code = (
        "import sys; from diskbench.analysis.compare import signed_rank; "
        "signed_rank([1.1, 1.2, 1.3]); print('scipy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
