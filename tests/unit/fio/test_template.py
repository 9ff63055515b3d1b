"""Parameters are typed and checked, templates are strict and kept in their room."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rigs.plans import machine

from diskbench.errors import InvalidValue, ProfileError, UnknownName
from diskbench.fio.profiles import Parameter, parse_profile, read_value
from diskbench.fio.target import FioTarget
from diskbench.fio.template import is_local_nvme, render
from diskbench.model.facts import DiskFacts

FACTS = machine(4, memory_bytes=8 << 30, fio_engines=("psync", "libaio"))
TARGET = FioTarget(kind="directory", path="/m")


def profile(body, parameters=""):
    head = "title: t\nquestion: q\nsource: s\n"
    return parse_profile(f"---\n{head}{parameters}---\n{body}", name="mine")


SIZE = """parameters:
  size: {kind: size, default: "{{ target.size_bytes or '4g' }}", help: h, minimum: 4096}
  runtime: {kind: duration, default: 5m, help: h, minimum: 1, maximum: 3600}
  workers: {kind: int, default: "{{ host.cores * 2 }}", help: h}
"""


@pytest.mark.slow
def test_defaults_are_worked_out_from_host_and_target():
    mine = profile("{{ size }} {{ runtime }} {{ workers }}", SIZE)
    text, parameters = render(mine, {}, FACTS, TARGET)
    assert text == f"{4 << 30} 300 8"
    assert parameters == {"size": 4 << 30, "runtime": 300, "workers": 8}


def test_set_replaces_a_default_as_its_kind_and_an_unknown_parameter_lists_the_known_ones():
    mine, overrides = profile("{{ size }} {{ runtime }}", SIZE), {"size": "64k", "runtime": "1m"}
    assert render(mine, overrides, FACTS, TARGET)[0] == "65536 60"
    with pytest.raises(UnknownName) as caught:
        render(profile("", SIZE), {"runtme": "1"}, FACTS, TARGET)
    assert caught.value.message == "'runtme' is not a valid parameter of profile 'mine'"
    assert "runtime" in caught.value.advice
    assert "size" in caught.value.advice


@pytest.mark.parametrize(
    ("kind", "bound", "text", "told"),
    [
        ("size", 2**20, "0", "at least 1 MiB"), ("duration", 90, "1s", "at least 1 min 30 s"),
        ("duration", 0.5, "0.1", "at least 0.5 s"), ("int", 1_500_000, "1", "at least 1,500,000"),
        ("float", 0.25, "0.1", "at least 0.25"),
    ],
)  # fmt: skip
def test_a_bound_is_told_in_the_unit_that_is_typed(kind, bound, text, told):
    parameter = Parameter(name="x", default="1", help="h", kind=kind, minimum=bound)
    with pytest.raises(InvalidValue) as caught:
        read_value(parameter, text)
    assert told in caught.value.advice


def test_a_value_out_of_kind_or_range_is_named():
    wrong = {"size": ("many", "0", "-1"), "runtime": ("0", "2h", "soon"), "workers": ("1.5", "x")}
    for key, value in ((key, value) for key, values in wrong.items() for value in values):
        with pytest.raises(InvalidValue, match=key):
            render(profile("", SIZE), {key: value}, FACTS, TARGET)


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=30))
def test_no_value_brings_a_line_or_a_comment(text):
    parameter = Parameter(name="p", default="", help="h")
    try:
        value = read_value(parameter, text)
    except InvalidValue:
        return
    assert not set(str(value)) & set("\n\r;#$`'\"{}[]\\")


INJECTED = ["4k\nexec_prerun=id", "4k\n", "a;b", "{{ 1 }}", "[x]", "$HOME"]


@pytest.mark.parametrize(
    ("kind", "value"),
    [*(("str", value) for value in INJECTED), *(("float", v) for v in ("nan", "inf", "-inf"))],
)
def test_a_value_cannot_inject_an_option_and_a_float_is_a_number(kind, value):
    with pytest.raises(InvalidValue):
        read_value(Parameter(name="p", default="", help="h", kind=kind), value)


PRYING = ("{{ ''.__class__.__mro__ }}", "{{ host.nothing }}", "{% include 'x' %}")


@pytest.mark.parametrize("body", ["{% if %}", "{{ 1 // 0 }}", *PRYING])
def test_a_wrong_or_prying_template_is_refused(body):
    with pytest.raises(ProfileError):
        render(profile(body), {}, FACTS, TARGET)


def test_the_best_engine_of_the_target_is_offered():
    best = {("psync", "io_uring"): "io_uring", (): "libaio", ("psync",): "psync"}
    for engines, chosen in best.items():
        facts = FACTS.model_copy(update={"fio_engines": engines})
        assert render(profile("{{ engine }}"), {}, facts, TARGET)[0] == chosen


def test_local_nvme_is_told_from_network_nvme():
    ebs, own = "Amazon Elastic Block Store", "Amazon EC2 NVMe Instance Storage"
    for model in (None, ebs, own):
        disk = DiskFacts(name="nvme0n1", path="/dev/nvme0n1", transport="nvme", model=model)
        assert is_local_nvme(disk) is (model != ebs)


@pytest.mark.parametrize("text", ["{{ 5|dictsort }}", "{{ 5|xmlattr }}", "{{ cycler() }}"])
def test_whatever_a_filter_raises_is_told_with_its_line(text):
    with pytest.raises(ProfileError, match=r"line 7: .+") as told:
        render(profile(f"[a]\n{text}\n"), {}, FACTS, TARGET)
    assert "MiB" not in str(told.value)


def test_an_undefined_variable_is_named_with_its_line_and_a_long_name_by_its_beginning():
    with pytest.raises(ProfileError) as caught:
        render(profile("[a]\nrw=read\nbs={{ blocksize }}\n"), {}, FACTS, TARGET)
    assert "'blocksize'" in caught.value.message
    assert "line 8" in caught.value.message
    with pytest.raises(ProfileError) as told:
        render(profile('{{ {}["x" * 100000] }}'), {}, FACTS, TARGET)
    assert len(str(told.value)) < 1000


def test_a_template_is_expanded_once_for_the_same_values_and_plain_text_never(monkeypatch):
    def run(*_, **__):
        raise AssertionError("a process was started")

    mine = profile("[job]\nnumjobs={{ host.cores * 3 }}\n")
    first = render(mine, {}, machine(7), TARGET)
    assert "numjobs=21" in first[0]
    monkeypatch.setattr("diskbench.fio.template.subprocess.run", run)
    assert render(mine, {}, machine(7), TARGET) == first
    with pytest.raises(AssertionError, match="process"):
        render(mine, {}, machine(8), TARGET)
    assert "rw=read" in render(profile("[job]\nrw=read\n"), {}, machine(), TARGET)[0]
    text = "[a]\nrw=read\ndescription={{ x }}\n"
    assert render(parse_profile(text, name="plain"), {}, FACTS, TARGET)[0] == text


def test_a_template_that_met_a_limit_is_tried_again(monkeypatch):
    mine = profile("[job]\nnumjobs={{ host.cores * 5 }}\n")

    def late(*_, **__):
        raise subprocess.TimeoutExpired("python", 30)

    with monkeypatch.context() as patched:
        patched.setattr("diskbench.fio.template.subprocess.run", late)
        with pytest.raises(ProfileError, match="processor time"):
            render(mine, {}, machine(2), TARGET)
    assert "numjobs=10" in render(mine, {}, machine(2), TARGET)[0]
