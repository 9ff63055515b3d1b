"""`diskbench doctor` as a user types it, without a cloud; what `diskbench gc` prints."""

import io
import json

import jsonschema
import pytest
import yaml

from diskbench.cli import gc
from diskbench.cli.schema import MODELS, _schema
from diskbench.model.outcome import LeaseCost, Problem, Swept, Unlisted


def test_a_machine_that_is_well_ends_with_0_and_is_left_as_it_was(call, tmp_path):
    code, out, err = call("doctor")
    assert (code, err) == (0, "")
    assert [line.split()[1] for line in out.splitlines() if not line.startswith(" ")] == [
        "clock", "fio", "ssh", "database", "sqlite", "evidence",
    ]  # fmt: skip
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("document", MODELS)
def test_documents_have_a_schema_that_bears_later_fields(call, document):
    _, text, _ = call("schema", document)
    schema = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["properties"]["format"]["const"] == 1
    assert '"additionalProperties": false' not in text


def test_the_document_meets_its_schema(call):
    code, out, _ = call("doctor", "--output", "json")
    document = json.loads(out)
    jsonschema.validate(document, json.loads(call("schema", "doctor")[1]))
    assert (code, document["format"]) == (0, 1)
    assert document["state"] in {"ok", "warning"}


def test_the_policies_are_in_the_form_that_each_cloud_takes(call):
    statements = json.loads(call("doctor", "--print-policy", "aws")[1])["Statement"]
    assert {one["Effect"] for one in statements} == {"Allow"}
    role = json.loads(call("doctor", "--print-policy", "azure")[1])
    assert role["AssignableScopes"] == ["/subscriptions/SUBSCRIPTION"]
    custom = yaml.safe_load(call("doctor", "--print-policy", "gcp")[1])
    assert "compute.instances.create" in custom["includedPermissions"]
    listed = call("doctor", "--print-policy", "vsphere")[1].splitlines()
    assert "VirtualMachine.Interact.PowerOn" in listed


def test_what_cannot_be_examined_is_refused_with_what_can(call):
    err = call.refused("doctor", "--print-policy", "lab")
    assert "aws, azure, gcp, vsphere" in err
    assert "--provider gcp" in call.refused("doctor", "--project", "mine")
    code, out, _ = call("doctor", "--database-url", "sqlite:////dev/null/rows.db")
    assert (code, "problem" in out) == (2, True), out
    assert "--database-url" in out


def test_the_blocks_of_a_matrix_are_planned_with_the_tags_we_set(call, tmp_path, monkeypatch):
    (tmp_path / "two.yaml").write_text(
        "name: two\ndefaults: {provider: fake, disk: plain, profile: quick}\naxes: {size: [1, 2]}\n"
    )
    out = call.done("doctor", "--matrix", "two.yaml", "--output", "json")
    told = {one["check"]: one["told"] for one in json.loads(out)["findings"]}
    assert told["matrix"].startswith("2 cells can be planned")
    assert "fake" in {one["where"] for one in json.loads(out)["findings"]}
    monkeypatch.setenv("DISKBENCH_TAGS", "Company=Web")  # Google's keys have no capital letter
    (tmp_path / "one.yaml").write_text(
        "name: one\ndefaults: {provider: gcp, disk: pd-ssd, size: 20, profile: quick}\n"
    )
    code, out, _ = call("doctor", "--matrix", "one.yaml", "--output", "json")
    told = [one["told"] for one in json.loads(out)["findings"] if one["check"] == "matrix"]
    assert (code, "tags Company=Web:" in " ".join(told)) == (2, True), told


SINCE = "2026-11-21T10:02:03.000000+00:00"


def swept(outcome: str = "gave-back", **more: object) -> Swept:
    told = {
        "lease_id": "one", "where": "aws us-east-1", "provider": "aws", "region": "us-east-1",
        "resources": ("instance i-0abc", "volume vol-0def"), "reason": "it expired",
        "outcome": outcome,
    }  # fmt: skip
    return Swept.model_validate(told | more)


def cost(hourly: float | None, hours: float = 6.0) -> LeaseCost:
    usd = None if hourly is None else hourly * hours
    return LeaseCost(since=SINCE, hours=hours, hourly_usd=hourly, usd=usd)


def lines(*items: Swept) -> list[str]:
    stream = io.StringIO()
    gc.print_swept(items, stream=stream)
    return stream.getvalue().splitlines()


def test_what_went_is_told_with_where_why_and_its_cost_if_known_and_what_stays_is_not_priced():
    assert lines(swept(cost=cost(0.1238))) == [
        "gave back instance i-0abc, volume vol-0def on aws us-east-1: it expired",
        "  cost about $0.74 in 6.0 h since 2026-11-21 10:02 UTC, at $0.1238 an hour",
    ]
    told = "  cost unknown: no price is known, in 6.0 h since 2026-11-21 10:02 UTC"
    assert lines(swept(cost=cost(None)))[1] == told
    assert lines(swept())[1] == "  cost unknown: its lease is not in this database"
    assert len(lines(swept(cost=cost(0.0)))) == 1
    (line,) = lines(swept("kept", reason="a process is using it", cost=cost(1.0)))
    assert line.startswith("kept instance i-0abc")
    assert lines(swept("would-give-back"))[0].startswith("would give back ")


def test_what_could_not_go_is_an_error_with_advice_and_exit_code_3(capsys):
    problem = Problem(kind="ReleaseFailed", message="the key is in use", advice="try again")
    one = swept("could-not-give-back", problem=problem)
    assert lines(one)[0].startswith("could not give back")
    assert capsys.readouterr().err == "error: the key is in use\n  try again\n"
    assert (gc.sweep_code([one]), gc.sweep_code([swept()])) == (3, 0)


def test_the_document_sums_the_costs_of_what_went_and_meets_its_schema(capsys):
    region = {"where": "aws eu-south-2", "provider": "aws", "region": "eu-south-2"}
    unlisted = Unlisted(problem=Problem(kind="AccessDenied", message="denied"), **region)
    items = [swept(cost=cost(hourly)) for hourly in (0.5, 0.25, None)]
    items.append(swept("kept", cost=cost(9.0)))
    document = gc._document(items, [unlisted], dry_run=False)
    gc._print(document, "json")
    out, err = capsys.readouterr()
    told = json.loads(out)
    jsonschema.validate(told, _schema("gc"))
    assert (told["usd"], told["unpriced"]) == (4.5, 1)
    assert "not searched: aws eu-south-2" in err
    gc._print(document, "text")
    out, _ = capsys.readouterr()
    assert out.splitlines()[-1] == "total about $4.50, and 1 without a price"


def test_nothing_to_give_back_is_said_unless_something_stays_that_perhaps_expired(capsys):
    gc._print(gc._document([], [], dry_run=False), "text")
    assert capsys.readouterr() == ("", "nothing to give back\n")
    problem = Problem(kind="CloudSilent", message="aws answered without its time")
    gc._print(gc._document([swept("kept", problem=problem)], [], dry_run=False), "text")
    _, err = capsys.readouterr()
    assert "without its time" in err
    assert "nothing to give back" not in err
