"""What a host may not do with what it sends: its files are data, and its words are counted."""

import hashlib
import io
import json
import shutil
import tarfile
from pathlib import Path

import pytest
from tests.rigs.limited import run_python
from tests.rigs.windows import first_on_path, program

from diskbench.hosts import collect as collecting
from diskbench.hosts.local import LocalHost
from diskbench.hosts.unit import Unit

JOB = "[write]\nrw=write\nsize=1m\nbs=64k\ndirect=0\nioengine=psync\n"
LITTER = """
printf '{"forged": true}' >step.json
printf '{"forged": true}' >manifest.json
printf '{"forged": true}' >plan.json
echo forged >left-out.txt
echo case >Step.JSON
echo case >FIO.json
ln -s /etc/passwd link.txt
mkfifo pipe.txt
mkdir folder.txt
head -c 5000 /dev/zero >twin
echo small >twin.zst
"""
"""What the host's fio leaves beside its own files: names of records, names that collide in another
case or once compressed, and what is no file."""


def run_with_fio(user, target, after):
    """The run that was done, and what was said."""
    programs, real = user.home / "programs", shutil.which("fio")
    leave = f'case "$*" in *job.fio)\n{after}\n;;esac'
    program(programs / "fio", f'{real} "$@"\nstatus=$?\n{leave}\nexit $status')
    user.extra_env["PATH"] = first_on_path(programs)
    words = ("--path", str(target), "--profile", user.job(JOB), "--output", "json")
    done = user.done("run", *words)
    return json.loads(done.stdout)["runs"][0], done.stderr


def stored(user):
    (run,) = user.home.glob(".local/share/diskbench/evidence/runs/*")
    return run


def test_a_host_that_names_files_like_records_forges_none(user, target):
    """Fio leaves files named as records are, or in another case, links, FIFOs and directories."""
    run, err = run_with_fio(user, target, LITTER)
    assert run["state"] == "done"
    (step,) = (stored(user) / "steps").iterdir()
    assert json.loads((step / "step.json").read_text())["run_id"] == run["run_id"]
    assert json.loads((stored(user) / "manifest.json").read_text())["state"] == "done"
    assert json.loads((stored(user) / "plan.json").read_text())["trial_id"]
    told = (step / "left-out.txt").read_text()
    for name in ("step.json", "manifest.json", "plan.json", "left-out.txt", "Step.JSON"):
        assert f"{name}: has the name of a record" in told
    assert "left out" in err
    files = json.loads((step / "step.json").read_text())["files"]
    assert {files[name]["key"] for name in ("twin", "twin.zst")} == {"twin.zst", "twin.zst.zst"}
    user.done("results", "rebuild")
    user.done("gc")


def test_a_file_of_holes_is_left_out_and_named(user, target):
    """Fio leaves a file of 3 TB that is all hole, and one of 150 MB that is none."""
    leaves = "truncate -s 3T holes.log; head -c 150000000 /dev/zero >whole.log"
    _, err = run_with_fio(user, target, leaves)
    (step,) = (stored(user) / "steps").iterdir()
    told = (step / "left-out.txt").read_text()
    assert told == "holes.log: has 3 TiB, but only 0 B was ever written: the rest is holes\n"
    assert "holes.log has 3 TiB" in err
    kept = json.loads((step / "step.json").read_text())["files"]
    assert "whole.log" in kept
    assert "holes.log" not in kept


def tar_of(*members):
    """A tar of (name, type, content) with the checksums that a host sends."""
    buffer = io.BytesIO()
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, _, data in members)
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, kind, data in (*members, ("SHA256SUMS", tarfile.REGTYPE, sums.encode())):
            info = tarfile.TarInfo(name)
            info.type, info.size, info.linkname = kind, len(data), "../../victim"
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def collected(tmp_path, archive, monkeypatch):
    sent, into = tmp_path / "sent.tar", tmp_path / "around" / "in"
    sent.write_bytes(archive)
    monkeypatch.setattr(collecting, "request", lambda *_, **__: f"cat {sent}")
    monkeypatch.setattr(collecting, "ATTEMPTS", 1)
    unit = Unit(trial_id="t", run_index=0, name="000-x", state_dir="/nonexistent", job="")
    return {path.name for path in collecting.collect(LocalHost(), unit, into)}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("../x", tarfile.REGTYPE), ("/etc/diskbench-drill", tarfile.REGTYPE),
        ("a/b", tarfile.REGTYPE), ("..", tarfile.REGTYPE), (".hidden", tarfile.REGTYPE),
        ("-rf", tarfile.REGTYPE), ("a\x1b]0;x\x07b", tarfile.REGTYPE), ("n" * 300, tarfile.REGTYPE),
        ("ſtep.json", tarfile.REGTYPE), ("hard", tarfile.LNKTYPE), ("soft", tarfile.SYMTYPE),
        ("device", tarfile.CHRTYPE), ("disk", tarfile.BLKTYPE), ("fifo", tarfile.FIFOTYPE),
        ("folder", tarfile.DIRTYPE), ("STEP.JSON", tarfile.REGTYPE),
    ],
)  # fmt: skip
def test_an_archive_of_a_host_holds_plain_files_only(name, kind, tmp_path, monkeypatch):
    """The archive has ../x, an absolute path, links, a device, a FIFO, a name of 300 characters."""
    archive = tar_of(("fio.exit", tarfile.REGTYPE, b"0\n"), (name, kind, b""))
    assert collected(tmp_path, archive, monkeypatch) == {"fio.exit", "SHA256SUMS", "left-out.txt"}
    assert not Path("/etc/diskbench-drill").exists()
    assert [path.name for path in (tmp_path / "around").iterdir()] == ["in"]


@pytest.mark.parametrize("kind", ["sparse", "name", "chain"])
def test_a_header_of_an_archive_makes_nothing_large(kind, tmp_path):
    """A header claims 4 EiB, a name of 3 GB, or 5,000 names: 150 MiB of memory are enough."""
    archive = tmp_path / "sent.tar"
    info = tarfile.TarInfo("fio.json" if kind == "sparse" else "././@LongLink")
    info.type = tarfile.REGTYPE if kind == "sparse" else tarfile.GNUTYPE_LONGNAME
    info.size = {"sparse": 2**62, "name": 3 * 2**30, "chain": 512}[kind]
    head = info.tobuf(tarfile.GNU_FORMAT)
    with archive.open("wb") as file:
        file.write((head + b"n" * 512) * 5000 if kind == "chain" else head)
        if kind == "name":
            file.truncate(3 * 2**30 + 2**20)
    done = run_python(f"""
from pathlib import Path
from diskbench.errors import MeasurementFailed
from diskbench.hosts import collect as collecting
from diskbench.hosts.local import LocalHost
from diskbench.hosts.unit import Unit
collecting.request, collecting.ATTEMPTS = lambda *_, **__: "cat {archive}", 1
unit = Unit(trial_id="t", run_index=0, name="000-x", state_dir="/none", job="")
try:
    collecting.collect(LocalHost(), unit, Path("{tmp_path}/got"))
except MeasurementFailed as error:
    print(error)
""")
    assert done.exit == 0, done.err
    assert "000-x" in done.out
    assert done.peak_mib < 150
