"""Every figure of every shipped file has a source and a date; published ones, in our units."""

import json
import math
import re
from collections import Counter
from datetime import date
from importlib import resources
from pathlib import Path
from statistics import fmean

import pytest
import yaml
from tests.books import SHIPPED, text_of
from tests.cases.catalogue import make
from tests.rigs.api_page import documented

import diskbench
from diskbench.catalog import published, shipped
from diskbench.catalog.lookup import disk_types
from diskbench.catalog.machine import machine_of
from diskbench.catalog.machine_book import MachineBook
from diskbench.catalog.prices import Charges, PriceBook
from diskbench.catalog.published import filtered, find_published, load_published
from diskbench.catalog.shipped import CHARGES, LIMITS, MACHINES, PRICES, Catalogue, clouds
from diskbench.catalog.sourced_figures import FigureSource
from diskbench.errors import InvalidValue, UnknownName
from diskbench.fio.profiles import shipped_profile
from diskbench.importers.registry import read_imported

BOOKS = {book.file: book for book in (Catalogue, MachineBook, PriceBook, Charges)}
FILES = [
    (cloud, name)
    for cloud in shipped.catalogues()
    for name in BOOKS
    if shipped.shipped(cloud, name) is not None
]


def unsourced(node, path, *, covered):
    """Paths of numbers that stand in no mapping with a `source`."""
    if isinstance(node, dict):
        here = covered or "source" in node
        for key, value in node.items():
            # Prices of machines stand below the key of their source.
            by_key = path.endswith("/machines")
            yield from unsourced(value, f"{path}/{key}", covered=here or by_key)
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from unsourced(value, f"{path}[{index}]", covered=covered)
    elif isinstance(node, int | float) and not isinstance(node, bool) and not covered:
        yield path


def test_each_provider_has_the_files_that_it_can_have():
    assert {cloud for cloud, _ in FILES} >= {"aws", "azure", "gcp", "vsphere"}
    assert [name for cloud, name in FILES if cloud == "vsphere"] == [LIMITS]
    assert len([name for cloud, name in FILES if cloud == "aws"]) == 4


def test_a_source_without_title_or_date_is_refused():
    undated = [{"title": "hearsay", "as_of": of} for of in (None, "yesterday")]
    for source in (*undated, {"title": "", "as_of": "2026"}, {"title": "hearsay"}):
        with pytest.raises(ValueError, match=r"title|date|as_of"):
            FigureSource.model_validate(source)


def test_a_disk_without_figures_says_where_they_are_of_an_instance_store_with_its_machine():
    for cloud in clouds():
        for name, disk in shipped.catalogue(cloud).disks.items():
            assert disk.unknown or disk.iops or disk.tiers, name
    (reads, writes) = machine_of(SHIPPED, "aws", "i3.large", "instance-store").gates
    assert (reads.allowance.baseline, writes.allowance.baseline) == (100_125, 35_000)
    assert machine_of(SHIPPED, "aws", "c5d.large", "instance-store").unknown


FOR_PEOPLE_ONLY = {"n-family", "extreme", "local-ssd-series"}


@pytest.mark.parametrize(("cloud", "name"), FILES)
def test_every_figure_has_a_source_each_with_a_date_and_used(cloud, name):
    data = yaml.safe_load(text_of(cloud, name))
    del data["format"]
    assert list(unsourced(data, "", covered=False)) == []
    for source in yaml.safe_load(text_of(cloud, name))["sources"].values():
        assert "20" in FigureSource.model_validate(source).words()
    book = shipped.shipped_book(BOOKS[name], cloud)
    assert book is not None
    assert set(book.sources) - set(book.named_sources().values()) <= FOR_PEOPLE_ONLY


@pytest.mark.parametrize(
    ("cloud", "name", "place"),
    [
        ("aws", LIMITS, "disks.gp2.iops"), ("vsphere", LIMITS, "parts.controller.pvscsi.queue"),
        ("aws", MACHINES, "types.m5.large"), ("gcp", MACHINES, "series.n2.disks.pd-ssd"),
        ("aws", PRICES, "disks.gp2"), ("aws", CHARGES, "transactions.standard"),
    ],
)  # fmt: skip
def test_a_figure_whose_source_is_missing_or_unlisted_is_refused_with_its_place(cloud, name, place):
    data = yaml.safe_load(text_of(cloud, name))
    figure = data
    for part in place.replace("m5.large", "m5_large").split("."):
        figure = figure[part.replace("_", ".")]
    figure["source"] = "hearsay"
    with pytest.raises(InvalidValue, match=rf"mine\.yaml.*{re.escape(place)}: 'hearsay'"):
        shipped.parse_book(BOOKS[name], yaml.safe_dump(data), where="mine.yaml")
    del figure["source"]
    with pytest.raises(InvalidValue, match="source"):
        shipped.parse_book(BOOKS[name], yaml.safe_dump(data), where="mine.yaml")


def test_a_machine_s_price_below_a_source_that_is_not_listed_is_refused():
    data = yaml.safe_load(text_of("aws", PRICES))
    data["machines"]["hearsay"] = {"m5.large": 1.0}
    with pytest.raises(InvalidValue, match="machines of hearsay"):
        shipped.parse_book(PriceBook, yaml.safe_dump(data), where="x.yaml")


@pytest.mark.parametrize("text", ["", "[]", "disks: [", "format: 2\ncloud: x\n"])
def test_what_is_no_catalogue_is_refused_by_name(text):
    with pytest.raises(InvalidValue, match=r"mine\.yaml is not a valid catalogue"):
        shipped.parse_book(Catalogue, text, where="mine.yaml")
    with pytest.raises(UnknownName, match="ibm"):
        shipped.catalogue("ibm")


def test_what_the_catalogue_makes_of_every_disk_is_as_it_was_reviewed():
    reviewed = Path(make.__file__).with_name("numbers.txt")
    assert list(make.lines()) == reviewed.read_text(encoding="utf-8").splitlines()
    assert set(clouds()) >= set(make.MACHINES), "every provider that ships disk types"


FIGURES = load_published()
CLOUD_TYPES = {"aws", "azure", "gcp"}


def text_of_post(seed):
    return (resources.files("diskbench.catalog") / "data/published" / f"{seed}.yaml").read_text()


def number(printed):
    found = re.search(r"\d[\d,]*(\.\d+)?", printed)
    assert found, printed
    return float(found[0].replace(",", ""))


def only(figure_id):
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
    assert only("iaas-2018/results/nvme-ssd/read").value == 1_614_000_000
    assert only("iaas-2018/results/io1-1000/iops").stddev == 1.8
    assert only("azure-caching/latencies/hdd/write-max").value == 464_461_000
    assert only("azure-caching/latencies/ssd-cached/device-cache-write-mean").value == 456_000
    assert only("ebs-types/c3.8xlarge-read/io1-5000/buffered").printed == "353.584"
    assert only("san-vs-local/aberrant/sata/stat-rand").value == 460_000


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
        source = yaml.safe_load(text_of_post(seed))["source"]
        assert source["title"]
        assert re.fullmatch(r"\d{3}_[0-9a-f]{16}\.txt", source["file"])
        assert source.get("date") or source["undated"]


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


SOURCE = {"title": "A post", "file": "post.txt"}


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
        (lambda d: d["source"].update(date=date(2018, 3, 16)), "reads as a date"),
        (lambda d: d.update(source={**SOURCE, "date": "March"}), "'March' does not match"),
        (lambda d: d.update(tables=3), "tables is not a list"),
        (lambda d: d["tables"][0].pop("words"), "tables.0.words is missing, which is text"),
        (lambda d: d["tables"][0]["rows"].insert(0, 7), "tables.0.rows.0 is not a mapping"),
        (lambda d: d["tables"].append(d["tables"][0]), "/read-250m is given twice"),
        (lambda d: d["machines"]["ec2"].update(memory_gib=1e300), "memory_gib: 1e+300 is out"),
        (lambda d: d["workloads"]["read-25m"].update(runtime_s=math.nan), "nan is not a finite"),
        (lambda d: d["workloads"]["read-25m"].update(parameters={"a": 10**30}), "is too large"),
        (lambda d: d["tables"][0]["rows"][0].update(figures={"write-25m": 1}), "not a mapping"),
    ],
)
def test_a_file_with_a_fault_is_refused_and_says_which_and_in_what_line(break_it, told):
    data = yaml.safe_load(text_of_post("ebs-fio"))
    break_it(data)
    line = rf"ebs-fio\.yaml:\d+: .*{re.escape(told)}"
    with pytest.raises(InvalidValue, match=line):
        read_imported(yaml.safe_dump(data).encode(), name="ebs-fio.yaml")


def test_a_fault_is_told_with_the_line_of_the_part_of_the_file_that_has_it():
    text = text_of_post("ebs-fio").replace("unit: IOPS", "unit: Mb/s")
    line = text.splitlines().index("    unit: Mb/s") + 1
    with pytest.raises(InvalidValue, match=f"own.yaml:{line}: own/fio/gp2/read-25m: unit: 'Mb/s'"):
        read_imported(text.encode(), name="own.yaml")


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
