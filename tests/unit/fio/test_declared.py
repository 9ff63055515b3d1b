"""What a job file declares is what fio runs: one parser, every [global…], every alias."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rigs.plans import call_fio

from diskbench.fio.audit import audit_output, block_sizes
from diskbench.fio.declared import block_bytes, declared, iodepth, is_set, options_of
from diskbench.fio.jobfile import ALIASES
from diskbench.fio.output import parse_output
from diskbench.fio.reported import FioJob, FioOutput
from diskbench.fio.rows import measurements
from diskbench.model.spec import Step


def test_every_section_that_begins_with_global_holds_for_the_jobs_after_it():
    text = "[global-defaults]\nbs=8k\niodepth=7\n[a]\nrw=read\n[global2]\nbs=1m\n[b]\nrw=write\n"
    found = declared(text)
    assert (block_bytes(found["a"], "read"), iodepth(found["a"])) == (8192, 7)
    assert (block_bytes(found["b"], "write"), iodepth(found["b"])) == (1 << 20, 7)


@given(st.sampled_from(sorted(ALIASES)), st.sampled_from(["4", "8k", "1"]))
def test_every_alias_is_its_first_name_in_a_job_file_and_in_fios_json(alias, value):
    name = ALIASES[alias]
    assert declared(f"[j]\nrw=read\n{alias}={value}\n")["j"][name] == value
    job = FioJob(name="j", index=0, group=0, error=0, options={alias: value}, directions={})
    output = FioOutput(where="", version="fio-3.33", jobs=(job,), options={})
    assert options_of(job, output, {})[name] == value


def test_buffered_is_the_inverse_of_direct_and_the_last_one_counts():
    direct = ("buffered=0", "direct", "buffered=1\ndirect=1")
    for lines in (*direct, "", "buffered", "buffered=1", "direct=1\nbuffered=1"):
        options = declared(f"[j]\nrw=read\n{lines}\n")["j"]
        assert is_set(options, "direct") is (lines in direct), lines


@pytest.mark.parametrize("text", ["", "\n", "[global]\nbs=4k\n", "bs=4k\n", "[j\nbs=4k\n"])
def test_what_is_no_job_file_declares_nothing(text):
    assert declared(text) == {}


NOT_IN_EVERY_FIO = {"log_max_value", "ss_interval", "start_delay"}
"""fio 3.33 has an option log_max_value of its own, and takes the others for misspellings."""


@pytest.mark.slow
@pytest.mark.parametrize("alias", sorted(ALIASES))
def test_fio_takes_an_alias_for_the_same_option(alias, tmp_path):
    """fio's own word: its help of both names is the same but for the name."""
    names = (alias, ALIASES[alias])
    helped = (call_fio(f"--cmdhelp={name}", at=tmp_path, check=False) for name in names)
    shown = [done.stdout.decode() for done in helped]
    if alias in NOT_IN_EVERY_FIO:
        return
    assert f"alias: {alias}\n" in shown[0]
    assert shown[0] == shown[1]


def grouped(*, blocks=(4096, 65536), depths=(4, 8), runtime_ns=2 * 10**9):
    """What fio writes of two sections that it sums up: the name of the first, the options of the
    last (tried on fio 3.33)."""
    ios = 1000
    job = {
        "jobname": "a", "groupid": 0, "error": 0, "job_runtime": 2 * runtime_ns // 10**6,
        "job options": {"rw": "randread", "bs": str(blocks[1]), "iodepth": str(depths[1])},
        "read": {"total_ios": 2 * ios, "io_bytes": ios * sum(blocks),
                 "runtime": runtime_ns // 10**6, "clat_ns": {"mean": 1.0, "N": 2 * ios}},
    }  # fmt: skip
    return {"fio version": "fio-3.33", "global options": {"direct": "1"}, "jobs": [job]}


def test_an_entry_that_sums_up_two_sections_has_only_what_they_have_in_common():
    output = parse_output(json.dumps(grouped()).encode(), where="x")
    (job,) = output.jobs
    options = options_of(job, output, {})
    assert (options.get("direct"), options.get("rw"), iodepth(options)) == ("1", None, None)
    step = Step(index=0, name="a", role="measure", job="", expected_s=2)
    (row, _) = measurements(output, run_id="r", step=step)
    assert (row.jobs, row.block_bytes, row.iodepth) == (2, None, None)
    assert {c.name: c.holds for c in audit_output(output, {}, end_known=True)}["bytes"] is None
    output = parse_output(json.dumps(grouped(blocks=(4096, 4096))).encode(), where="x")
    options = options_of(output.jobs[0], output, {})
    assert (block_bytes(options, "read"), iodepth(options)) == (4096, None)
    output = parse_output(json.dumps(grouped()).encode(), where="x")
    job = "[global]\nrw=randread\ngroup_reporting\n[a]\nbs=4k\niodepth=4\n[b]\nbs=64k\niodepth=4\n"
    options = options_of(output.jobs[0], output, declared(job))
    assert (block_bytes(options, "read"), iodepth(options)) == (None, 4)
    assert block_sizes(options, "read") == (4096, 65536)
