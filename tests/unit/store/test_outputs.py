"""What fio reported is read once, whoever asks for it."""

from collections import Counter
from hashlib import sha256

import pytest

from diskbench.errors import FioOutputUnreadable
from diskbench.store import outputs
from diskbench.store.outputs import read_output

DOCUMENT = b'{"fio version": "fio-3.33", "jobs": [{"jobname": "a"}], "n": %d}'


@pytest.fixture
def parsed(monkeypatch):
    """How often each file was parsed, by its digest and the place that asked first."""
    seen: Counter[str] = Counter()
    real = outputs.parse_output

    def parse(data, *, where):
        found = real(data, where=where)
        seen[f"{where} {sha256(data).hexdigest()}"] += 1
        return found

    monkeypatch.setattr(outputs, "parse_output", parse)
    outputs._KEPT.clear()
    yield seen
    outputs._KEPT.clear()


def test_the_same_bytes_are_parsed_once_and_keep_their_own_place(parsed):
    first = read_output(DOCUMENT % 1, where="a/fio.json")
    second = read_output(DOCUMENT % 1, where="steps/a/fio.json")
    assert (first.where, second.where) == ("a/fio.json", "steps/a/fio.json")
    assert first.jobs == second.jobs
    assert list(parsed.values()) == [1]


def test_other_bytes_are_another_output(parsed):
    read_output(DOCUMENT % 1, where="fio.json")
    read_output(DOCUMENT % 2, where="fio.json")
    assert list(parsed.values()) == [1, 1]


def test_what_cannot_be_read_raises_each_time():
    for _ in range(2):
        with pytest.raises(FioOutputUnreadable, match=r"x\.json"):
            read_output(b"no document", where="x.json")


def test_no_more_is_kept_than_a_run_has(parsed, monkeypatch):
    monkeypatch.setattr(outputs, "MOST_BYTES", 3 * len(DOCUMENT % 1))
    for n in range(9):
        read_output(DOCUMENT % n, where="fio.json")
    assert len(outputs._KEPT) == 3
    read_output(DOCUMENT % 8, where="fio.json")
    assert max(parsed.values()) == 1, "the last ones are kept"


@pytest.mark.slow  # unpacks the example data
def test_rows_series_audit_and_verdict_of_a_run_parse_each_file_once(parsed, tmp_path):
    import diskbench
    from diskbench.store.audits import run_audits
    from diskbench.store.evidence import open_evidence
    from diskbench.store.frames import histogram_frame

    example = diskbench.example_data(tmp_path)
    runs = diskbench.load_runs(database=example.database)
    run_id = runs.filter(~runs["imported"])["run_id"][0]
    evidence = open_evidence(example.evidence)
    for key in evidence.list(f"derived/{run_id}"):
        evidence.delete(key)
    assert run_audits(evidence, run_id)
    assert histogram_frame(evidence, run_id).height
    assert diskbench.load_verdicts(
        run_id, database=example.database, evidence=example.evidence
    ).height
    assert parsed
    assert set(parsed.values()) == {1}
