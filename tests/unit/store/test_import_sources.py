"""Which logs become part of which run; a job file that includes others."""

import json

import pytest
from tests.rigs.database import taken_in
from tests.rigs.fio_reports import Disk, Told, text

import diskbench
from diskbench.errors import InvalidValue, ProfileError
from diskbench.fio.declared import options_of
from diskbench.importers.fio_report import report_steps
from diskbench.store import import_sources
from diskbench.store.import_sources import read_sources
from diskbench.store.profile_file import find_profile

STATS = {
    "io_bytes": 4096 * 3000, "io_kbytes": 12_000, "total_ios": 3000, "runtime": 3000,
    "clat_ns": {"N": 3000, "mean": 1000.0, "min": 900, "max": 2000, "stddev": 1.0},
}  # fmt: skip
WINDOWS = "1000, 1000, 0, 0, 0\n2000, 1000, 0, 0, 0\n3000, 1000, 0, 0, 0\n"


def document(*jobs, version="fio-3.33", common=None):
    """A JSON of fio: jobs are (name, group, options)."""
    listed = [
        {"jobname": name, "groupid": group, "error": 0, "job options": options, "read": STATS}
        for name, group, options in jobs
    ]
    options = {"bs": "4k", "rw": "read", **(common or {})}
    head = {"fio version": version, "timestamp_ms": 1_600_000_000_000, "global options": options}
    return json.dumps({**head, "jobs": listed})


def place(folder, **files):
    folder.mkdir(exist_ok=True)
    for name, written in files.items():
        (folder / name).write_text(written)
    return folder


def joined(found):
    return {source.name: sorted(source.logs) for source in found[0]}


def names(found):
    return sorted(path.name for path, _ in found[1])


def test_a_json_alone_has_the_logs_beside_it_that_it_names(tmp_path):
    text = document(("a", 0, {"write_bw_log": "x", "write_lat_log": ""}))
    logs = ("x_bw.1.log", "a_lat.1.log", "a_clat.1.log", "x_bw.2.log", "y_bw.1.log", "x_iops.1.log")
    place(tmp_path, **{"r.json": text, **dict.fromkeys(logs, WINDOWS)})
    found = read_sources([tmp_path / "r.json"])
    assert joined(found) == {"r.json": ["a_clat.1.log", "a_lat.1.log", "x_bw.1.log"]}
    assert names(found) == ["x_bw.2.log", "x_iops.1.log", "y_bw.1.log"]


def test_a_folder_of_six_results_is_six_runs(tmp_path):
    kinds = ("bw", "iops", "lat", "clat", "slat")
    for number in range(6):
        name = f"job{number}"
        options = dict.fromkeys(("write_bw_log", "write_iops_log", "write_lat_log"), name)
        place(tmp_path, **{f"{name}.json": document((name, 0, options), (name, 0, options))})
        for kind in kinds:
            for job in (1, 2):
                (tmp_path / f"{name}_{kind}.{job}.log").write_text(WINDOWS)
    (tmp_path / "notes.txt").write_text("bought on Tuesday")
    (tmp_path / "old_bw.1.log").write_text(WINDOWS)
    found = read_sources([tmp_path])
    counts = {name: len(logs) for name, logs in joined(found).items()}
    assert counts == {f"job{number}.json": 10 for number in range(6)}
    assert names(found) == ["notes.txt", "old_bw.1.log"]


def test_clones_of_a_group_have_their_numbers_and_without_any_the_prefix_decides(tmp_path):
    options = {"write_bw_log": "g", "numjobs": "3", "group_reporting": "1"}
    files = {f"g_bw.{number}.log": WINDOWS for number in (1, 2, 3)}
    numbered = place(tmp_path / "numbered", **{"g.json": document(("g", 0, options)), **files})
    assert joined(read_sources([numbered])) == {"g.json": sorted(files)}
    common = {"write_iops_log": "logs/all", "per_job_logs": "0"}
    text = document(("a", 0, {}), ("b", 0, {}), common=common)
    whole = place(tmp_path / "whole", **{"a.json": text, "all_iops.log": WINDOWS})
    assert joined(read_sources([whole])) == {"a.json": ["all_iops.log"]}


def test_a_log_that_two_results_name_is_left_unless_one_has_its_name(tmp_path):
    options = {"write_bw_log": "fio"}
    one, two = document(("a", 0, options)), document(("b", 0, options))
    place(tmp_path, **{"a.json": one, "b.json": two, "fio_bw.1.log": WINDOWS})
    found = read_sources([tmp_path])
    assert joined(found) == {"a.json": [], "b.json": []}
    assert "a.json, b.json" in found[1][0][1]
    place(tmp_path, **{"fio.json": one})
    assert joined(read_sources([tmp_path]))["fio.json"] == ["fio_bw.1.log"]


def test_a_result_that_names_no_log_has_those_beside_it_if_it_is_alone(tmp_path):
    text = document(("a", 0, {}))
    place(tmp_path, **{"a.json": text, "q_bw.1.log": WINDOWS})
    assert joined(read_sources([tmp_path / "a.json"])) == {"a.json": ["q_bw.1.log"]}
    place(tmp_path, **{"b.json": text, "b_bw.1.log": WINDOWS})
    assert joined(read_sources([tmp_path / "a.json"])) == {"a.json": []}
    both = read_sources([tmp_path])
    assert joined(both) == {"a.json": [], "b.json": ["b_bw.1.log"]}
    assert names(both) == ["q_bw.1.log"]


def test_logs_that_belong_to_nothing_are_a_run_and_a_folder_of_them_one_a_prefix(tmp_path):
    place(tmp_path / "one", **{"x_bw.1.log": WINDOWS, "x_iops.1.log": WINDOWS})
    place(tmp_path / "two", **{"x_bw.1.log": WINDOWS})
    assert len(read_sources([tmp_path])[0]) == 2
    place(tmp_path, **{"a.json": document(("a", 0, {"write_bw_log": "a"})), "q_bw.1.log": WINDOWS})
    found = read_sources([tmp_path / "a.json", tmp_path / "q_bw.1.log"])
    assert joined(found) == {"a.json": [], "q_bw.1.log": []}
    assert found[1] == []


def test_steps_of_one_file_have_their_own_logs(evidence, tmp_path):
    text = document(("a", 0, {}), ("b", 1, {}), common={"write_iops_log": "s"})
    half = WINDOWS.replace(", 1000,", ", 500,", 3)
    place(tmp_path / "in", **{"s.json": text, "s_iops.1.log": WINDOWS, "s_iops.2.log": half})
    (run_id,) = taken_in(evidence, tmp_path / "in" / "s.json")
    series = diskbench.load_series(run_id, evidence=(tmp_path / "evidence").as_uri())
    of = {step[0]: frame["iops"].to_list() for step, frame in series.group_by("step")}
    assert of == {"a": [1000] * 3, "b": [500] * 3}


def test_a_damaged_log_that_was_found_is_left_and_an_empty_one_is_joined(tmp_path):
    text = document(("a", 0, {"write_bw_log": "a", "write_lat_log": "a"}))
    place(tmp_path, **{"a.json": text, "a_bw.1.log": (WINDOWS + "4000, 10"), "a_slat.1.log": ""})
    for path in (tmp_path, tmp_path / "a.json"):
        found = read_sources([path])
        assert joined(found) == {"a.json": ["a_slat.1.log"]}
        assert "line 4 is not a row of a fio log" in found[1][0][1]
    with pytest.raises(InvalidValue, match="line 4"):
        read_sources([tmp_path / "a.json", tmp_path / "a_bw.1.log"])


def test_a_log_beside_that_is_too_large_is_left_and_a_typed_one_refused(tmp_path, monkeypatch):
    text = document(("a", 0, {"write_bw_log": "a"}))
    place(tmp_path, **{"a.json": text, "a_bw.1.log": WINDOWS * 50})
    monkeypatch.setattr(import_sources, "IMPORT_BYTES", len(text) + 100)
    found = read_sources([tmp_path / "a.json"])
    assert joined(found) == {"a.json": []}
    assert "holds more than" in found[1][0][1]
    with pytest.raises(InvalidValue, match="holds more than"):
        read_sources([tmp_path / "a.json", tmp_path / "a_bw.1.log"])


def test_a_folder_of_no_and_of_too_many_files_is_refused(tmp_path, monkeypatch):
    with pytest.raises(InvalidValue, match="nothing that can be imported"):
        read_sources([tmp_path])
    monkeypatch.setattr(import_sources, "IMPORT_FILES", 2)
    place(tmp_path, a="", b="", c="")
    with pytest.raises(InvalidValue, match="more than 2 files"):
        read_sources([tmp_path])


JOB_FILE = "[r]\nrw=randread\nbs=4k\niodepth=8\nioengine=libaio\ndirect=1\n"


@pytest.mark.parametrize(
    ("job_file", "direct", "said"),
    [
        (JOB_FILE, "1", "options are from j.fio beside it"),
        (JOB_FILE.replace("bs=4k", "bs=64k"), None, "j.fio beside it has other options of job r"),
        ("[other]\nrw=read\n", None, ""),
        ("no job file", None, ""),
    ],
)
def test_a_job_file_beside_a_report_says_what_that_leaves_out(tmp_path, job_file, direct, said):
    (tmp_path / "j.txt").write_text(text([Told(name="r", depth=8)], [Disk(reads=180_000)]))
    (tmp_path / "j.fio").write_text(job_file)
    (source,) = read_sources([tmp_path / "j.txt"])[0]
    (run,) = source.parsed.runs
    assert said in run.reports
    assert (source.job_file == "j.fio") is bool(said)
    beside = ("j.fio", job_file)
    ((_, output),) = report_steps("fio-text", source.data, 0, where="j.txt", beside=beside)
    assert options_of(output.jobs[0], output, {}).get("direct") == direct


DD = "1024+0 records out\n1073741824 bytes (1.1 GB) copied, 2.14748 s, 500 MB/s\n"
HDPARM = "/dev/sda:\n Timing buffered disk reads: 1500 MB in  3.00 seconds = 500.00 MB/sec\n"


def test_a_file_of_several_tools_gives_the_figures_of_each_or_names_what_cannot_be_read(tmp_path):
    file = place(tmp_path, **{"log.txt": DD + HDPARM + text([Told()], [Disk(reads=180_000)])})
    sources = read_sources([file / "log.txt"])[0]
    assert sorted(source.parsed.kind for source in sources) == ["dd", "fio-text", "hdparm"]
    assert [source.is_further for source in sources] == [False, True, True]
    broken = DD.replace("2.14748", "99999999999")
    (source,) = read_sources([place(tmp_path, **{"log.txt": broken + HDPARM}) / "log.txt"])[0]
    assert "dd" in source.parsed.runs[0].reports
    assert "left out" in source.parsed.runs[0].reports


def test_included_files_are_part_of_the_profile(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "job.fio").write_text("[global]\ninclude sub/common.inc ; shared\n[a]\nrw=read\n")
    (tmp_path / "sub/common.inc").write_text("bs=4k\ninclude more.inc\n")
    (tmp_path / "sub/more.inc").write_text("iodepth=4\n")
    template = find_profile(str(tmp_path / "job.fio")).template
    assert [line for line in template.splitlines() if line and not line.startswith(";")] == [
        "[global]", "bs=4k", "iodepth=4", "[a]", "rw=read",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("missing.inc", "cannot be read"),
        ("../outside.inc", "outside its directory"),
        ("/etc/hostname", "outside its directory"),
        ("job.fio", "more than 8 times deep"),
        ("link.inc", "outside"),
    ],
)
def test_a_file_that_cannot_be_included_is_named(tmp_path, name, why):
    folder = tmp_path / "jobs"
    folder.mkdir()
    (tmp_path / "outside.inc").write_text("bs=4k\n")
    (folder / "link.inc").symlink_to(tmp_path / "outside.inc")
    (folder / "job.fio").write_text(f"[global]\ninclude {name}\n[a]\nrw=read\n")
    with pytest.raises(ProfileError, match=why) as caught:
        find_profile(str(folder / "job.fio"))
    assert caught.value.advice


@pytest.mark.slow
def test_files_that_include_each_other_many_times_over_do_not_fill_the_memory(tmp_path):
    for level in range(7):
        (tmp_path / f"{level}.inc").write_text(f"include {level + 1}.inc\n" * 100)
    (tmp_path / "7.inc").write_text("bs=4k\n" * 100)
    (tmp_path / "job.fio").write_text("[a]\nrw=read\ninclude 0.inc\n")
    with pytest.raises(ProfileError, match="more than 8 MiB"):
        find_profile(str(tmp_path / "job.fio"))
