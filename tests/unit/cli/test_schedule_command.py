"""`diskbench schedule`: what is said where, and how it ends."""

import json

import jsonschema
import pytest

from diskbench.providers.fake.cloud import VARIABLE as FAKE_DIR

MATRIX = """name: nightly
defaults: {provider: fake, disk: plain, size: 1, profile: quick}
"""
ADD = ("add", "x", "nightly.yaml", "--cron")
WEEKLY = ("--cron", "30 3 * * 0", "--timezone", "Europe/Berlin")
MISSED = ("schedule", "backfill", "weekly", "--since", "2024-10-19", "--until", "2024-10-28")


@pytest.fixture
def call(call, here, monkeypatch):
    """Runs a command beside `nightly.yaml`; returns its exit code, stdout and stderr."""
    (here / "nightly.yaml").write_text(MATRIX)
    monkeypatch.setenv(FAKE_DIR, str(here / "fake"))
    return call


def test_add_says_when_it_is_due_and_who_begins_it(call):
    code, out, err = call("schedule", "add", "weekly", "nightly.yaml", *WEEKLY)
    assert code == 0
    assert out.splitlines()[0] == "weekly  nightly.yaml  '30 3 * * 0' Europe/Berlin"
    assert "  next  Sun " in out
    assert " 03:30 CE" in out
    assert out.endswith("  last  none yet\n")
    assert err == "weekly is added; workers start it when it is due\n"
    _, _, err = call("schedule", "add", "weekly", "nightly.yaml", *WEEKLY)
    assert err.startswith("weekly is changed")


def test_a_time_is_told_in_the_readers_timezone_too_where_that_differs(call):
    call("schedule", "add", "weekly", "nightly.yaml", *WEEKLY[:-1], "Asia/Kathmandu")
    _, out, _ = call("schedule", "list")
    assert "03:30 +0545 (" in out
    assert " here)" in out


@pytest.mark.slow
def test_the_document_meets_its_schema(call):
    call("schedule", "add", "weekly", "nightly.yaml", *WEEKLY)
    call("schedule", "trigger", "weekly")
    schema = json.loads(call("schema", "schedules")[1])
    for arguments in (("list",), ("show", "weekly")):
        document = json.loads(call("schedule", *arguments, "--output", "json")[1])
        jsonschema.validate(document, schema)
        (one,) = document["schedules"]
        assert (one["name"], one["paused"], one["waiting"]) == ("weekly", False, 1)
        assert one["occurrences"][0]["state"] == "queued"


def test_times_to_make_up_for_are_listed_and_a_paused_one_has_no_next_time(call):
    call("schedule", "add", "weekly", "nightly.yaml", *WEEKLY)
    times = "Sun 2024-10-20 03:30 CEST\nSun 2024-10-27 03:30 CET\n"
    assert call(*MISSED) == (0, times, "2 wait for a worker\n")
    assert call(*MISSED) == (0, "", "no time was missed\n")
    assert call("schedule", "pause", "weekly") == (0, "", "weekly is paused\n")
    assert "  next  paused\n" in call("schedule", "list")[1]
    assert "  next  Sun " in call("schedule", "resume", "weekly")[1]


def test_nothing_is_kept_of_one_that_was_removed(call):
    call("schedule", "add", "weekly", "nightly.yaml", *WEEKLY)
    assert call("schedule", "remove", "weekly")[0] == 0
    code, out, err = call("schedule", "list")
    assert (code, out) == (0, "")
    assert "add one with" in err
    assert call("schedule", "show", "weekly")[0] == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((*ADD, "30 25 * * 0"), "'25' is not a valid hour"),
        ((*ADD, "@daily", "--timezone", "Europe/Berln"), "names are like Europe/Berlin"),
        ((*ADD, "@daily", "--budget", "0"), "--budget 0 is not an amount"),
        (("add", "x", "none.yaml", "--cron", "@daily"), "none.yaml"),
        (("add", "x", "broken.yaml", "--cron", "@daily"), "broken.yaml:2: unknown fake disk type"),
        (("trigger", "x"), "unknown schedule 'x'"),
        (("backfill", "x", "--since", "2024-10-19"), "unknown schedule 'x'"),
        (("resume", "x"), "unknown schedule 'x'"),
    ],
)
def test_a_mistake_ends_with_2_and_keeps_nothing(call, tmp_path, arguments, said):
    (tmp_path / "broken.yaml").write_text(MATRIX.replace("plain", "plane"))
    assert said in call.refused("schedule", *arguments)
    assert json.loads(call("schedule", "list", "--output", "json")[1])["schedules"] == []
