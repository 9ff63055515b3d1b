"""`diskbench compare A B` and `regressions`: what is printed, and what a webhook gets."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import jsonschema
import pytest
from tests.rigs.replicates import measured

from diskbench.cli.main import main

A = [3000, 3010, 2990, 3005, 2995, 3002, 2998, 3001, 2999, 3003]


def document(call, *arguments):
    found = call.json(*arguments)
    _, schema, _ = call("schema", arguments[0])
    jsonschema.validate(found, json.loads(schema))
    return found


def only(call, *arguments):
    (one,) = document(call, "compare", *arguments, "--metric", "iops")["compared"]
    return one


def two_disks(database, b, **more):
    measured(database, A, disk="gp2", labels=[("disk", "gp2")])
    measured(database, b, disk="gp3", labels=[("disk", "gp3")], **more)


@pytest.mark.slow
def test_disks_of_one_matrix_are_compared_round_by_round(database, call):
    two_disks(database, [x * 0.8 for x in A])
    one = only(call, "disk=gp2", "disk=gp3")
    assert one["finding"] == "differs"
    assert one["ratio"] == pytest.approx(0.8)
    assert (one["n"], one["in_turn"], one["unpaired"]) == (10, True, 0)
    assert [each["fact"] for each in one["differences"]] == ["disk"]
    assert one["sentence"].startswith("B delivers 20 % fewer IOPS than A (−20 % to −20 %, n = 10)")


@pytest.mark.slow
def test_the_words_for_a_person(database, call):
    two_disks(database, [x * (1.1 if i % 2 else 0.92) for i, x in enumerate(A)])
    _, out, _ = call("compare", "disk=gp2", "disk=gp3")
    assert "A  disk=gp2: 10 trials" in out
    assert "differ in disk gp2 → gp3" in out
    assert max(map(len, out.splitlines())) <= 80
    head, iops, moved = out.splitlines()[
        out.splitlines().index("  differ in disk gp2 → gp3") + 1 :
    ][:3]
    assert head.split() == ["step", "A", "B", "change", "95", "%,", "n", "=", "10", "p"]
    assert iops.split()[:3] == ["read", "IOPS", "3,000"]
    assert iops.split()[4] == "~"  # it may be chance
    assert "−8.0 to +10" in iops
    assert moved.split()[:2] == ["MB/s", "12.3"]
    _, out, _ = call("compare", "disk=gp2", "disk=gp3", "-v")
    assert "the difference is smaller than the noise (−8.0 % to +10 %, n = 10)" in out
    assert "A  3,000 IOPS (2,995 IOPS to 3,005 IOPS, n = 10), CoV 0.2 %" in out


def test_emulated_figures_are_marked(database, call):
    measured(database, A, labels=[("s", "a")], provider="lab")
    measured(database, A, labels=[("s", "b")], provider="lab", disk="gp3")
    code, out, err = call("compare", "s=a", "s=b")
    assert (code, "A  s=a: 10 trials, emulated" in out) == (0, True), err


def test_trials_on_a_shared_machine_are_no_independent_samples(database, call):
    two_disks(database, [x * 0.8 for x in A], machine="01machine")
    one = only(call, "disk=gp2", "disk=gp3")
    assert (one["pairs"], one["n"], one["finding"]) == (10, 1, "too few")
    assert one["b"]["machines"] == 1
    assert "10 trials of B are of 1 machine" in one["doubts"]


@pytest.mark.slow
def test_dates_are_compared_and_said_not_to_have_been_in_turn(database, call):
    measured(database, A)
    measured(database, [x * 1.1 for x in A], campaign=7, facts={"kernel": "6.5.0"})
    one = only(call, "2026-09-21..2026-09-22", "2026-09-28..2026-10-05")
    assert one["finding"] == "differs"
    assert not one["in_turn"]
    assert any("alternately" in doubt for doubt in one["doubts"])
    assert one["differences"] == [{"fact": "kernel", "a": ["6.1.0"], "b": ["6.5.0"]}]


def test_a_side_whose_facts_differ_is_compared_only_where_somebody_pools_them(database, call):
    measured(database, A[:5], disk="gp2", labels=[("s", "a")])
    measured(database, A[5:], disk="gp2", labels=[("s", "a")], first=5, facts={"kernel": "6.5.0"})
    measured(database, A, disk="gp3", labels=[("s", "b")])
    told = "trials of A differ in kernel: 6.1.0 (5), 6.5.0 (5)"
    found = document(call, "compare", "s=a", "s=b")
    assert found["compared"] == []
    assert found["not_compared"][0]["why"] == f"{told}; to pool them anyway: --pool kernel"
    assert told in only(call, "s=a", "s=b", "--pool", "kernel")["doubts"]


def test_other_jobs_are_not_compared_and_it_is_said_why(database, call):
    two_disks(database, A, digest="d2")
    found = document(call, "compare", "disk=gp2", "disk=gp3")
    assert found["compared"] == []
    assert "job files differ" in found["not_compared"][0]["why"]


def test_what_only_one_side_measured_is_named(database, call):
    measured(database, A, disk="gp2", labels=[("s", "a")])
    measured(database, A, disk="gp3", labels=[("s", "a")])
    measured(database, A, disk="gp2", labels=[("s", "b")], campaign=1)
    found = document(call, "compare", "s=a", "s=b", "--metric", "iops")
    assert len(found["compared"]) == 1
    assert found["not_compared"][0]["why"] == "only A measured it"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("disk=gp2",), "compare takes two selections, not 1"),
        (("disk=gp2", "disk=gp9"), "no finished run that matches 'disk=gp9'"),
        (("disk=gp2", "colour=red"), "'colour' is not a valid key of a selection"),
        (("disk=gp2", "zzz"), "unknown run, trial or matrix 'zzz'"),
        (("disk=gp2", "profile=quick"), "A and B have trials in common: 10"),
        (("disk=gp2", "disk=gp2 "), "A and B are the same: 'disk=gp2'"),
        (("1", "last"), "A and B are the same: '1' and 'last'"),
        (("disk=gp2", "2026-13-01..2026-14-01"), "is not a time"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_its_reason(database, call, arguments, told):
    measured(database, A, disk="gp2", labels=[("disk", "gp2")])
    assert told in call.refused("compare", *arguments)


@pytest.mark.slow
def test_a_fall_in_a_history_is_found_with_its_day_and_what_changed_with_it(database, call):
    for night in range(16):
        level, kernel = (1.0, "6.1.0") if night < 12 else (0.85, "6.5.0")
        values = [x * level for x in A[night % 5 : night % 5 + 3]]
        labels = [("schedule", "nightly")]
        measured(database, values, campaign=night, labels=labels, facts={"kernel": kernel})
    (history,) = document(call, "regressions", "schedule=nightly")["histories"]
    assert len(history["points"]) == 16
    (change,) = history["changes"]
    assert change["at"].startswith("2026-10-03")
    assert change["regression"]
    assert change["change"] == pytest.approx(-0.15, abs=0.01)
    assert change["since"] == 4
    assert change["differences"] == [{"fact": "kernel", "a": ["6.1.0"], "b": ["6.5.0"]}]
    _, out, _ = call("regressions")
    assert "worse: 3,0" in out
    assert "what changed with it: kernel 6.1.0 → 6.5.0" in out


def in_blocks(database, count, change, *, machines=1):
    """Blocks of A B B A on one machine that drifts, `after` faster by the factor."""
    for block in range(1, count + 1):
        for at, side in enumerate(("before", "after", "after", "before")):
            level = (3000 + 20 * block + 5 * at) * (change if side == "after" else 1)
            labels = [("ab", "kernel"), ("ab-side", side), ("ab-block", str(block))]
            facts = {"hostname": f"db{block % machines}"}
            measured(
                database, [level], labels=labels, rented=False, campaign=block * 4 + at, facts=facts
            )


def test_blocks_of_one_machine_are_samples_of_that_machine(database, call):
    in_blocks(database, 6, 1.1)
    one = only(call, "ab-side=before", "ab-side=after", "-f", "ab=kernel")
    assert (one["n"], one["pairs"], one["blocks"], one["in_turn"]) == (6, 12, True, True)
    assert one["ratio"] == pytest.approx(1.1, rel=1e-4)  # an even drift is no difference
    assert one["interval"] is not None
    assert one["finding"] == "differs"
    assert any("this machine" in doubt for doubt in one["doubts"])
    assert not any("alternately" in doubt for doubt in one["doubts"])


@pytest.mark.slow
def test_filters_hold_for_both_sides(database, call):
    two_disks(database, A)
    measured(database, A, disk="gp3", labels=[("s", "x")], campaign=3)
    found = document(call, "compare", "disk=gp2", "disk=gp3", "--until", "2026-09-22")
    assert len(found["b"]["trials"]) == 10


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.path, self.headers["Content-Type"], json.loads(body)))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_):
        """No lines on stderr."""


@pytest.fixture
def webhook():
    server = HTTPServer(("127.0.0.1", 0), Receiver)
    server.got, server.status = [], 200
    server.url = f"http://127.0.0.1:{server.server_port}/hooks/s3cret"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def nights(here, database, monkeypatch):  # noqa: ARG001 - the settings lead to it
    """Writes the nights from `first` on, one figure each."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def write(first, values):
        for night, value in enumerate(values, first):
            measured(database, [value], campaign=night)

    return write


def test_a_change_is_posted_once_at_the_time_that_showed_it(nights, webhook, capsys):
    nights(0, [3000 + n for n in range(12)] + [2500, 2501])
    assert main(["regressions", "--notify", webhook.url]) == 0
    assert webhook.got == [], "two times on a level are no change"
    for night, expected in ((14, 1), (15, 1), (16, 1)):
        nights(night, [2500 + night])
        assert main(["regressions", "--notify", webhook.url]) == 0
        assert len(webhook.got) == expected
    (path, kind, document), *_ = webhook.got
    assert (path, kind) == ("/hooks/s3cret", "application/json")
    title, line = document["text"].splitlines()
    assert title == "diskbench: 1 figure became worse"
    assert "read read: 3,006 IOPS → 2,501 IOPS (−16.8 %), since 20" in line
    assert "s3cret" not in capsys.readouterr().out


def test_a_change_for_the_better_is_not_posted_and_json_stays_whole(nights, webhook, capsys):
    nights(0, [3000 + n for n in range(12)] + [3500, 3501, 3502])
    assert main(["regressions", "--notify", webhook.url, "--output", "json"]) == 0
    assert webhook.got == []
    (history,) = json.loads(capsys.readouterr().out)["histories"]
    assert [change["new"] for change in history["changes"]] == [True]


def test_the_url_may_come_from_the_environment(nights, webhook, monkeypatch):
    monkeypatch.setenv("DISKBENCH_NOTIFY_URL", webhook.url)
    nights(0, [3000 + n for n in range(12)] + [2500, 2501, 2502])
    assert main(["regressions"]) == 0
    assert len(webhook.got) == 1


@pytest.mark.parametrize(
    ("status", "url", "code", "words"),
    [
        (404, None, 2, "the webhook at 127.0.0.1 answered 404"),
        (200, "http://127.0.0.1:1/s3cret", 2, "no answer from the webhook at 127.0.0.1"),
        (200, "hooks.example/s3cret", 2, "the webhook is not an http or https URL"),
    ],
)
def test_what_fails_is_said_without_its_path(nights, webhook, capsys, status, url, code, words):
    webhook.status = status
    nights(0, [3000 + n for n in range(12)] + [2500, 2501, 2502])
    assert main(["regressions", "--notify", url or webhook.url]) == code
    errors = capsys.readouterr().err
    assert words in errors
    assert "s3cret" not in errors
