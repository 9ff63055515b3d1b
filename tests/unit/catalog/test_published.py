"""Published figures: complete, in our units, and each beside what was printed.

`diskbench.load_published()` for notebooks.
"""

import json
import re
from collections import Counter
from importlib import resources
from statistics import fmean

import pytest
import yaml
from tests.rigs.api_page import documented

import diskbench
from diskbench.catalog import published
from diskbench.catalog.lookup import disk_types
from diskbench.catalog.published import filtered, find_published, load_published, parse_post
from diskbench.errors import InvalidValue, UnknownName
from diskbench.fio.profiles import shipped_profile

FIGURES = load_published()
CLOUD_TYPES = {"aws", "azure", "gcp"}


def text_of(seed: str) -> str:
    return (resources.files("diskbench.catalog") / "data/published" / f"{seed}.yaml").read_text()


def number(printed: str) -> float:
    found = re.search(r"\d[\d,]*(\.\d+)?", printed)
    assert found, printed
    return float(found[0].replace(",", ""))


def only(figure_id: str):
    (found,) = find_published(figure_id)
    return found


def test_every_table_of_the_five_posts_is_there_whole_with_ids_of_its_own():
    assert Counter((f.seed, f.table) for f in FIGURES) == {
        ("iaas-2018", "results"): 12 * 3, ("iaas-2018", "bonnie"): 2 * 3,
        ("iaas-2018", "azure-caching"): 1, ("iaas-2018", "before-the-fall"): 3,
        ("iaas-2018", "after-the-fall"): 3, ("iaas-2018", "freenas-local"): 1,
        ("azure-caching", "latencies"): 11 * 3, ("ebs-types", "m3.medium-read"): 7 * 2,
        ("ebs-types", "m3.medium-write"): 7, ("ebs-types", "c3.8xlarge-read"): 7 * 2,
        ("ebs-types", "c3.8xlarge-write"): 7, ("san-vs-local", "stated"): 6,
        ("san-vs-local", "aberrant"): 2, ("ebs-fio", "fio"): 4,
    }  # fmt: skip
    assert len({f.id for f in FIGURES}) == len(FIGURES)
    for figure in FIGURES:
        assert re.fullmatch(r"[a-z0-9.-]+(/[a-zA-Z0-9.-]+){3}", figure.id)
        assert figure.id.startswith(f"{figure.seed}/{figure.table}/")


def test_some_cells_are_as_the_posts_print_them():
    assert only("iaas-2018/results/gp2/iops").value == 3634
    assert only("iaas-2018/results/nvme-ssd/read").value == 1_614_000_000
    assert only("iaas-2018/results/io1-1000/iops").stddev == 1.8
    assert only("iaas-2018/bonnie/samsung/bonnie-seeks").printed == "981"
    assert only("azure-caching/latencies/hdd/write-max").value == 464_461_000
    assert only("azure-caching/latencies/ssd-cached/device-cache-write-mean").value == 456_000
    assert only("ebs-types/m3.medium-write/root-gp2/write").printed_samples[0] == "1200"
    assert only("ebs-types/c3.8xlarge-read/io1-5000/buffered").printed == "353.584"
    assert only("san-vs-local/aberrant/sata/stat-rand").value == 460_000
    assert only("ebs-fio/fio/gp2/write-250m").value == 655


def test_a_value_is_what_was_printed_in_our_unit_or_the_mean_of_five_samples():
    for figure in FIGURES:
        scale, metrics = published.UNITS[figure.unit]
        assert figure.metric in metrics, figure.id
        pairs = zip(figure.samples, figure.printed_samples, strict=True)
        for value, printed in ((figure.value, figure.printed), *pairs):
            assert value == pytest.approx(number(printed) * scale, abs=0.5), figure.id
    of_five = [f for f in FIGURES if f.seed == "ebs-types"]
    assert all(len(f.samples) == f.n == 5 and f.statistic == "mean" for f in of_five)
    for figure in of_five:
        assert figure.value == pytest.approx(fmean(figure.samples), rel=1e-6), figure.id


def test_each_names_its_source_and_is_dated_or_said_not_to_be():
    for seed in published.SEEDS:
        source = yaml.safe_load(text_of(seed))["source"]
        assert source["title"]
        assert re.fullmatch(r"\d{3}_[0-9a-f]{16}\.txt", source["file"])
        assert source["date"] or source["undated"]


def test_each_workload_is_a_step_of_a_shipped_profile_on_a_disk_type_of_the_catalogue():
    for profile, step in {(f.profile, f.step) for f in FIGURES}:
        assert f"[{step}]" in shipped_profile(profile).template
    for figure in FIGURES:
        known = shipped_profile(figure.profile).parameters.keys()
        assert figure.parameters.keys() <= known, figure.id
    for figure in FIGURES:
        if figure.provider in CLOUD_TYPES:
            assert figure.disk_type in disk_types(figure.provider), figure.id


def test_what_nobody_should_believe_is_doubted():
    """The two that the verdict must see through, and what memory answered."""
    assert only("san-vs-local/aberrant/sata/stat-seq").doubt.code == "served-from-cache"
    assert only("san-vs-local/aberrant/sata/stat-rand").doubt.code == "served-from-cache"
    assert only("iaas-2018/bonnie/samsung/bonnie-seeks").doubt.code == "client-bound"
    for figure in FIGURES:
        if figure.step == "cached-reads-T" or figure.cache == "readwrite":
            assert figure.doubt.code == "served-from-cache", figure.id


def test_an_id_may_be_given_up_to_any_slash_and_an_unknown_one_is_refused():
    figure = only("iaas-2018/results/gp2/iops")
    for prefix in figure.prefixes:
        assert figure in find_published(prefix)
        assert find_published(f"{prefix}/") == find_published(prefix)
    assert len(find_published("iaas-2018/results/gp2")) == 3
    for name in ("", "/", "iaas", "iaas-2018/results/gp3", "iaas-2018/res"):
        with pytest.raises(UnknownName, match="published figure"):
            find_published(name)


def test_filters_take_post_provider_and_disk_and_refuse_what_is_not_there():
    assert {f.seed for f in filtered(seed="ebs-fio")} == {"ebs-fio"}
    assert {f.provider for f in filtered(provider="gcp")} == {"gcp"}
    assert {f.disk_type for f in filtered(disk="pd-ssd")} == {"pd-ssd"}
    both = {"NVMe SSD (Samsung 960 PRO)", "Samsung 960 PRO 2TB NVMe"}
    assert {f.disk for f in filtered(disk="samsung")} == both
    assert filtered(seed="ebs-fio", provider="gcp") == ()
    for wanted in ({"seed": "x"}, {"provider": "x"}, {"disk": "gp9"}):
        with pytest.raises(UnknownName, match="known:"):
            filtered(**wanted)


@pytest.mark.parametrize(
    ("break_it", "told"),
    [
        (lambda d: d["tables"][0]["rows"][0].update(disk="tape"), "no disk 'tape'"),
        (lambda d: d["tables"][0]["rows"][0].update(machine="pc"), "no machine 'pc'"),
        (lambda d: d["workloads"].pop("read-25m"), "no workload 'read-25m'"),
        (lambda d: d["workloads"]["read-250m"].update(unit="ms"), "ms is not a unit of iops"),
        (lambda d: d["source"].pop("undated"), "a source has a date"),
        (lambda d: d["tables"][0]["rows"][0]["figures"]["read-25m"].pop("printed"), "printed"),
        (
            lambda d: d["tables"][0]["rows"][0]["figures"]["read-25m"].update(samples=[1.0]),
            "as many samples as printed ones",
        ),
    ],
)
def test_a_file_with_a_fault_is_refused_and_says_which(break_it, told):
    data = yaml.safe_load(text_of("ebs-fio"))
    break_it(data)
    with pytest.raises(InvalidValue, match=re.escape(told)):
        parse_post(data, "ebs-fio")


def test_the_frame_has_the_documented_columns_and_a_row_a_figure():
    frame = diskbench.load_published()
    assert {name: str(kind) for name, kind in frame.schema.items()} == documented("load_published")
    assert frame.columns == list(documented("load_published"))
    (row,) = frame.filter(frame["id"] == "iaas-2018/bonnie/samsung/bonnie-seeks").to_dicts()
    assert (row["doubt"], row["date"], row["value"]) == ("client-bound", "2018-03-16", 981)
    assert frame["id"].to_list() == [figure.id for figure in load_published()]
    (gp2,) = frame.filter(id="iaas-2018/results/gp2/iops").to_dicts()
    assert (gp2["value"], gp2["printed"], gp2["n"], gp2["doubt"]) == (3634, "3634", 10, "burst")
    (write,) = frame.filter(id="ebs-types/m3.medium-write/st1/write").to_dicts()
    assert write["samples"] == [37_200_000] * 5
    assert json.loads(write["parameters"]) == {"bs": 4096, "count": 102400}
