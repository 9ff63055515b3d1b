"""What is read in place of logs that were pruned."""

import hashlib

import pytest

from diskbench.errors import EvidenceDamaged
from diskbench.model.result import AuditCheck
from diskbench.store.derived import audit_instead, kept_instead, pruned_key, read_pruned
from diskbench.store.evidence import open_evidence
from diskbench.store.manifest import FileRecord, PrunedRun, PrunedStep

RUN, FOLDER, SERIES = "01kq8z6rj0aaaaaaaaaaaaaaa1", "steps/000-read", b"by the second"
CHECK = AuditCheck(name="logs", holds=True, message="m")


def store_with(audit=CHECK, data=SERIES, run_id=RUN):
    evidence = open_evidence("memory:///")
    file = FileRecord(key="pruned/s", bytes=len(SERIES), sha256=hashlib.sha256(SERIES).hexdigest())
    step = PrunedStep(logs={}, kept={"series-3.parquet": file}, audit=audit)
    record = PrunedRun(run_id=run_id, pruned_at="2026-11-23", steps={FOLDER: step})
    evidence.put(pruned_key(RUN), record.model_dump_json().encode())
    evidence.put(f"runs/{RUN}/pruned/s", data)
    return evidence


def test_the_audit_is_what_it_was_and_a_run_that_was_not_pruned_has_nothing_instead():
    evidence = open_evidence("memory:///")
    assert read_pruned(evidence, RUN) is None
    assert kept_instead(evidence, RUN, FOLDER, "series-3.parquet") is None
    assert audit_instead(evidence, RUN, FOLDER) is None
    assert audit_instead(store_with(), RUN, FOLDER) == CHECK
    unknown = audit_instead(store_with(audit=None), RUN, FOLDER)
    assert (unknown.name, unknown.holds) == ("logs", None)


@pytest.mark.parametrize("version", [2, 3, 40])
def test_what_was_kept_is_read_by_every_version(version):
    name = f"series-{version}.parquet"
    assert kept_instead(store_with(), RUN, FOLDER, name) == SERIES


@pytest.mark.parametrize(
    ("folder", "name"), [("steps/001-read", "series-3.parquet"), (FOLDER, "latencies-3.parquet")]
)
def test_another_step_and_another_kind_were_not_kept(folder, name):
    assert kept_instead(store_with(), RUN, folder, name) is None


def test_what_was_kept_and_is_damaged_or_of_another_run_is_refused():
    with pytest.raises(EvidenceDamaged):
        kept_instead(store_with(data=SERIES[::-1]), RUN, FOLDER, "series-3.parquet")
    with pytest.raises(EvidenceDamaged, match=RUN):
        read_pruned(store_with(run_id="01kq8z6rj0aaaaaaaaaaaaaaa2"), RUN)
