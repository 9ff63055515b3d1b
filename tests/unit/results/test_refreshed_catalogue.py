"""A refreshed catalogue: asked, checked, kept in the user's cache, and told by plans."""

import json

import pytest
from tests.books import SHIPPED
from tests.rigs.cli import invoked
from tests.rigs.plans import cells_of

from diskbench.catalog.books import Overlay
from diskbench.engine.trial.planning import preview
from diskbench.errors import AccessDenied, InvalidValue, UnknownName
from diskbench.model.options import RentSpec
from diskbench.providers.aws.cloud import AWSProvider
from diskbench.providers.azure.cloud import AzureProvider
from diskbench.providers.gcp.cloud import GCPProvider
from diskbench.results import refreshed_catalogue
from diskbench.results.refreshed_catalogue import overlay_directory, read_overlays

GOOD = {
    "sources": {"refreshed": {"title": "an API", "as_of": "2026-11-20"}},
    "types": {"c4.xlarge": {"iops": 5000, "source": "refreshed"}},
}


@pytest.fixture(autouse=True)
def answers(tmp_path, monkeypatch):
    """A cache of our own; AWS answers so (GOOD), and nobody is logged in to the others."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def refuse(*_):
        raise AccessDenied("nobody is logged in", advice="log in")

    def answer(patch):
        patches = {"machines.yaml": patch}
        found = Overlay(cloud="aws", region="us-east-1", made_on="2026-11-20", patches=patches)
        monkeypatch.setattr(AWSProvider, "refreshed", lambda *_: found)

    monkeypatch.setattr(AzureProvider, "refreshed", refuse)
    monkeypatch.setattr(GCPProvider, "refreshed", refuse)
    answer(GOOD)
    return answer


@pytest.mark.slow
def test_an_answer_is_kept_and_counts_for_sessions_that_are_opened_then():
    before = refreshed_catalogue.open_books()
    _, path = refreshed_catalogue.refresh("aws")
    assert path == overlay_directory() / "aws.json"
    assert (iops_of(before), iops_of(refreshed_catalogue.open_books())) == (6000, 5000)


def iops_of(books):
    return books.of("aws").machines.types["c4.xlarge"].iops


def test_an_answer_that_breaks_the_catalogue_is_not_kept(answers):
    answers({"types": {"c4.xlarge": {"source": "nowhere"}}})
    with pytest.raises(InvalidValue, match="nowhere"):
        refreshed_catalogue.refresh("aws")
    assert (read_overlays(), iops_of(refreshed_catalogue.open_books())) == ((), 6000)


def test_plans_made_on_it_carry_its_digest_and_those_of_the_shipped_one_none():
    refreshed_catalogue.refresh("aws")
    books = refreshed_catalogue.open_books()
    spec = RentSpec(disk="gp2", size_gib=20, region="us-east-1", instance_type="c4.xlarge")
    asked = cells_of({"provider": "aws", "profile": "quick"}, spec)
    (plan,) = preview(asked, books, offline=True).plans
    assert plan.catalogue == books.digest is not None
    assert plan.expectation is not None
    first = plan.expectation.of(plan.expectation.step(5))
    assert first is not None
    assert 5000 in [bound.iops for bound in first.begin.bounds if bound.limit == "vm-iops"]
    (shipped,) = preview(asked, SHIPPED, offline=True).plans
    assert shipped.catalogue is None


def test_the_command_tells_which_clouds_answered_and_fails_where_a_named_one_does_not():
    done = invoked("catalog", "instances", "--refresh", "--output", "json")
    assert done.exit_code == 0
    rows = {one["type"]: one for one in json.loads(done.stdout)["instances"]}
    assert rows["c4.xlarge"]["iops"] == 5000
    assert "aws us-east-1: as of 2026-11-20, kept in" in done.stderr
    assert "azure: nobody is logged in" in done.stderr
    alone = invoked("catalog", "instances", "--refresh", "--provider", "gcp", fails=True)
    assert isinstance(alone.exception, AccessDenied)


def test_the_command_asks_the_cloud_that_has_the_region_for_its_prices(monkeypatch):
    """The plan names the command; after it the plan has a price."""

    def answer(_, books, region=None):
        assert books.of("aws").asked_for(region).prices.region == region
        return Overlay(
            cloud="aws", region=region, made_on="2026-11-20",
            patches={"prices.yaml": {
                "sources": {"refreshed": {"title": "an API", "as_of": "2026-11-20"}},
                "machines": {"refreshed": {"c4.xlarge": 0.3}},
                "disks": {"gp2": {"per_gib": 0.119, "source": "refreshed"},
                        "gp3": {"per_gib": 0.0952, "per_iops": [{"usd": 0.006}],
                                "per_mib_per_s": 0.0476, "source": "refreshed"}},
            }},
        )  # fmt: skip

    monkeypatch.setattr(AWSProvider, "refreshed", answer)
    plan = ["plan", "--offline", "--provider", "aws", "--region", "eu-central-1", "--disk", "gp2",
            "--size", "20", "--instance-type", "c4.xlarge", "--profile", "quick"]  # fmt: skip
    command = ["catalog", "prices", "--refresh", "--region", "eu-central-1"]
    before = " ".join(invoked(*plan).stdout.split())
    assert "cost unknown" in before
    assert f"in eu-central-1: diskbench {' '.join(command)}" in before
    done = invoked(*command)
    assert "aws eu-central-1: as of 2026-11-20, kept in" in done.stderr
    assert "gp2 per_gib 0.119" in " ".join(done.stdout.split())
    after = invoked(*plan).stdout
    assert "an hour, about $" in after
    assert "cost unknown" not in after


def test_a_cloud_without_such_an_api_and_a_region_that_no_cloud_has_are_refused():
    with pytest.raises(InvalidValue, match="vsphere"):
        refreshed_catalogue.refresh("vsphere")
    done = invoked("catalog", "prices", "--refresh", "--region", "eu-centra-1", fails=True)
    assert isinstance(done.exception, UnknownName)
    assert "eu-central-1" in done.exception.advice
