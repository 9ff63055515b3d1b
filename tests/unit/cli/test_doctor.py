"""`diskbench doctor` as a user types it, without a cloud."""

import json

import jsonschema
import pytest
import yaml

from diskbench.cli.schema import MODELS


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
