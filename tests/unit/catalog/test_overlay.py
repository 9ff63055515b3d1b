"""What was refreshed lies over the shipped files, under their rules."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from diskbench.catalog.expect import machine_of
from diskbench.catalog.instances import instances
from diskbench.catalog.overlay import Overlay, digest, laid, lay
from diskbench.errors import InvalidValue
from diskbench.store.overlays import read_overlays, write_overlay

SOURCE = {"title": "an API", "as_of": "2026-11-20"}
FASTER = {
    "sources": {"refreshed": SOURCE},
    "instances": {"c4.xlarge": {"baseline_iops": 7000, "source": "refreshed"}},
}


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    lay([])
    yield
    lay([])


def overlay(patch: dict[str, Any]) -> Overlay:
    return Overlay(
        cloud="aws",
        region="us-east-1",
        made_on="2026-11-20",
        patches={"aws_instances.yaml": patch},
    )


def test_the_shipped_catalogue_has_no_digest():
    assert digest() is None
    assert laid() == ()


def test_a_figure_that_was_refreshed_counts_and_the_others_stay():
    before = instances("aws").instances["c4.xlarge"]
    lay([overlay(FASTER)])
    after = instances("aws").instances["c4.xlarge"]
    assert (after.baseline_iops, after.source) == (7000, "refreshed")
    assert after.usd_per_hour == before.usd_per_hour
    assert machine_of("aws", "c4.xlarge", "gp2").gates[0].source == "an API (2026-11-20)"
    assert instances("aws").instances["m5.large"] is not None


def test_the_digest_says_what_lies_over_it():
    lay([overlay(FASTER)])
    one = digest()
    slower = {**FASTER, "instances": {"c4.xlarge": {"baseline_iops": 1, "source": "refreshed"}}}
    lay([overlay(slower)])
    assert one is not None
    assert digest() not in (None, one)
    lay([overlay(FASTER)])
    assert digest() == one


def test_without_it_the_shipped_figures_are_back():
    lay([overlay(FASTER)])
    lay([])
    assert instances("aws").instances["c4.xlarge"].baseline_iops == 6000


def test_a_refreshed_figure_without_a_source_is_refused():
    lay([overlay({"instances": {"c4.xlarge": {"source": "hearsay"}}})])
    with pytest.raises(InvalidValue, match="hearsay"):
        instances("aws")


def test_it_is_kept_a_file_a_cloud_and_read_again(tmp_path: Path):
    path = write_overlay(overlay(FASTER), tmp_path / "deep")
    assert path.name == "aws.json"
    assert read_overlays(tmp_path / "deep") == (overlay(FASTER),)
    assert [one.name for one in path.parent.iterdir()] == ["aws.json"]


def test_a_file_that_is_none_of_ours_is_named(tmp_path: Path):
    (tmp_path / "aws.json").write_text("{}")
    with pytest.raises(InvalidValue, match=r"aws\.json"):
        read_overlays(tmp_path)


def test_nothing_refreshed_is_nothing_laid(tmp_path: Path):
    assert read_overlays(tmp_path / "nowhere") == ()
