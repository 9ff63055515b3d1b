"""The made series are what they say: else the detectors would be held to something else."""

import numpy as np
import pytest
from tests.rigs.synthetic import Noise, bucket, flat, settling, steps


def test_the_same_seed_gives_the_same_series():
    noise = Noise(sd=0.1, phi=0.9, outliers=0.01)
    assert (flat(1000, 500, noise, seed=1) == flat(1000, 500, noise, seed=1)).all()
    assert (flat(1000, 500, noise, seed=1) != flat(1000, 500, noise, seed=2)).any()


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
def test_noise_has_the_deviation_and_the_correlation_that_were_asked_for(phi):
    log = np.log(flat(1000, 100_000, Noise(sd=0.1, phi=phi), seed=3) / 1000)
    assert log.std() == pytest.approx(0.1, rel=0.05)
    assert np.corrcoef(log[1:], log[:-1])[0, 1] == pytest.approx(phi, abs=0.02)


def test_a_bucket_falls_when_what_was_done_above_the_baseline_is_its_credit():
    clean = bucket(5_400_000, 3000, 100, 2400, Noise(sd=0), seed=4)
    assert int(np.argmax(clean < 3000)) == 1862


def test_steps_change_at_the_sums_of_their_seconds():
    clean = steps([(3, 2), (1, 3)], Noise(sd=0), seed=5)
    assert clean.tolist() == [3, 3, 1, 1, 1]


def test_a_settling_begins_and_ends_at_its_levels():
    clean = settling(2500, 1000, 60, 1200, Noise(sd=0), seed=6)
    assert clean[0] == 2500
    assert clean[-1] == pytest.approx(1000, rel=0.001)
