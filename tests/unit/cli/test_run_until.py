"""`run --until-ci` is refused before anything is rented where it cannot mean anything."""

import json

import pytest

LAB = ("--provider", "lab", "--disk", "gp2", "--size", "20", "--profile", "quick")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--path", ".", "--until-ci", "5%"), "--provider local rents none"),
        (("--host", "db1", "--until-ci", "5%"), "--provider ssh rents none"),
        ((*LAB, "--until-ci", "wide"), "'wide' is not a share"),
        ((*LAB, "--until-ci", "500%"), "'500%' is not a share"),
        ((*LAB, "--until-ci", "5%", "--replicates", "6"), "fewer than 10"),
        ((*LAB, "--until-ci", "5%", "--max-replicates", "8"), "is less than the 10"),
        ((*LAB, "--max-replicates", "20"), "has no effect without --until-ci"),
        ((*LAB, "--deadline", "1h"), "has no effect without --until-ci"),
        ((*LAB, "--until-ci", "5%", "--iap"), "iap"),
        ((*LAB[:-1], "quikc", "--until-ci", "5%"), "did you mean quick?"),
    ],
)
def test_what_cannot_be_meant_ends_with_2_and_rents_nothing(call, tmp_path, arguments, told):
    code, _, err = call("run", *arguments)
    assert (code, told in err) == (2, True), err
    assert not (tmp_path / "rows.db").exists(), "nothing was begun"


def test_the_plan_says_from_how_many_to_how_many(call):
    code, out, err = call("plan", *LAB, "--until-ci", "5%", "--max-replicates", "20")
    assert code == 0, err
    out = " ".join(out.split())
    assert "from 10 to 20 replicates of each block, until the interval of every step" in out
    assert "20 cells of one block" in out


def test_the_plan_as_a_document_holds_the_limits_and_what_was_typed(call):
    flags = ("--until-ci", "0.03", "--replicates", "12", "--label", "team=x", "--runs", "2")
    code, out, err = call("plan", *LAB, *flags, "--time-scale", "100", "--output", "json")
    assert code == 0, err
    found = json.loads(out)
    assert (found["limits"]["until_ci"], found["limits"]["min_replicates"]) == (0.03, 12)
    (block,) = found["blocks"]
    assert (block["replicates"], block["runs"]) == (30, 2)
