"""`diskbench plan`: what a run would find and cost, nothing rented; the options of `run`."""

import json
import re
import subprocess
import sys
from functools import partial

import jsonschema
import pytest
from tests.rigs.cli import invoked, printed

from diskbench.cli.lazy import load
from diskbench.cli.schema import _schema
from diskbench.errors import InvalidValue, UnknownName, UserError
from diskbench.model.options import own_options
from diskbench.plan.cost import PlanDocument
from diskbench.plugin import plugin, plugin_names

GP2 = ("--provider", "aws", "--disk", "gp2", "--size", "20", "--region", "us-east-1", "--offline")
C4 = ("--instance-type", "c4.xlarge")


told = partial(printed, "plan")


def test_it_takes_every_flag_of_run():
    for arguments in ([], ["--provider", "azure"], ["--provider", "local"]):
        ours = {one.name for one in load("plan", arguments).params}
        assert ours ^ {one.name for one in load("run", arguments).params} == {"offline", "dry_run"}


def test_it_tells_what_each_step_should_find_what_limits_it_and_what_that_costs():
    text = told(*GP2, *C4, "--profile", "quick")
    assert "limited by" in text
    assert "rand-read-4k-qd32      3,000    12.3  disk IOPS" in text
    assert "  after 31 min           100    0.41  disk IOPS" in text
    assert "latency × queue depth" in text
    assert "VM throughput" in text
    text = " ".join(told(*GP2, *C4, "--profile", "quick").split())
    assert "$2.00 a month" in text
    assert "$20.00 per 1,000 IOPS of the baseline; $0.67 of the burst" in text
    assert "per 100 MB/s of the baseline" in text


def test_it_tells_when_credit_is_gone_how_sure_that_is_and_what_transactions_cost():
    text = " ".join(told(*GP2, *C4, "--profile", "gobonniego", "--runs", "40").split())
    assert "disk IOPS: used up after 3 h 11 min, in seq-read-64k of run 33" in text
    assert "depending on request size" in text
    hdd = ("--provider", "azure", "--region", "eastus", "--disk", "Standard_LRS", "--size", "256")
    text = " ".join(told(*hdd, "--profile", "quick", "--offline").split())
    assert "$77.03 a month, $65.70 of it transactions at the baseline" in text


def test_the_document_fits_its_schema_has_expectation_and_cost_and_plans_replicates_once():
    document = told(*GP2, *C4, "--profile", "quick", "--output", "json")
    jsonschema.Draft202012Validator(_schema("plan")).validate(json.loads(document))
    (one,) = PlanDocument.model_validate_json(document).trials
    assert not one.asked
    assert one.cost.total_usd is not None
    found = one.plan.expectation.of(one.plan.expectation.step(5))
    assert (found.begin.iops, found.lasting.iops) == (3000, 100)
    again = told(*GP2, *C4, "--profile", "quick", "--replicates", "5", "--output", "json")
    assert len(json.loads(again)["trials"]) == 1


@pytest.mark.slow
def test_a_machine_that_is_here_is_looked_at_and_what_it_should_find_is_its_promise(tmp_path):
    here = ("--path", str(tmp_path), "--profile", "quick", "--size", "0.05")
    text = told(*here, "--promise", "iops=5000,mb_per_s=100")
    assert "rand-read-4k-qd32      5,000    20.5  disk IOPS" in text
    assert list(tmp_path.iterdir()) == [], "nothing is written"


def test_a_disk_that_is_not_sold_is_refused():
    with pytest.raises(UserError):
        told("--provider", "aws", "--disk", "gp9", "--size", "20", "--offline")


def helped(*arguments):
    return invoked("run", *arguments).output


def flags(text):
    return set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", text, re.MULTILINE))


@pytest.mark.parametrize("name", plugin_names())
def test_help_for_a_provider_shows_its_own_options_and_no_others(name):
    text = helped("--provider", name, "--help")
    own = {one.flag for one in own_options(name)}
    foreign = {one.flag for other in plugin_names() for one in own_options(other)} - own
    assert own <= flags(text)
    assert not flags(text) & (foreign - {"--host"})
    assert all(len(line) <= 80 for line in text.splitlines())


def test_help_for_a_provider_leaves_out_what_it_refuses():
    assert "--subnet" not in flags(helped("--provider", "vsphere", "--help"))
    assert "--device" not in flags(helped("--provider", "aws", "--help"))
    assert "--device" in flags(helped("--provider", "ssh", "--help"))
    assert "--region" not in flags(helped("--provider", "local", "--help"))


@pytest.mark.parametrize("name", [one for one in plugin_names() if plugin(one).rents])
def test_throughput_is_asked_for_in_the_providers_unit(name):
    if "throughput" in plugin(name).refuses:
        return
    unit = "MiB/s" if plugin(name).throughput_unit_bytes == 2**20 else "MB/s (10^6"
    assert f"{unit}" in helped("--provider", name, "--help")


@pytest.mark.parametrize("where", [["--provider", "aws"], ["--provider=local"], []])
def test_an_option_of_another_provider_is_refused_by_its_name(where):
    with pytest.raises(InvalidValue, match="--cache readonly cannot be used with") as refused:
        helped(*where, "--cache", "readonly")
    assert "azure" in refused.value.advice


def test_an_unknown_provider_or_option_is_refused_by_its_name():
    with pytest.raises(UnknownName, match="azurre"):
        helped("--provider", "azurre", "--help")
    assert "No such option" in helped("--provider", "aws", "--cachee", "x")


def test_completion_knows_the_provider_for_flags_and_values():
    (cache,) = (one for one in load("run", ["--provider", "azure"]).params if one.name == "cache")
    context = load("run", ["--provider", "azure"]).make_context("run", [], resilient_parsing=True)
    assert [one.value for one in cache.shell_complete(context, "read")] == ["readonly", "readwrite"]
    command = load("run", ["--provider", "azure"])
    context = command.make_context("run", ["--provider", "azure"], resilient_parsing=True)
    assert {one.value for one in command.shell_complete(context, "--ca")} == {"--cache"}


@pytest.mark.slow
def test_help_imports_no_provider_that_is_not_named():
    asks = (
        "import sys; from diskbench.cli.main import main\n"
        "for line in sys.argv[1:]: main(line.split()); print(*sys.modules, file=sys.stderr)"
    )
    lines = ("--help", "run --help", "run --provider azure --help")
    done = subprocess.run(
        [sys.executable, "-c", asks, *lines], capture_output=True, text=True, check=True
    )
    for line, told in zip(lines, done.stderr.splitlines(), strict=True):
        ours = (one.split(".") for one in told.split() if one.startswith("diskbench.prov"))
        loaded = {one[2] for one in ours if len(one) > 2}
        assert loaded & set(plugin_names()) <= ({"azure"} if "azure" in line else set()), line
        assert not {"azure.core", "boto3", "pyVmomi"} & set(told.split()), line


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


def test_the_plan_says_from_how_many_to_how_many_and_its_document_what_was_typed(call):
    out = call.done("plan", *LAB, "--until-ci", "5%", "--max-replicates", "20")
    out = " ".join(out.split())
    assert "from 10 to 20 replicates of each block, until the interval of every step" in out
    assert "20 cells of one block" in out
    flags = ("--until-ci", "0.03", "--replicates", "12", "--label", "team=x", "--runs", "2")
    found = call.json("plan", *LAB, *flags, "--time-scale", "100")
    assert (found["limits"]["until_ci"], found["limits"]["min_replicates"]) == (0.03, 12)
    (block,) = found["blocks"]
    assert (block["replicates"], block["runs"]) == (30, 2)
