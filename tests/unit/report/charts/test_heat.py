import re

import numpy as np
import pytest
from tests.unit.report.assemble.test_overview import made

from diskbench.report.charts.figure import svg
from diskbench.report.charts.heat import overview_chart


def test_every_run_says_its_values_and_leads_to_its_row():
    bands = [
        made("r1", [3000.0] * 400 + [100.0] * 200, fell_s=400),
        made("r2", np.full(600, 1500.0), stalls=((30, 3),)),
        made("r3", np.full(500, 1500.0)),
    ]
    figure = overview_chart(bands, hrefs={one.run_id: f"#row-{one.run_id}" for one in bands})
    drawn = svg(figure)
    told = [word for word in re.findall(r'aria-label="([^"]*)"', drawn) if "·" in word]
    assert len(told) == 3
    assert told[0].startswith("run r1 · 1: disk · median second 3,000 IOPS · fell at 6:40")
    assert "stalled for 3 s" in told[1]
    assert {f"#row-r{k}" for k in (1, 2, 3)} <= set(re.findall(r'href="([^"]*)"', drawn))
    assert drawn.count("var(--accent)") == 1
    assert "n = 3 runs; no interval (n = 1 run each)" in figure.subtitle
    assert "1 fell off a cliff and 1 stalled" in figure.alt


@pytest.mark.slow
def test_five_hundred_runs_of_an_hour_are_one_small_drawing():
    generator = np.random.default_rng(2)
    hours = (generator.normal(1000 + 4 * k, 40, 3600).clip(0) for k in range(500))
    bands = [made(f"run{k:03}", hour) for k, hour in enumerate(hours)]
    drawn = svg(overview_chart(bands))
    assert len(drawn) < 1_500_000
    assert not re.findall(r"#[0-9a-fA-F]{3,8}\b", drawn)
