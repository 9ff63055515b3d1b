import hashlib
import json

import pytest
from tests.rigs.measured import TIMES
from tests.rigs.plans import RUN_IDS, make_plan, make_step

from diskbench.errors import EvidenceDamaged, KeyTaken, NewerFormat
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec, Rental, Scope
from diskbench.model.result import AuditCheck
from diskbench.store import archive
from diskbench.store.derived import audit_instead, kept_instead, pruned_key, read_pruned
from diskbench.store.evidence import open_evidence
from diskbench.store.manifest import FileRecord, Manifest, PrunedRun, PrunedStep

RUN = RUN_IDS[0]
FILES = {"fio.json": b"{}" * 5000, "stderr.txt": b"", "fio_bw.1.log": b"1000, 5, 0\n" * 1000}


def keep(evidence, files=FILES, step=None, **changes):
    step = step or make_step()
    return archive.write_step_evidence(evidence, RUN, step, files, **(TIMES | changes))


def step_files(evidence, record):
    """All files of a closed step, verified."""
    folder = f"{archive.run_prefix(RUN)}/{archive.step_folder(record.step)}"
    return {
        name: archive.read_file(evidence, folder, name, file) for name, file in record.files.items()
    }


def test_a_plan_lies_beside_each_of_its_runs_which_are_listed_finished_or_not(evidence):
    plan = make_plan()
    for _ in range(2):
        archive.write_plan(evidence, plan)
    assert [archive.read_plan(evidence, run_id) for run_id in RUN_IDS] == [plan, plan]
    assert archive.list_runs(evidence) == list(RUN_IDS)


def test_the_plan_of_a_draft_that_was_given_up_halfway_gives_way(evidence):
    disk, spec = DiskSpec(type="gp2", size_gib=8), RentSpec(disk="gp2", size_gib=8)
    rental = Rental(scope=Scope(provider="lab"), spec=spec, offer="t3.micro", disk=disk)
    archive.write_plan(evidence, make_plan(rental=rental))
    archive.write_plan(evidence, make_plan())
    assert archive.read_plan(evidence, RUN) == make_plan()


@pytest.mark.parametrize("has_steps", [False, True])
def test_the_plan_of_a_run_that_is_there_stays_whatever_version_wrote_it(evidence, has_steps):
    written = make_plan().model_dump(mode="json", exclude_defaults=True)
    text = json.dumps(written | {"what_another_version_had": 1}).encode()
    evidence.put(f"runs/{RUN}/plan.json", text)
    if has_steps:
        keep(evidence)
    archive.write_plan(evidence, make_plan(notes=("in other words",)))
    assert evidence.get(f"runs/{RUN}/plan.json") == text


@pytest.mark.parametrize("text", [b'{"trial_id": "another"}', b"[]", b"{", b""])
def test_the_plan_of_another_trial_is_not_taken_for_ours(evidence, text):
    evidence.put(f"runs/{RUN}/plan.json", text)
    with pytest.raises(KeyTaken, match=r"plan\.json exists"):
        archive.write_plan(evidence, make_plan())
    assert evidence.get(f"runs/{RUN}/plan.json") == text


def test_what_is_kept_large_files_compressed_is_read_back_verified_and_twice_is_once(evidence):
    keep(evidence)
    names = ("fio.json.zst", "fio_bw.1.log.zst", "stderr.txt", "step.json")
    assert evidence.list(f"runs/{RUN}") == [f"runs/{RUN}/steps/000-write/{n}" for n in names]
    record = keep(evidence)
    assert step_files(evidence, record) == FILES
    assert archive.read_step(evidence, RUN, "steps/000-write") == record
    first = keep(evidence)
    again = keep(evidence, {"fio.json": b"other"}, finished_at="2030")
    assert again == first
    assert step_files(evidence, again) == FILES


def test_rounds_and_odd_names_have_folders_of_their_own():
    step = make_step(3, "4k / 70 % read", round=2)
    assert archive.step_folder(step) == "steps/003-4k___70___read-r2"


def test_a_folder_that_a_killed_process_left_open_is_written_anew(evidence):
    evidence.put(f"runs/{RUN}/steps/000-write/stderr.txt", b"of another attempt")
    evidence.put(f"runs/{RUN}/steps/000-write/half", b"")
    assert step_files(evidence, keep(evidence)) == FILES
    assert f"runs/{RUN}/steps/000-write/half" not in evidence.list("runs")


def test_leavings_of_a_stopped_step_give_way_to_a_whole_one(evidence):
    keep(evidence, {"fio.json": b"half"}, stopped=True)
    assert keep(evidence).stopped is False
    assert keep(evidence, {"fio.json": b"half"}, stopped=True).stopped is False


@pytest.mark.parametrize("spoil", [lambda data: data[:-9], lambda data: data + b"x", lambda _: b""])
def test_a_file_that_is_not_what_was_kept_is_named(tmp_path, evidence, spoil):
    record = keep(evidence)
    path = tmp_path / "evidence" / "runs" / RUN / "steps/000-write/fio.json.zst"
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(EvidenceDamaged, match=r"fio\.json\.zst"):
        step_files(evidence, record)
    path.unlink()
    with pytest.raises(EvidenceDamaged, match=r"fio\.json\.zst is missing"):
        step_files(evidence, record)


def manifest(**changes):
    values = {
        "run_id": RUN, "run_index": 0, "trial_id": RUN, "campaign_id": RUN, "state": "done",
        "started_at": None, "finished_at": "2026", "diskbench_version": "0", "parser_version": 1,
    }  # fmt: skip
    return Manifest(**(values | changes))


def test_the_first_manifest_wins(evidence):
    assert archive.read_manifest(evidence, RUN) is None
    assert archive.write_manifest(evidence, manifest()) == manifest()
    assert archive.write_manifest(evidence, manifest(state="failed")) == manifest()


def test_a_field_of_a_later_diskbench_is_borne_and_a_later_format_refused(evidence):
    text = manifest().model_dump_json()
    evidence.put(f"runs/{RUN}/manifest.json", text.replace("{", '{"later": 1, ', 1).encode())
    assert archive.read_manifest(evidence, RUN) == manifest()
    evidence.put("runs/other/manifest.json", text.replace('"format":1', '"format":2').encode())
    with pytest.raises(NewerFormat, match="format 2; this diskbench knows 1"):
        archive.read_manifest(evidence, "other")


# What is read in place of logs that were pruned.


PRUNED, FOLDER, SERIES = "01kq8z6rj0aaaaaaaaaaaaaaa1", "steps/000-read", b"by the second"
CHECK = AuditCheck(name="logs", holds=True, message="m")


def store_with(audit=CHECK, data=SERIES, run_id=PRUNED):
    evidence = open_evidence("memory:///")
    file = FileRecord(key="pruned/s", bytes=len(SERIES), sha256=hashlib.sha256(SERIES).hexdigest())
    step = PrunedStep(logs={}, kept={"series-3.parquet": file}, audit=audit)
    record = PrunedRun(run_id=run_id, pruned_at="2026-11-23", steps={FOLDER: step})
    evidence.put(pruned_key(PRUNED), record.model_dump_json().encode())
    evidence.put(f"runs/{PRUNED}/pruned/s", data)
    return evidence


def test_the_audit_is_what_it_was_and_a_run_that_was_not_pruned_has_nothing_instead():
    evidence = open_evidence("memory:///")
    assert read_pruned(evidence, PRUNED) is None
    assert kept_instead(evidence, PRUNED, FOLDER, "series-3.parquet") is None
    assert audit_instead(evidence, PRUNED, FOLDER) is None
    assert audit_instead(store_with(), PRUNED, FOLDER) == CHECK
    unknown = audit_instead(store_with(audit=None), PRUNED, FOLDER)
    assert (unknown.name, unknown.holds) == ("logs", None)


@pytest.mark.parametrize("version", [2, 3, 40])
def test_what_was_kept_is_read_by_every_version(version):
    assert kept_instead(store_with(), PRUNED, FOLDER, f"series-{version}.parquet") == SERIES


@pytest.mark.parametrize(
    ("folder", "name"), [("steps/001-read", "series-3.parquet"), (FOLDER, "latencies-3.parquet")]
)
def test_another_step_and_another_kind_were_not_kept(folder, name):
    assert kept_instead(store_with(), PRUNED, folder, name) is None


def test_what_was_kept_and_is_damaged_or_of_another_run_is_refused():
    with pytest.raises(EvidenceDamaged):
        kept_instead(store_with(data=SERIES[::-1]), PRUNED, FOLDER, "series-3.parquet")
    with pytest.raises(EvidenceDamaged, match=PRUNED):
        read_pruned(store_with(run_id="01kq8z6rj0aaaaaaaaaaaaaaa2"), PRUNED)
