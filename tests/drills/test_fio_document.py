"""Only fio's own document is a result, whatever else is printed while it runs."""

import json
import shutil

import pytest
from tests.rigs.cli import merged_rows
from tests.rigs.windows import first_on_path, program

from diskbench.fio.recorded import NULL_IOPS, parse_canary
from diskbench.store.archive import read_step, run_prefix, step_folders
from diskbench.store.content import read_file
from diskbench.store.evidence import open_evidence

FORGED_IOPS = 123456789
SHORT = """{"fio version" : "fio-9.99", "jobs" : [{"jobname" : "forged", "read" : {}}]}"""
PROFILE = (
    "[global]\nsize=1m\nioengine=psync\ndirect=0\nrw=randread\nbs=4k\nrate_iops=200\n"
    "time_based\nruntime={seconds}\n[honest]\n"
)


def forged():
    """A document as fio indents it, of a disk that does not exist."""
    latency = {"min": 1, "max": 2, "mean": 1.5, "stddev": 0.1, "N": FORGED_IOPS}
    way = {"io_bytes": 4096 * FORGED_IOPS, "total_ios": FORGED_IOPS, "iops": FORGED_IOPS}
    way |= {"runtime": 1000, "lat_ns": latency}
    job = {"jobname": "forged", "groupid": 0, "error": 0, "job_runtime": 1000, "read": way}
    document = {"fio version": "fio-9.99", "timestamp": 2000000000, "timestamp_ms": 2 * 10**12}
    document |= {"time": "Wed May 18 03:33:20 2033", "jobs": [job]}
    return json.dumps(document, indent=2).replace('":', '" :')


def wrap_fio(user, body, *, also="job.fio"):
    """Put a script named fio first on the PATH: the real one is $real, a document $forged."""
    document = user.job(forged() + "\n", "forged.json")
    head = f"real={shutil.which('fio')} forged={document}\n"
    plain = f'case " $* " in *" job.fio "* | *" {also} "*) ;; *) exec "$real" "$@" ;; esac\n'
    program(user.home / "bin/fio", head + plain + body)
    user.extra_env["PATH"] = first_on_path(user.home / "bin")


def measure(user, target):
    job = user.job(PROFILE, seconds=2)
    (run,) = user.json("run", "--path", str(target), "--profile", job, "--quiet")["runs"]
    return run


def assert_honest(run):
    (row,) = merged_rows(run)
    assert 20 < row["iops"] < 400  # of 200 a second, on whatever machine
    assert "9.99" not in json.dumps(run)


WRAPPERS = {
    "before": 'cat "$forged"; exec "$real" "$@"\n',
    "after": '"$real" "$@"; status=$?; cat "$forged"; exit $status\n',
    "between": (
        '"$real" "$@" & fio=$!\n'
        'while kill -0 $fio 2>/dev/null; do cat "$forged"; sleep 0.1; done\nwait $fio\n'
    ),
    "everywhere": (
        'cat "$forged"; cat "$forged" >&2\n"$real" "$@"; status=$?\n'
        'cat "$forged"; cat "$forged" >&2; exit $status\n'
    ),
    "on one line": f'"$real" "$@"; status=$?; echo \'{SHORT}\'; exit $status\n',
    "half a document": '"$real" "$@"; status=$?; head -n 12 "$forged"; exit $status\n',
    "braces": '"$real" "$@"; status=$?; printf \'{\\n}\\n{\\n\'; exit $status\n',
}


@pytest.mark.parametrize("when", WRAPPERS)
def test_json_that_a_wrapper_of_fio_prints_replaces_nothing(user, target, when):
    """A script named fio prints a forged result before, after and while the real fio runs."""
    wrap_fio(user, WRAPPERS[when])
    assert_honest(measure(user, target))


def test_a_result_without_fio_is_not_stored(user, target):
    """A script named fio prints a forged result, runs nothing and exits with 0: the run fails."""
    wrap_fio(user, 'cat "$forged"; exit 0\n')
    words = ("--path", str(target), "--profile", user.job(PROFILE), "--output", "json")
    done = user.run("run", *words)
    assert done.returncode == 1, done.stderr
    assert str(FORGED_IOPS) not in done.stdout
    assert "Traceback" not in done.stderr


def test_endless_output_beside_fio_fills_no_disk(user, target):
    """A script named fio prints without end to stdout and stderr while the real fio runs."""
    much = "yes 'fill the disk' | head -c 64000000"
    wrap_fio(user, f'{much} & {much} >&2 &\nexec "$real" "$@"\n')
    assert_honest(measure(user, target))
    assert sum(f.stat().st_size for f in user.home.rglob("*") if f.is_file()) < 30_000_000
    assert list(target.iterdir()) == []


def test_json_around_the_canary_replaces_nothing(user, target):
    """A script named fio prints a forged result around the canary, too."""
    wrap_fio(user, WRAPPERS["everywhere"], also="--name=null")
    run = measure(user, target)
    assert_honest(run)
    evidence = open_evidence((user.home / ".local/share/diskbench/evidence").as_uri())
    (folder,) = step_folders(evidence, run["run_id"])
    record = read_step(evidence, run["run_id"], folder)
    assert record
    place, name = f"{run_prefix(run['run_id'])}/{folder}", "canary-before.txt"
    found = parse_canary(read_file(evidence, place, name, record.files[name]))
    assert found[NULL_IOPS]
    assert found[NULL_IOPS] != FORGED_IOPS
