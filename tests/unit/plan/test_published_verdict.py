"""Published figures are judged by the rules for our own, from what their posts record."""

import pytest
from tests.books import SHIPPED

from diskbench.catalog.published import find_published, load_published
from diskbench.plan.published_verdict import published_verdict


def only(name):
    (figure,) = find_published(name)
    return published_verdict(figure, SHIPPED)


@pytest.mark.parametrize("figure", find_published("san-vs-local/aberrant"), ids=lambda f: f.step)
def test_what_no_sata_link_carries_is_served_from_cache(figure):
    found = published_verdict(figure, SHIPPED)

    assert found.words() == "no: served from cache"
    assert found.stands_for.limiter.name == "page-cache"
    assert "146,484" in found.stands_for.limiter.evidence[0]


def test_one_thread_that_fills_a_core_makes_a_figure_doubtful():
    found = only("iaas-2018/bonnie/samsung/bonnie-seeks")

    assert found.stands_for.iops == 981
    assert found.words() == "with care: CPU limit of the load generator"
    assert found.stands_for.limiter.name == "client"
    assert found.stands_for.limiter.evidence == (
        "the busiest core was 100 % busy (limit 90 %)",
        "the load generator's share of it is not known",
    )


def test_the_same_tool_on_a_faster_core_is_believed():
    assert only("iaas-2018/bonnie/crucial/bonnie-seeks").trust == "yes"


@pytest.mark.parametrize("disk", ["standard", "gp2", "io1-1000"])
def test_reads_on_a_c4_xlarge_met_its_path_to_ebs(disk):
    found = only(f"iaas-2018/results/{disk}/read")

    assert found.stands_for.limiter.name == "vm-throughput"


def test_more_than_was_promised_is_not_to_be_planned_with():
    found = only("iaas-2018/results/standard/iops")

    assert (found.trust, found.stands_for.limiter.name) == ("with care", "unknown")
    assert [one.code for one in found.reasons] == ["above-promise"]


@pytest.mark.slow
def test_what_a_post_doubts_itself_is_kept():
    for figure in load_published():
        found = published_verdict(figure, SHIPPED)
        if figure.doubt is not None:
            assert figure.doubt.code in {one.code for one in found.reasons}, figure.id
        else:
            found_by_rules = {one.code for one in found.reasons if one.weight != "note"}
            assert found_by_rules <= {"above-promise", "below-promise", "too-short"}, figure.id


def test_a_san_behind_one_gigabit_is_as_fast_as_its_line():
    assert only("san-vs-local/stated/san/block-read").stands_for.limiter.name == "network"
