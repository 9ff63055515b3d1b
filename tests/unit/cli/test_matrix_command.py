"""`diskbench matrix`: list, show, schema, plan; a matrix on the terminal and as a document."""

import io
import json
import re
import sys
from functools import partial

import jsonschema
import pytest
from rich.console import Console
from tests.rigs.cli import printed
from tests.rigs.matrix_rows import CAMPAIGN, campaign_row, cell_row

from diskbench.cli.main import main
from diskbench.cli.matrix_display import print_matrix_status, progress_table
from diskbench.engine.matrix import matrix_file
from diskbench.engine.matrix.matrix_file import load_matrix, shipped_matrices
from diskbench.engine.matrix.status import matrix_status
from diskbench.errors import AccessDenied, MatrixError
from diskbench.plan.outlook import MatrixOutlook
from diskbench.providers.aws.cloud import AWSProvider
from diskbench.report.terminal.matrix_text import render_outlook
from diskbench.store.campaigns import load_campaign, save_campaign
from diskbench.store.dialects import now
from diskbench.yaml_lines import plain_yaml

run = partial(printed, "matrix")


def planned(*arguments, code=0):
    return MatrixOutlook.model_validate_json(
        run("plan", *arguments, "--output", "json", "--offline", code=code)
    )


@pytest.fixture
def schema():
    return jsonschema.Draft202012Validator(json.loads(run("schema")))


def test_list_and_show_know_every_shipped_matrix():
    document = json.loads(run("list", "--output", "json"))
    assert document["format"] == 1
    assert [one["name"] for one in document["matrices"]] == list(shipped_matrices())
    assert {one["name"]: one["cells"] for one in document["matrices"]}["iaas-2018"] == 72
    assert "iaas-2018" in run("list")
    text = run("show", "iaas-2018")
    assert text == load_matrix("iaas-2018").text
    assert text.startswith("# Every cell of the table")


@pytest.mark.parametrize("name", shipped_matrices())
def test_every_shipped_matrix_fits_the_schema(name, schema):
    schema.validate(plain_yaml(load_matrix(name).text))


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "{}", "{name: a, axis: {}}", "{name: A B}", "{name: a, axes: {size: [big]}}",
        "{name: a, axes: {disk: gp2}}", "{name: a, axes: {mine: [a]}}",
        "{name: a, axes: {disk: [{dsk: a}]}}", "{name: a, defaults: {size: 0}}",
        "{name: a, defaults: {runs: null}}", "{name: a, limits: {max_parallel: 0}}",
        "{name: a, order: sorted}",
    ],
)  # fmt: skip
def test_the_schema_refuses_what_the_program_refuses(text, schema, tmp_path):
    assert not schema.is_valid(plain_yaml(text))
    file = tmp_path / "a.yaml"
    file.write_text(text)
    with pytest.raises(MatrixError):
        load_matrix(str(file))


@pytest.mark.parametrize(
    "text",
    [
        "{name: a, axes: {mine: [{disk: root:gp3, size: 8}], zone: [1, b], size: [1, 0.5]}}",
        "{name: a, axes: {parameters: [{runtime: 3}, {parameters: {a: true}, runs: 2}]}}",
        "{name: a, limits: {budget: 3, deadline: 6h, max_cell_time: 90, per: {aws/x: 1}}}",
        "{name: a, defaults: {profile: ./my.fio, promise: {iops: 5}, disk: new-type}}",
    ],
)
def test_the_schema_takes_what_the_program_takes(text, schema):
    schema.validate(plain_yaml(text))


def test_the_schema_proposes_names_and_tells_about_every_field():
    document = json.loads(run("schema"))
    fields = document["$defs"]["CellFields"]["properties"]
    assert "azure" in fields["provider"]["anyOf"][0]["enum"]
    assert "gp2" in fields["disk"]["anyOf"][0]["enum"]
    assert "gobonniego" in fields["profile"]["anyOf"][0]["enum"]
    assert all(field["description"] for field in fields.values())
    assert all(field["description"] for field in document["properties"].values())
    assert '"null"' not in json.dumps(document)


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped_matrices())
def test_every_shipped_matrix_is_planned_without_a_call_and_what_ends_before_its_credit_is_named(
    name, monkeypatch
):
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("a call was made"))
    found = planned(name, "--seed", "1")
    assert [one.problem for one in found.blocks] == [None] * len(found.blocks)
    assert all(one.expected_s > 0 for one in found.blocks)
    assert len(found.cells) == sum(one.replicates for one in found.blocks)
    assert found.makespan_s <= found.work_s
    assert not any(one.asked for one in found.blocks)
    beyond = {one.number: one.expectation and one.expectation.beyond for one in found.blocks}
    ending = {number: of.flags for number, of in beyond.items() if of and of.ends != "after"}
    text = " ".join(render_outlook(found).split())
    named = re.findall(r"([\d, –]+): this plan ends", text)
    assert sorted(number for words in named for number in numbers_in(words)) == sorted(ending)
    assert all(f"{flags} shows it" in text for flags in ending.values())


def numbers_in(words):
    for part in words.split(","):
        first, _, last = part.strip().partition("–")
        yield from range(int(first), int(last or first) + 1)


def test_a_plan_tells_cells_order_time_cost_quota_and_credit():
    text = run("plan", "gp2-burst", "--offline", "--seed", "1")
    assert "\n   4  aws/us-east-1/c6in.xlarge/          6  1 h 07 min" in text
    text = " ".join(text.split())
    assert "used up in 1–5" in text
    assert "30 cells in 6 rounds, random by seed 1" in text
    assert "about 7 h 04 min with up to 10 cells at once" in text
    assert "cost aws 30 cells, $" in text
    assert "aws us-east-1: 10 machines, 40 vCPUs, 10 disks, 2,404 GiB of gp2 at once" in text


@pytest.mark.slow
def test_costs_are_summed_by_provider_and_what_is_unknown_is_named():
    found = planned("iaas-2018")
    bills = {one.provider: one for one in found.bills}
    assert bills["aws"].cells == 18
    assert bills["aws"].known_usd > 0
    assert not bills["aws"].unknown
    assert bills["azure"].unknown, "the catalogue has prices of another region"
    assert found.total.known_usd == pytest.approx(sum(one.known_usd for one in found.bills))
    assert found.total.cells == 72


def a_file(folder, text):
    file = folder / "mine.yaml"
    file.write_text(f"name: mine\n{text}")
    return str(file)


AWS = "{provider: aws, region: us-east-1, instance_type: m5.large, profile: quick}"


def test_quota_is_the_most_that_can_be_had_at_once(tmp_path):
    file = a_file(
        tmp_path,
        f"""\
defaults: {AWS}
axes:
  v:
    - {{disk: gp2, size: 20}}
    - {{disk: gp2, size: 100, instance_type: m5.xlarge}}
    - {{disk: io1, size: 50, iops: 100, spot: true}}
limits: {{max_parallel: 2}}
""",
    )
    assert {(one.kind, one.of): one.amount for one in planned(file).needs} == {
        ("machines", ""): 2, ("vcpus", "m"): 6, ("spot-vcpus", "m"): 2, ("disks", ""): 2,
        ("disk-gib", "gp2"): 120, ("disk-gib", "io1"): 50,
    }  # fmt: skip


def test_a_block_that_cannot_be_measured_is_told_and_the_others_are_planned(tmp_path):
    file = a_file(
        tmp_path,
        f"defaults: {AWS}\n"
        "axes: {v: [{disk: gp2, size: 20}, {disk: gp2, size: 1, profile: burst,"
        " parameters: {size: 4g}}]}\n",
    )
    found = planned(file, code=2)
    first, second = found.blocks
    assert first.problem is None
    assert second.problem.message.endswith("uses 4 GiB of the target, but size allows 896 MiB")
    assert [one.starts_s for one in found.cells if one.block == 2] == [None]
    text = run("plan", file, "--offline", code=2)
    assert "cannot be measured" in text
    assert "problem   2: profile 'burst' uses 4 GiB" in text


@pytest.mark.parametrize(
    ("limits", "warning"),
    [
        ("deadline: 10m", "the deadline is too early for all cells"),
        ("budget: 0.01", "the budget does not cover all cells"),
        ("max_cell_time: 60", "1 of the blocks take longer than max_cell_time"),
    ],
)
def test_limits_that_will_stop_it_are_told(tmp_path, limits, warning):
    text = f"defaults: {AWS}\naxes: {{v: [{{disk: gp2, size: 20, replicates: 3}}]}}\n"
    found = planned(a_file(tmp_path, f"{text}limits: {{{limits}, max_parallel: 1}}\n"))
    assert [one for one in found.warnings if one.startswith(warning)]


def test_an_unknown_price_under_a_budget_is_told_and_the_lab_has_neither_price_nor_quota(tmp_path):
    text = "defaults: {provider: aws, region: eu-west-1, disk: gp2, size: 8, profile: quick}\n"
    found = planned(a_file(tmp_path, f"{text}limits: {{budget: 100}}\n"))
    assert any("assume_price" in one for one in found.warnings)
    text += "limits: {budget: 100, assume_price: 1}\n"
    assert not planned(a_file(tmp_path, text)).warnings
    text = "defaults: {provider: lab, disk: gp2, size: 8, profile: quick}\n"
    found = planned(a_file(tmp_path, text))
    assert found.needs == ()
    assert found.total.known_usd == 0


def test_a_cloud_that_answers_is_asked_once_a_block_else_the_catalogue(monkeypatch):
    asked = []

    def answer(self, cell, books):
        asked.append(cell)
        return self.foresee(cell, books)

    monkeypatch.setattr(AWSProvider, "resolve", answer)
    document = run("plan", "gp2-burst", "--output", "json")
    assert all(one.asked for one in MatrixOutlook.model_validate_json(document).blocks)
    assert len(asked) == 5

    def refuse(*_):
        raise AccessDenied("no credentials", advice="log in")

    monkeypatch.setattr(AWSProvider, "resolve", refuse)
    monkeypatch.setattr(matrix_file, "AT_ONCE", 1)
    assert "the cloud was not queried" in run("plan", "gp2-burst", "--seed", "1")


def test_mistakes_end_with_exit_code_2_and_all_their_lines_but_not_a_flood(tmp_path, capsys):
    file = a_file(tmp_path, "titel: x\ndefaults: {provider: asw}\norder: randon\n")
    assert main(["matrix", "plan", file, "--offline"]) == 2
    told = capsys.readouterr().err.split()
    assert [word for word in told if word.startswith(f"{file}:")] == [
        f"{file}:{n}:" for n in (2, 3, 4)
    ]
    file = a_file(tmp_path, "".join(f"wrong{n}: 1\n" for n in range(60)))
    with pytest.raises(MatrixError) as refused:
        load_matrix(file)
    assert "has 61 mistakes" in refused.value.message
    assert len(refused.value.message.splitlines()) == 42


@pytest.mark.slow
def test_a_plan_fits_its_published_schema(capsys):
    assert main(["schema", "matrix-plan"]) == 0
    published = json.loads(capsys.readouterr().out)
    for name in ("gp2-burst", "san-vs-local"):
        document = json.loads(run("plan", name, "--offline", "--output", "json"))
        jsonschema.Draft202012Validator(published).validate(document)


STATES = ("done", "failed", "waiting", "measuring", "spared", "refused")
NOTES = (
    None, "fio ended with 1", "the host 磁盘-1 does not answer",
    "first line\nsecond line, which is longer", f"an escape \x1b[31m and {'many words ' * 12}",
)  # fmt: skip


def filled(database, count):
    cells = [
        cell_row(
            n,
            key=f"aws/gp2-{n % 7}GiB,note={'é' * (n % 50)}#{n}",
            state=(state := STATES[n % len(STATES)]),
            error=NOTES[n % len(NOTES)],
            note="waits for the disk" if n % 4 else None,
            trial_id=f"t{n}" if state != "waiting" else None,
            # Ended, so that nothing is told that changes between two looks.
            started_at=now() if state != "waiting" else None,
            finished_at=now(),
            expected_s=None,
        )
        for n in range(count)
    ]
    save_campaign(database, campaign_row(), cells)
    return load_campaign(database, CAMPAIGN)


def shown(database, campaign, output):
    print_matrix_status(database, matrix_status(database, campaign), output)


@pytest.mark.parametrize("columns", ["50", "80", "140"])
def test_every_listed_cell_has_a_line_that_fits(database, columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", columns)
    shown(database, filled(database, 60), "table")
    lines = capsys.readouterr().out.splitlines()
    listed = [n for n in range(60) if STATES[n % len(STATES)] != "spared"]
    assert [int(line.split()[0]) - 1 for line in lines if line.split()[:1][0].isdigit()
            and " of " not in line] == listed  # fmt: skip
    assert not any("\x1b" in line for line in lines)


def test_on_a_terminal_the_lines_have_the_colours_of_the_table(database, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("COLUMNS", "300")
    campaign = filled(database, 60)
    monkeypatch.setattr(sys, "stdout", Terminal())
    shown(database, campaign, "table")
    lines = sys.stdout.getvalue().splitlines()
    assert sum("\x1b[31mfailed" in line for line in lines) == 60 // len(STATES)
    assert not any("\x1b[31m and" in line for line in lines), "the escape of an error is visible"


@pytest.mark.parametrize("count", [0, 1, 700])
def test_the_document_holds_every_cell(database, count, capsys):
    campaign = filled(database, count)
    shown(database, campaign, "json")
    status = matrix_status(database, campaign)
    assert type(status).model_validate_json(capsys.readouterr().out) == status
    assert len(status.cells) == count


def test_a_live_table_has_the_cells_that_matter_most_and_counts_the_others(database, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    filled(database, 120)
    console = Console(file=io.StringIO(), width=200)
    console.print(progress_table(database, CAMPAIGN))
    text = console.file.getvalue()
    assert sum(line.split()[2:3] == ["measuring"] for line in text.splitlines()) == 20
    assert "and 80 more" in text
