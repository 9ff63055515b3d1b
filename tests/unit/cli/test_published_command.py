"""`diskbench published`: list and show."""

import json
from functools import partial

import jsonschema
import pytest

from diskbench.catalog.published import load_published

ALL = load_published()


@pytest.fixture
def run(call):
    """Run a command line; returns exit code, stdout and stderr."""
    return partial(call, "published")


def test_list_has_a_line_for_every_figure_in_80_columns_and_marks_what_is_doubted(run):
    code, out, err = run("list")
    assert (code, err) == (0, "")
    assert len([line for line in out.splitlines() if line[:1] in ("!", " ")]) == len(ALL)
    assert max(map(len, out.splitlines())) <= 80
    _, out, _ = run("list", "--post", "san-vs-local")
    (cached,) = [line for line in out.splitlines() if "325,000 IOPS" in line]
    (trusted,) = [line for line in out.splitlines() if "2,573 IOPS" in line]
    assert cached.startswith("! ")
    assert trusted.startswith("  ")


def test_list_filters_and_unknown_names_get_the_nearest(run):
    _, out, _ = run("list", "--provider", "aws", "--disk", "gp2", "--post", "iaas-2018")
    assert [line.split()[1] for line in out.splitlines()[1:]] == [
        "results/gp2/iops", "results/gp2/read", "results/gp2/write",
    ]  # fmt: skip
    code, out, err = run("list", "--post", "iaas")
    assert (code, out) == (2, "")
    assert "did you mean iaas-2018" in err
    code, _, err = run("show", "iaas-2018/results/gp3")
    assert (code, "iaas-2018/results/gp2" in err) == (2, True), err


@pytest.mark.slow
@pytest.mark.parametrize("command", [("list",), ("show", "iaas-2018"), ("list", "--disk", "io1")])
def test_json_meets_its_published_schema(run, call, command):
    code, out, _ = run(*command, "--output", "json")
    assert code == 0
    document = json.loads(out)
    jsonschema.validate(document, json.loads(call("schema", "published")[1]))
    assert document["format"] == 1
    assert document["published"]


@pytest.mark.parametrize("name", sorted({f.seed for f in ALL}))
def test_show_tells_all_within_80_columns(run, name):
    code, out, _ = run("show", name)
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert out.count("    printed ") == len([f for f in ALL if f.seed == name])


def test_show_tells_samples_method_doubt_and_what_repeats_it(run):
    _, out, _ = run("show", "ebs-types/m3.medium-write/root-gp2/write")
    text = " ".join(out.split())
    assert "1200, 65.3, 246, 81.8, 383" in text
    assert "mean of 5" in text
    assert "if=/dev/zero" in text
    assert "served-from-cache" in text
    assert "profile dd" in text
    assert "size unknown" in text
