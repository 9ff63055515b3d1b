"""The options of `run`: few in plain help, each provider's own beside the common ones, and
`--until-ci` refused before anything is rented where it cannot mean anything."""

import json
import re
import subprocess
import sys

import pytest
from tests.rigs.cli import invoked

from diskbench.cli.lazy import load
from diskbench.errors import InvalidValue, UnknownName
from diskbench.model.options import own_options
from diskbench.plugins import plugin, plugin_names


def told(*arguments: str) -> str:
    return invoked("run", *arguments).output


def flags(text: str) -> set[str]:
    return set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", text, re.MULTILINE))


@pytest.mark.parametrize("name", plugin_names())
def test_help_for_a_provider_shows_its_own_options_and_no_others(name: str):
    text = told("--provider", name, "--help")
    own = {one.flag for one in own_options(name)}
    foreign = {one.flag for other in plugin_names() for one in own_options(other)} - own
    assert own <= flags(text)
    assert not flags(text) & (foreign - {"--host"})
    assert all(len(line) <= 80 for line in text.splitlines())


def test_help_for_a_provider_leaves_out_what_it_refuses():
    assert "--subnet" not in flags(told("--provider", "vsphere", "--help"))
    assert "--device" not in flags(told("--provider", "aws", "--help"))
    assert "--device" in flags(told("--provider", "ssh", "--help"))
    assert "--region" not in flags(told("--provider", "local", "--help"))


@pytest.mark.parametrize("name", [one for one in plugin_names() if plugin(one).rents])
def test_throughput_is_asked_for_in_the_providers_unit(name: str):
    if "throughput" in plugin(name).refuses:
        return
    unit = "MiB/s" if plugin(name).throughput_unit_bytes == 2**20 else "MB/s (10^6"
    assert f"{unit}" in told("--provider", name, "--help")


@pytest.mark.parametrize("where", [["--provider", "aws"], ["--provider=local"], []])
def test_an_option_of_another_provider_is_refused_by_its_name(where: list[str]):
    with pytest.raises(InvalidValue, match="--cache readonly cannot be used with") as refused:
        told(*where, "--cache", "readonly")
    assert "azure" in refused.value.advice


def test_an_unknown_provider_or_option_is_refused_by_its_name():
    with pytest.raises(UnknownName, match="azurre"):
        told("--provider", "azurre", "--help")
    assert "No such option" in told("--provider", "aws", "--cachee", "x")


def test_completion_knows_the_provider_for_flags_and_values():
    (cache,) = (one for one in load("run", ["--provider", "azure"]).params if one.name == "cache")
    context = load("run", ["--provider", "azure"]).make_context("run", [], resilient_parsing=True)
    assert [one.value for one in cache.shell_complete(context, "read")] == ["readonly", "readwrite"]
    command = load("run", ["--provider", "azure"])
    context = command.make_context("run", ["--provider", "azure"], resilient_parsing=True)
    assert {one.value for one in command.shell_complete(context, "--ca")} == {"--cache"}


@pytest.mark.slow
@pytest.mark.parametrize("line", ["--help", "run --help", "run --provider azure --help"])
def test_help_imports_no_provider_that_is_not_named(line: str):
    asks = (
        "import sys; from diskbench.cli.main import main; main(sys.argv[1:]); "
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", asks, *line.split()], capture_output=True, text=True, check=True
    )
    loaded = {one.split(".")[2] for one in done.stderr.split() if one.startswith("diskbench.prov")
              and one.count(".") >= 2}  # fmt: skip
    assert loaded & set(plugin_names()) <= ({"azure"} if "azure" in line else set())
    assert not {"azure.core", "boto3", "pyVmomi"} & set(done.stderr.split())


def test_a_run_without_a_target_writes_nothing_and_shows_three_examples(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words in (["run"], ["run", "--profile", "quick"]):
        with pytest.raises(InvalidValue) as refused:
            invoked(*words)
        assert refused.value.exit_code == 2
        assert refused.value.advice.count("    diskbench run ") == 3
    assert list(tmp_path.iterdir()) == []


LAB = ("--provider", "lab", "--disk", "gp2", "--size", "20", "--profile", "quick")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--path", ".", "--until-ci", "5%"), "--provider local rents none"),
        (("--host", "db1", "--until-ci", "5%"), "--provider ssh rents none"),
        ((*LAB, "--until-ci", "wide"), "'wide' is not a share"),
        ((*LAB, "--until-ci", "500%"), "'500%' is not a share"),
        ((*LAB, "--until-ci", "5%", "--replicates", "6"), "fewer than 10"),
        ((*LAB, "--until-ci", "5%", "--max-replicates", "8"), "is less than the minimum of 10"),
        ((*LAB, "--max-replicates", "20"), "has no effect without --until-ci"),
        ((*LAB, "--deadline", "1h"), "has no effect without --until-ci"),
        ((*LAB, "--until-ci", "5%", "--iap"), "iap"),
        ((*LAB[:-1], "quikc", "--until-ci", "5%"), "did you mean quick?"),
    ],
)
def test_what_cannot_be_meant_ends_with_2_and_rents_nothing(call, tmp_path, arguments, told):
    assert told in call.refused("run", *arguments)
    assert not (tmp_path / "rows.db").exists(), "nothing was begun"


def test_the_plan_says_from_how_many_to_how_many(call):
    out = call.done("plan", *LAB, "--until-ci", "5%", "--max-replicates", "20")
    out = " ".join(out.split())
    assert "from 10 to 20 replicates of each block, until the interval of every step" in out
    assert "20 cells of one block" in out


def test_the_plan_as_a_document_holds_the_limits_and_what_was_typed(call):
    flags = ("--until-ci", "0.03", "--replicates", "12", "--label", "team=x", "--runs", "2")
    out = call.done("plan", *LAB, *flags, "--time-scale", "100", "--output", "json")
    found = json.loads(out)
    assert (found["limits"]["until_ci"], found["limits"]["min_replicates"]) == (0.03, 12)
    (block,) = found["blocks"]
    assert (block["replicates"], block["runs"]) == (30, 2)
