"""What `diskbench gc` prints: as lines for a person, as a document for a program."""

import io
import json

import jsonschema

from diskbench.cli import gc
from diskbench.cli.schema import _schema
from diskbench.model.outcome import LeaseCost, Problem, Swept, Unlisted

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


def test_what_went_is_told_with_where_why_and_what_it_cost_or_that_this_is_unknown():
    assert lines(swept(cost=cost(0.1238))) == [
        "gave back instance i-0abc, volume vol-0def on aws us-east-1: it expired",
        "  cost about $0.74 in 6.0 h since 2026-11-21 10:02 UTC, at $0.1238 an hour",
    ]
    told = "  cost unknown: no price is known, in 6.0 h since 2026-11-21 10:02 UTC"
    assert lines(swept(cost=cost(None)))[1] == told
    assert lines(swept())[1] == "  cost unknown: its lease is not in this database"


def test_what_cost_nothing_or_stays_is_not_priced():
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
