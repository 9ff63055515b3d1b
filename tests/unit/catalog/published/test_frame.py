"""`diskbench.load_published()` for notebooks."""

import json

from tests.rigs.api_page import documented

import diskbench
from diskbench.catalog.published.figures import load_published


def test_the_frame_has_the_documented_columns_in_that_order():
    frame = diskbench.load_published()
    assert {name: str(kind) for name, kind in frame.schema.items()} == documented("load_published")
    assert frame.columns == list(documented("load_published"))


def test_the_frame_has_a_row_a_figure():
    frame = diskbench.load_published()
    assert frame["id"].to_list() == [figure.id for figure in load_published()]
    (gp2,) = frame.filter(id="iaas-2018/results/gp2/iops").to_dicts()
    assert (gp2["value"], gp2["printed"], gp2["n"], gp2["doubt"]) == (3634, "3634", 10, "burst")
    (write,) = frame.filter(id="ebs-types/m3.medium-write/st1/write").to_dicts()
    assert write["samples"] == [37_200_000] * 5
    assert json.loads(write["parameters"]) == {"bs": 4096, "count": 102400}
