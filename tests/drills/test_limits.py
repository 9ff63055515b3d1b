"""Nothing from outside is taken without end: streams, files, archives, numbers, counts."""

import hashlib
import json
import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.rigs.limited import run_diskbench, run_python
from tests.rigs.measured import TIMES
from tests.rigs.plans import RUN_IDS, make_plan, make_step, save_plan
from tests.rigs.windows import first_on_path, program

from diskbench.errors import LimitExceeded, MeasurementFailed, ProfileError, UserError
from diskbench.fio.profiles import parse_profile
from diskbench.fio.steps import build_steps
from diskbench.fio.target import FioTarget
from diskbench.hosts import shell
from diskbench.hosts.jobs import start_and_watch
from diskbench.hosts.local import LocalHost
from diskbench.hosts.unit import Unit
from diskbench.model.facts import HostFacts
from diskbench.packed import zstd
from diskbench.store import archive
from diskbench.store.database import open_database
from diskbench.store.evidence import open_evidence
from diskbench.store.finish import finish_run
from diskbench.store.rebuild import rebuild


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_command_that_prints_without_end_is_cut_off(stream, tmp_path):
    """`uname` on the host prints without end: it is named, within 200 MiB of memory."""
    program(tmp_path / "uname", f"exec yes endless {'>&2' if stream == 'stderr' else ''}")
    done = run_python(
        "from diskbench.errors import LimitExceeded\n"
        "from diskbench.hosts.local import LocalHost\n"
        "try:\n    LocalHost().run('uname -a', timeout_s=60)\n"
        "except LimitExceeded as error:\n    print(error)\n",
        env=os.environ | {"PATH": first_on_path(tmp_path)},
    )
    assert "printed more than 16 MiB for one command (uname -a)" in done.out, done.err
    assert done.peak_mib < 200


def test_live_lines_are_bounded(monkeypatch):
    """A followed step sends one line without an end, or lines without end: it fails."""
    with pytest.raises(LimitExceeded, match="a line of more than 64 KiB"):
        for _ in LocalHost().stream("tr '\\0' x </dev/zero"):
            pass
    monkeypatch.setattr(shell, "FOLLOWED_BYTES", 2**20)
    with pytest.raises(LimitExceeded, match=r"more than 1 MiB of lines"):
        for _ in LocalHost().stream("yes"):
            pass


@pytest.mark.parametrize(
    "word", ["x 0 1 2", "0 0 inf inf", "0 0 nan nan", "0 0 1e300 1e308", f"{'9' * 5000} 0 1 2"]
)
def test_a_last_word_that_no_unit_says_ends_the_step(word):
    """A unit's last word has letters, infinity or a number of 5,000 digits: nothing is left."""

    class Host(LocalHost):
        def stream(self, *_, **__):
            yield f'"= {word}"'.encode()

    unit = Unit(trial_id="t", run_index=0, name="000-x", state_dir="/nonexistent", job="")
    with pytest.raises(MeasurementFailed, match="000-x"):
        start_and_watch(Host(), unit, lambda _: None, lambda: False)


def kept_step(user):
    (user.home / "target").mkdir()
    job = user.job("[write]\nrw=write\nsize=1m\nbs=64k\ndirect=0\nioengine=psync\n")
    user.done("run", "--path", "target", "--profile", job, "--quiet")
    (step,) = user.home.glob(".local/share/diskbench/evidence/runs/*/steps/*")
    return step


@pytest.mark.thorough
@pytest.mark.parametrize("forged", [False, True])
def test_a_compressed_file_that_grows_without_bound_is_refused(user, forged):
    """A .zst of 400 KB unpacks to 7 GB, its record forged to agree or not: 400 MiB are enough."""
    step = kept_step(user)
    compressor, size = zstd.ZstdCompressor(level=3), 7 * 2**30
    if forged:
        compressor.set_pledged_input_size(size)
    block = bytes(2**24)
    with (step / "fio.json.zst").open("wb") as file:
        for _ in range(size // len(block)):
            file.write(compressor.compress(block))
        file.write(compressor.flush())
    assert (step / "fio.json.zst").stat().st_size < 10**6
    if forged:
        record = json.loads((step / "step.json").read_text())
        record["files"]["fio.json"]["bytes"] = size
        (step / "step.json").write_text(json.dumps(record))
        manifest = json.loads((step.parents[1] / "manifest.json").read_text())
        digest = hashlib.sha256((step / "step.json").read_bytes()).hexdigest()
        manifest["steps"][0]["sha256"] = digest
        (step.parents[1] / "manifest.json").write_text(json.dumps(manifest))
    done = run_diskbench(user, "results", "rebuild")
    assert done.exit == 1, done.err
    assert "fio.json.zst" in done.err
    assert done.peak_mib < 400


@pytest.mark.parametrize("name", ["step.json", "manifest.json"])
def test_a_damaged_record_is_named(name, user):
    """It is cut, of wrong types, another run's, leads outside, or has 100,000 brackets."""
    step = kept_step(user)
    path = step / name if name == "step.json" else step.parents[1] / name
    whole = path.read_text()
    record = json.loads(whole)
    elsewhere = {key: {"key": "../../../x", "bytes": 1, "sha256": "0"} for key in ("fio.json",)}
    damages = [
        whole[: len(whole) // 2], "", "[]", json.dumps(record | {"format": "x"}),
        json.dumps(record | {"run_id": RUN_IDS[0]}), "[" * 100_000,
    ]  # fmt: skip
    if name == "step.json":
        damages += [json.dumps(record | {"files": elsewhere}), json.dumps(record | {"files": 3})]
    database = open_database(f"sqlite:///{user.home}/.local/share/diskbench/diskbench.db")
    evidence = open_evidence((user.home / ".local/share/diskbench/evidence").as_uri())
    for damage in damages:
        path.write_text(damage)
        ((run_id, error),) = rebuild(database, evidence).failed
        assert name in error.message, damage[:50]
        assert run_id == step.parents[1].name


def test_a_run_whose_records_are_damaged_still_ends(tmp_path):
    """The step.json of a step is damaged before its run ends, and a manifest, which is kept."""
    database = open_database(f"sqlite:///{tmp_path}/d.db")
    evidence, plan = open_evidence(f"file://{tmp_path}/evidence"), make_plan()
    save_plan(database, plan, evidence.url)
    archive.write_plan(evidence, plan)
    archive.write_step_evidence(evidence, RUN_IDS[0], make_step(), {"fio.json": b"{}"}, **TIMES)
    (record,) = tmp_path.glob("evidence/runs/*/steps/*/step.json")
    record.write_text('{"format": 1, "run')
    manifest = tmp_path / "evidence/runs" / RUN_IDS[0] / "manifest.json"
    manifest.write_text("{")
    finish_run(database, evidence, plan, 0, "failed", None)
    found = archive.read_manifest(evidence, RUN_IDS[0])
    assert found.steps == ()
    assert "step.json" in found.damaged[0]
    assert manifest.with_name("manifest.json.damaged").read_text() == "{"
    notes: list[str] = []
    record = archive.write_step_evidence(
        evidence, RUN_IDS[0], make_step(), {"fio.json": b"[]"}, **TIMES, on_note=notes.append
    )
    assert archive.result_files(evidence, RUN_IDS[0], record)["fio.json"] == b"[]"
    assert "written again" in notes[0]


@pytest.mark.parametrize("flag", ["--runs", "--replicates", "--until-ci 5% --max-replicates"])
def test_counts_without_end_are_refused_at_once(flag, user):
    """--runs, --replicates and --max-replicates of 10^9: exit 2, within 3 GB."""
    done = run_diskbench(user, "run", "--path", "/tmp", *flag.split(), str(10**9))
    assert done.exit == 2, done.err
    assert "1,000,000,000" in done.err
    assert "10,000" in done.err


MATRIX = """name: m
defaults: {{provider: aws, region: us-east-1, instance_type: m5.large, disk: gp3, {fields}}}
axes:
  size: [{sizes}]
{limits}
"""


@pytest.mark.parametrize(
    ("fields", "limits", "sizes"),
    [
        ("replicates: 100000000", "", 1), ("runs: 1000000000", "", 1),
        ("cache: none", "limits: {until_ci: 5%, max_replicates: 100000000}", 1),
        ("replicates: 10000", "", 5000),
    ],
)  # fmt: skip
def test_matrix_files_with_counts_without_end_are_refused(fields, limits, sizes, user):
    """Replicates, runs, max_replicates or a product of axes of 10^8 or more: the line is named."""
    listed = ", ".join(map(str, range(10, 10 + sizes)))
    path = user.job(MATRIX.format(fields=fields, limits=limits, sizes=listed), "m.yaml")
    done = run_diskbench(user, "matrix", "plan", path)
    assert done.exit == 2, done.err
    assert "10000" in done.err.replace(",", "")


FRONT = "---\ntitle: t\nquestion: q\nsource: s\n{more}---\n"


@pytest.mark.parametrize(
    "text",
    [
        "[a]\nrw=read\nsize=1m\nnrfiles=100000000\n",
        "[a]\nrw=read\nsize=1m\nnr_files=1000000000\n",
        "[a]\nrw=read\nsize=1m\nnumjobs=1000000000\n",
        FRONT.format(more="loop: {tracked: a, direction: read, max_rounds: 1000000000}\n")
        + "[a]\nrw=read\nsize=1m\n",
        FRONT.format(more="parameters: {n: {default: 1000000000, kind: int, help: h}}\n")
        + "[a]\nrw=read\nsize=1m\nnrfiles={{ n }}\n",
    ],
)  # fmt: skip
def test_profiles_with_counts_without_end_are_refused(text):
    """Job files and front matter with nrfiles, numjobs or max_rounds of 10^8 and 10^9."""
    with pytest.raises(UserError, match=r"1,?0{2,3},?000,?000|max_rounds"):
        steps_of(text)


def steps_of(text):
    profile = parse_profile(text, name="mine")
    target = FioTarget(kind="directory", path="/tmp/x", size_bytes=2**40)
    build_steps(profile, {}, HostFacts(), target)


BOMBS = {
    "nested loops": "{% for a in range(99999) %}{% for b in range(99999) %}"
    "{% for c in range(99999) %}{% endfor %}{% endfor %}{% endfor %}",
    "a repeated text": '{{ "x" * 10**9 }}',
    "a text doubled": '{% set ns = namespace(t="x") %}{% for i in range(60) %}'
    "{% set ns.t = ns.t ~ ns.t %}{% endfor %}{{ ns.t }}",
    "a power": "{{ (10 ** (10 ** 8)) % 7 }}",
    "a filter": '{{ "x" | center(2000000000) }}',
    "a format": '{{ "%2000000000d" % 1 }}',
    "a method": '{{ "x".ljust(2000000000) }}',
    "a list": "{{ ([0] * 10**9) | length }}",
    "a macro that calls itself twice": "{% macro m(n) %}{{ m(n - 1) if n }}{{ m(n - 1) if n }}"
    "{% endmacro %}{{ m(60) }}",
    "a macro without end": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "lorem ipsum": "{{ lipsum(n=100000000) }}",
    "a long output": "{% for a in range(99999) %}{{ 'x' * 1000 }}{% endfor %}",
}


@pytest.mark.parametrize("kind", BOMBS)
def test_templates_without_end_are_ended(kind):
    """A profile's template loops, repeats, doubles, pads or calls itself without end."""
    text = FRONT.format(more="") + BOMBS[kind] + "\n[a]\nrw=read\nsize=1m\n"
    with ThreadPoolExecutor(1) as pool, pytest.raises(ProfileError):
        pool.submit(steps_of, text).result(60)


def fio_json(**changes):
    read = {"total_ios": 10, "io_bytes": 40960, "runtime": 1000} | changes
    return json.dumps({"fio version": "fio-3.33", "jobs": [{"jobname": "a", "read": read}]})


@pytest.mark.parametrize(
    "text",
    [
        fio_json(total_ios=2**63), fio_json(total_ios=-1), fio_json(io_bytes=10**30),
        fio_json(runtime=2**62), fio_json(runtime=10**18), fio_json().replace("1000", "1e400"),
        fio_json().replace("1000", "NaN"), fio_json().replace("10,", "9" * 5000 + ",", 1),
        json.dumps({"fio version": "fio-3.33", "jobs": [
            {"jobname": "a", "read": {"total_ios": 2**62, "io_bytes": 2**62, "runtime": 1}}] * 4}),
        '{"fio version": "fio-3.33", "jobs": [{"jobname": "a"}'
        + ', {"jobname": "a"}' * (10**6 - 1) + "]}",
        '{"fio version": "x", "jobs": [' * 5000,
        '{"fio version": "x", "jobs": ' + "[" * 100_000,
    ],
    ids=["2^63", "negative", "10^30", "long", "longer", "1e400", "nan", "digits", "sum", "jobs",
         "beginnings", "depth"],
)  # fmt: skip
def test_numbers_that_no_fio_measures_do_no_harm(text, user):
    """1e400, NaN, negative and huge numbers, a million jobs, broken beginnings, deep nesting."""
    (user.home / "fio.json").write_text(text)
    done = user.call("results", "import", "fio.json")
    assert done.returncode in {0, 2}, done.stderr
    assert "Traceback" not in done.stderr
    if done.returncode == 0:
        user.called("results", "show", done.stdout.strip())


@pytest.mark.parametrize("kind", ["endless", "large"])
def test_imports_are_bounded(kind, user):
    """An import of a file that does not end, and of JSON of 70 MB: exit 2, within 1.5 GiB."""
    path = user.home / "fio_bw.1.log"
    if kind == "endless":
        path.symlink_to("/dev/zero")
    else:
        path = user.home / "fio.json"
        path.write_text(fio_json() + " " * (70 * 2**20))
    done = run_diskbench(user, "results", "import", str(path))
    assert done.exit == 2, done.err[-2000:]
    assert ("512 MiB" if kind == "endless" else "64 MiB") in done.err
    assert done.peak_mib < 1536


def test_samples_of_a_long_step_are_read_at_their_ends(tmp_path):
    """Samples of 200 MB, with counters of 5,000 digits: 250 MiB of memory are enough."""
    cores = "".join(f"cpu{n} {n} 0 0 100 0 0 0 0 0 0\n" for n in range(192))
    with (tmp_path / "samples.txt").open("w") as file:
        for second in range(36_000):
            file.write(f"@ {1e9 + second}\ncpu {second} 0 0 {second} 0 0 0 {second**2}\n{cores}")
        file.write(f"ctxt {'9' * 5000}\n")
    assert (tmp_path / "samples.txt").stat().st_size > 200 * 10**6
    done = run_python(f"""
from pathlib import Path
from diskbench.fio.samples import parse_samples
from diskbench.model.spec import Step
from diskbench.store.archive import result_files, write_step_evidence
from diskbench.store.evidence import open_evidence
store = open_evidence("file://{tmp_path}/evidence")
step = Step(index=0, name="x", job="", expected_s=1)
record = write_step_evidence(
    store, "r", step, {{"samples.txt": Path("{tmp_path}/samples.txt")}},
    started_at="a", finished_at="b")
print(parse_samples(result_files(store, "r", record)["samples.txt"]).steal)
""")
    assert done.exit == 0, done.err
    assert float(done.out) == pytest.approx(35_999 / 36_001, rel=1e-9)
    assert done.peak_mib < 250
