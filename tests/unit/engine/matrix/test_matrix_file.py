"""A matrix file with mistakes names all of them, each with its line and what would be right."""

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rigs.searching import examples

from diskbench.engine.matrix.matrix_file import load_matrix, seed_of, shipped_matrices
from diskbench.errors import InvalidValue, MatrixError, UnknownName
from diskbench.plan.matrix import expand
from diskbench.plan.matrix_form import cell_model

HEAD = "name: mine\n"
TOGETHER = "no combination has all of it together; leave it out, or change it"

WRONG = """\
name: mine
defaults:
  provider: asw
  reigon: us-east-1
  profile: quikc
axes:
  disk:
    - {disk: gp2, size: 20g}
    - {disk: gp9, size: 20}
"""


def load(folder: Path, text: str):
    (folder / "mine.yaml").write_text(text)
    return load_matrix(str(folder / "mine.yaml")).matrix


def mistakes(folder: Path, text: str) -> list[str]:
    """What is told of a file: `LINE: …`."""
    with pytest.raises(MatrixError) as refused:
        load(folder, text)
    file = folder / "mine.yaml"
    first, *told = refused.value.message.split("\n  ")
    counted = "1 mistake" if len(told) == 1 else f"{len(told)} mistakes"
    assert first == f"{file} has {counted}"
    assert all(one.startswith(f"{file}:") for one in told)
    return [one.removeprefix(f"{file}:") for one in told]


def test_mistakes_are_named_with_their_lines_and_what_is_nearest(tmp_path):
    assert mistakes(tmp_path, WRONG) == [
        "3: unknown provider 'asw'; did you mean aws?",
        "4: unknown key 'reigon' in defaults; known: diskbench matrix schema",
        "5: unknown profile 'quikc'; did you mean quick?",
        "8: axes.disk[0].size: '20g' is not a number",
    ]
    known = WRONG.replace("asw", "aws").replace("quikc", "quick").replace("20g", "20")
    assert mistakes(tmp_path, known) == [
        "4: unknown key 'reigon' in defaults; known: diskbench matrix schema",
        "9: unknown AWS disk type 'gp9'; did you mean gp3 or gp2?",
    ]


FORM = {
    "titel: x": "2: unknown key 'titel'; known: name, title, defaults",
    "zzz: x": "2: unknown key 'zzz'; known: name, title, defaults",
    "axes: [1]": "2: axes: a list is not a mapping",
    "axes: {disk: gp2}": "2: axes.disk: 'gp2' is not a list",
    "axes: {dsk: [a]}": "2: the axis 'dsk' is not the name of a field; name it after one, or give",
    "axes: {zzz: [1]}": "2: the axis 'zzz' is not the name of a field; name it after one, or give",
    "axes: {disk: []}": "2: axes.disk has no value",
    "axes: {disk: [{disc: a}]}": "2: unknown key 'disc' in axes.disk[0]; known: diskbench",
    "axes: {disk: [true]}": "2: axes.disk[0]: true is not text",
    "axes: {iops: [1.5]}": "2: axes.iops[0]: 1.5 is not a whole number",
    "axes: {iops: [many]}": "2: axes.iops[0]: 'many' is not a whole number",
    "axes: {size: [-1]}": "2: axes.size[0]: -1 is out of range; it must be greater than 0",
    "axes: {stripe: [yep]}": "2: axes.stripe[0]: 'yep' is not true or false",
    "axes: {zones: [[a], b]}": "2: axes.zones[1]: 'b' is not a list",
    "defaults: {runs: 0}": "2: defaults.runs: 0 is out of range; it must be at least 1",
    "defaults: {parameters: {a: [1]}}": "2: defaults.parameters.a: a list is not text, a number",
    "defaults: {promise: {iosp: 1}}": "2: unknown key 'iosp' in defaults.promise; known: iops",
    "include: {disk: a}": "2: include: a mapping is not a list",
    "limits: {bugdet: 1}": "2: unknown key 'bugdet' in limits; known: max_parallel",
    "limits: {deadline: 2 weeks}": "2: limits.deadline: '2 weeks' is not a duration; write seconds",
    "limits: {per: {aws: many}}": "2: limits.per.aws: 'many' is not a whole number",
    "order: randon": "2: order: 'randon' is not one of random, listed",
    "seed: -1": "2: seed: -1 is out of range; it must be at least 0",
    "reuse_host: maybe": "2: reuse_host: 'maybe' is not true or false",
    "name: again": "2: 'name' is given twice, first in line 1",
    "title: [": "2: not valid YAML: ",
    "title:": "2: 'title' has no value",
}


@pytest.mark.parametrize(("line", "mistake"), FORM.items(), ids=FORM)
def test_the_form_of_a_file_is_told(tmp_path, line, mistake):
    assert any(one.startswith(mistake) for one in mistakes(tmp_path, f"{HEAD}{line}\n"))


@pytest.mark.parametrize("text", ["[]", "x", "- a: 1"])
def test_what_is_no_mapping_is_no_matrix(tmp_path, text):
    assert re.match("1: a matrix is a mapping", mistakes(tmp_path, text)[0])


AWS = {"provider": "aws", "disk": "gp2", "size": 20}
CELLS = {
    "no provider": ({}, "runs", "no provider is named; add `provider: NAME`"),
    "disk": ({**AWS, "disk": "gp9"}, "disk",
        "unknown AWS disk type 'gp9'; did you mean gp3 or gp2?"),
    "root": ({**AWS, "disk": "root:gp9"}, "disk", "'gp9' is not a valid type of a root disk"),
    "size": ({**AWS, "size": 99999}, "size",
        "gp2: size 99,999 GiB is too large; gp2 is available from 1 to 16,384"),
    "whole": ({**AWS, "size": 0.5}, "size", "size 0.5: a disk is rented in whole GiB"),
    "no size": ({"provider": "aws", "disk": "gp2"}, "disk", "disk gp2 needs a size; add size GIB"),
    "iops": ({**AWS, "iops": 5}, "iops",
        "gp2 does not accept iops: type and size set its performance"),
    "machine": ({**AWS, "instance_type": "m5large"}, "instance_type",
        "instance_type 'm5large' is not a valid name in AWS"),
    "zone": ({**AWS, "region": "us-east-1", "zone": "eu-west-1a"}, "zone",
        "zone eu-west-1a is not in reg"),
    "count": ({**AWS, "count": 2}, "count",
        "count 2 without stripe: only one disk would be measured"),
    "account": ({**AWS, "project": "p"}, "project",
        "project p cannot be used with provider aws; it is an option of gcp"),
    "cache": ({"provider": "azure", "disk": "Premium_LRS", "size": 8, "cache": "readrite"}, "cache",
        "unknown host cache 'readrite'; did you mean readwrite?"),
    "parameter": ({**AWS, "parameters": {"runtme": 1}}, "parameters",
        "'runtme' is not a valid parameter of profile"),
    "value": ({**AWS, "parameters": {"size": "big"}}, "parameters",
        "parameter size='big' is not a valid size"),
    "label": ({**AWS, "labels": {"a b": 1}}, "labels",
        "label key 'a b' holds something other than"),
    "replicates": ({"provider": "ssh", "host": "a", "path": "/x", "replicates": 2}, "replicates",
        "replicates rents a new machine and disk each time"),
    "path": ({"provider": "ssh", "host": "a", "path": "x"}, "path", "path 'x' is relative"),
    "filesystem": ({**AWS, "filesystem": "btrfs"}, "filesystem", "unknown filesystem 'btrfs'"),
    "zones": ({**AWS, "zones": ["a", "a"]}, "zones", "zones a, a name one twice"),
}  # fmt: skip


SHARED = {
    "root": ({**AWS, "disk": "root"}, "disk", "disk root comes with its machine"),
    "local": ({"provider": "gcp", "disk": "local-ssd", "instance_type": "n2-standard-8"}, "disk",
        "disk local-ssd comes with its machine"),
    "ultra": (
        {"provider": "azure", "disk": "UltraSSD_LRS", "size": 8, "iops": 300, "throughput": 8},
        "disk", "disk UltraSSD_LRS needs a machine that was made for it"),
    "no machine": (AWS, "disk", "disk gp2 is given without a machine, which reuse_host needs"),
    "stripe": ({**AWS, "instance_type": "m5.large", "count": 2, "stripe": True}, "stripe",
        "stripe cannot be used with reuse_host"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("head", "fields", "field", "mistake"),
    [
        *(pytest.param("", *told, id=name) for name, told in CELLS.items()),
        *(
            pytest.param("reuse_host: true\n", *told, id=f"shared {name}")
            for name, told in SHARED.items()
        ),
    ],
)
def test_what_cannot_be_had_is_told_where_it_is_given(tmp_path, head, fields, field, mistake):
    """Each field stands in a line of its own; the one that is to blame is pointed at."""
    lines = "".join(f"      {name}: {value!r}\n" for name, value in fields.items())
    text = f"{HEAD}{head}axes:\n  v:\n    - runs: 2\n{lines.replace('True', 'true')}"
    (told,) = mistakes(tmp_path, text)
    number, _, message = told.partition(": ")
    assert message.startswith(mistake)
    assert text.splitlines()[int(number) - 1].split(":")[0].strip(" -") == field


def test_a_parameter_is_told_where_it_stands_and_not_where_others_do(tmp_path):
    text = f"""{HEAD}\
defaults: {{provider: lab, disk: gp2, size: 8, parameters: {{runtime: 3}}}}
axes:
  v:
    - parameters: {{sise: 1g}}
"""
    assert mistakes(tmp_path, text)[0].startswith("5: 'sise' is not a valid parameter")


def test_an_exclude_that_matches_nothing_is_told_with_what_is_nearest(tmp_path):
    text = f"""{HEAD}\
defaults: {{provider: aws}}
axes:
  volume: [{{disk: gp2, size: 20}}, {{disk: gp3, size: 40}}]
exclude:
  - disk: gp2
    size: 30
  - {{region: us-est-1}}
  - {{disk: gp1}}
  - {{disk: gp2, size: 40}}
  - {{disk: gp3}}
"""
    assert mistakes(tmp_path, text) == [
        "7: exclude[0] matches nothing: no combination has size 30; there is 20, 40",
        "8: exclude[1] matches nothing: no combination has region us-est-1; none has any region",
        "9: exclude[2] matches nothing: no combination has disk gp1; there is gp2, gp3",
        f"10: exclude[3] matches nothing: {TOGETHER}",
    ]


def test_a_cell_that_is_there_twice_and_limits_where_nothing_is_are_told(tmp_path):
    text = f"""{HEAD}\
defaults: {{provider: aws}}
axes:
  volume:
    - {{disk: gp2, size: 20}}
    - {{disk: gp2, size: 40}}
    - {{disk: gp2, size: 20.0}}
"""
    (told,) = mistakes(tmp_path, text)
    assert told.startswith("7: aws/gp2-20GiB/default occurs twice, first in line 5; use `repl")
    text = f"""{HEAD}\
defaults: {{provider: aws, region: us-east-1, disk: gp2, size: 20}}
limits:
  per:
    aws/us-est-1: 2
    gcp: 1
  calls_per_minute: {{aws: 10}}
"""
    assert mistakes(tmp_path, text) == [
        "5: limits.per: no cell is in 'aws/us-est-1'; there is aws, aws/us-east-1",
        "6: limits.per: no cell is in 'gcp'; there is aws, aws/us-east-1",
    ]


def test_what_is_wrong_is_told_once_but_a_name_that_is_none_too(tmp_path):
    """Without its size gp2 could not be had: but the size is there, and was told."""
    text = f"{HEAD}defaults: {{provider: aws, disk: gp2}}\naxes: {{size: [big, 20]}}\n"
    assert mistakes(tmp_path, text) == ["3: axes.size[0]: 'big' is not a number"]
    text = f"{HEAD}defaults: {{provider: aws, size: big}}\naxes: {{disk: [gp2, gp9]}}\n"
    assert [one[:2] for one in mistakes(tmp_path, text)] == ["2:", "3:"]
    text = f"{HEAD}axes:\n  dsk: [gp2, {{provider: false}}]\ndefaults: {{provider: aws, size: 8}}\n"
    (told,) = mistakes(tmp_path, text)
    assert told.startswith("3: the axis 'dsk' is not the name of a field")


def test_a_profile_is_looked_for_beside_the_matrix_and_a_missing_one_is_told(tmp_path):
    (tmp_path / "mine.fio").write_text("[a]\nrw=read\nsize=1m\n")
    text = f"{HEAD}defaults: {{provider: lab, disk: gp2, size: 8}}\naxes: {{profile: [./mine.fio]}}"
    (cell,) = expand(load(tmp_path, text), seed=1)
    assert cell.cell.profile == str(tmp_path / "mine.fio")
    text = f"{HEAD}defaults:\n  provider: lab\n  profile: ./none.fio\n"
    assert "4: profile" in mistakes(tmp_path, text)[0]


def test_what_this_machine_cannot_do_is_no_mistake_of_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert load(tmp_path, f"{HEAD}defaults: {{provider: lab, disk: gp2, size: 8}}\n").name == "mine"


def test_a_file_that_is_not_there_and_a_name_that_is_none_or_without_form_are_refused(tmp_path):
    with pytest.raises(InvalidValue, match="cannot be read"):
        load_matrix(str(tmp_path / "none.yaml"))
    with pytest.raises(UnknownName) as refused:
        load_matrix("gp2-brst")
    assert "gp2-burst" in refused.value.advice
    assert mistakes(tmp_path, "title: x\n")[0] == "1: name is missing; add `name:`"
    assert "not a name" in mistakes(tmp_path, "name: My Name\n")[0]


@pytest.mark.parametrize("name", shipped_matrices())
def test_every_shipped_matrix_is_without_mistakes(name):
    found = load_matrix(name)
    assert found.matrix.name == name
    assert found.matrix.title
    assert expand(found.matrix, seed=1)


PAGE = (Path(__file__).parents[4] / "docs/matrix.md").read_text()


def test_the_example_of_the_page_is_a_matrix_and_its_mistakes_are_told_so(tmp_path):
    shown = PAGE.split("```text\nerror: ")[1].split("```")[0]
    told = "\n".join(f"  mine.yaml:{one}" for one in mistakes(tmp_path, WRONG))
    assert shown == f"mine.yaml has 4 mistakes\n{told}\n"
    matrix = load(tmp_path, PAGE.split("```yaml\n")[1].split("```")[0])
    assert {one.block for one in expand(matrix, seed=1)} == {
        "aws/eu-central-1/m5.large/gp2-20GiB/burst",
        "aws/eu-central-1/m5.large/gp3-20GiB/default",
        "aws/eu-central-1/c6i.large/gp2-20GiB/burst",
        "aws/eu-central-1/c6i.large/gp3-20GiB/default",
        "aws/eu-central-1/c6i.large/gp3-20GiB-6000iops/default",
        "ssh/root@db1/mnt/default",
    }


def test_a_seed_is_as_typed_else_the_files_else_a_new_one():
    matrix = load_matrix("gp2-burst").matrix
    assert matrix.seed is None
    assert seed_of(matrix, 3) == 3
    assert seed_of(matrix.model_copy(update={"seed": 5})) == 5
    assert len({seed_of(matrix) for _ in range(8)}) > 1


WORDS = st.sampled_from(
    [*["aws", "lab", "ssh", "gp2", "quick", "x", "1", "us-east-1", "20g", "a/b"], ""]
)
KEYS = st.sampled_from([*cell_model().model_fields, "x", "profil", "1"])
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 99) | st.floats(-2, 99) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner),
    max_leaves=8,
)


def mapping(keys: str, values: st.SearchStrategy, most: int | None = None) -> st.SearchStrategy:
    return st.dictionaries(st.sampled_from(keys.split()), values, max_size=most) | ANYTHING


FIELDS = mapping("provider disk size profile parameters host path zones", ANYTHING, 5)
LIST = st.lists(FIELDS, max_size=3) | ANYTHING
FILES = st.fixed_dictionaries(
    {"name": st.just("mine")},
    optional={
        "defaults": FIELDS,
        "axes": mapping("disk size v parameters labels", LIST, 3),
        "include": LIST,
        "exclude": LIST,
        "limits": mapping("max_parallel per budget deadline attempts x", ANYTHING),
        **dict.fromkeys(("labels", "order", "seed", "route", "titel"), ANYTHING),
    },
)


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(200))
@given(FILES)
def test_whatever_a_file_says_it_is_a_matrix_or_its_mistakes_are_told(tmp_path_factory, data):
    file = tmp_path_factory.getbasetemp() / "fuzzed.yaml"
    file.write_text(yaml.safe_dump(data))
    try:
        found = load_matrix(str(file))
    except MatrixError as error:
        count = len(file.read_text().splitlines())
        lines = [int(one) for one in re.findall(r"fuzzed\.yaml:(\d+): ", error.message)]
        assert lines == sorted(lines)
        assert all(1 <= one <= count for one in lines)
    else:
        assert expand(found.matrix, seed=1)
