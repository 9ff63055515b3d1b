"""The files of a step over a connection that breaks again and again: each byte is sent once."""

import re
import shutil
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from tests.rigs.fake_host import FakeHost, Fault

from diskbench.errors import ConnectionLost, EvidenceDamaged, InvalidValue, LimitExceeded
from diskbench.hosts import collect as collecting
from diskbench.hosts.collect import collect
from diskbench.hosts.device import DeviceProof
from diskbench.hosts.parts import Parts, Unpacked
from diskbench.hosts.stripe import stripe, stripe_uuid
from diskbench.hosts.unit import Unit

TOOLS = ("sh", "id", "sha256sum")


class Here(Unit):
    """A unit that ended, in a directory of the test."""

    @property
    def directory(self):
        return self.state_dir


class Counted(FakeHost):
    """A host that counts what it sent."""

    sent = 0

    def fetch(self, script, sink, *, timeout_s=60.0, root=False):
        host = self

        class Sink:
            def write(self, data, /):
                host.sent += len(data)
                return sink.write(data)

        return super().fetch(script, Sink(), timeout_s=timeout_s, root=root)


def ended_unit(folder, *, lines):
    """A unit with a log of `lines` I/Os, as fio writes them."""
    folder.mkdir()
    latencies = np.random.default_rng(1).lognormal(12, 0.5, lines).astype(int).tolist()
    rows = (
        f"{number // 30}, {latency}, {number % 2}, 4096, 0\n"
        for number, latency in enumerate(latencies)
    )
    (folder / "fio_lat.1.log").write_text("".join(rows))
    (folder / "fio.json").write_text("{}\n" * 50)
    (folder / "fio.exit").write_text("0\n")
    return Here(trial_id="t", run_index=0, name="000-x", state_dir=str(folder), job="")


def whole(got):
    """Whether the files are those of the host, and nothing else is left."""
    done = subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=got, check=False)
    return done.returncode == 0 and not list(got.glob(".*"))


def skipped(host):
    """What each fetch left out of the archive."""
    return [int(n) for call in host.calls for n in re.findall(r'"skip": (\d+)', call)]


@pytest.fixture
def host_with(tmp_path, monkeypatch):
    """Let this machine have no other programs than Python, TOOLS and those given."""

    def only(*programs):
        place = tmp_path / "bin"
        place.mkdir()
        for name in (*TOOLS, *programs):
            found = shutil.which(name)
            if found is None:
                pytest.fail(f"{name} is not on this machine")
            (place / name).symlink_to(found)
        (place / "python3").symlink_to(Path(sys.executable).resolve())
        monkeypatch.setenv("PATH", str(place))

    return only


@pytest.mark.parametrize("programs", [("zstd",), ()], ids=["zstd", "Python alone"])
def test_a_fetch_goes_on_where_it_broke(tmp_path, host_with, programs):
    unit = ended_unit(tmp_path / "unit", lines=200_000)
    host_with(*programs)
    once = Counted()
    collect(once, unit, tmp_path / "once")
    cuts = collecting.ATTEMPTS + 2
    host = Counted(faults=[Fault("cut", once.sent // (cuts + 4))] * cuts)
    host.connect()
    collect(host, unit, tmp_path / "got")
    assert whole(tmp_path / "got")
    skips = skipped(host)
    assert len(skips) == cuts + 1
    assert skips == sorted(set(skips))
    # What was within the compressor when it broke: a block of 128 KiB, here a fifth of that packed.
    assert host.sent <= once.sent + cuts * 50_000


def test_what_came_is_kept_for_the_next_attempt(tmp_path, monkeypatch):
    monkeypatch.setattr(collecting, "_LONGEST_WAIT_S", 0.01)
    unit = ended_unit(tmp_path / "unit", lines=60_000)
    host = Counted(faults=[Fault("cut", 200_000), *[Fault("refuse")] * collecting.ATTEMPTS])
    host.connect()
    with pytest.raises(ConnectionLost):
        collect(host, unit, tmp_path / "got")
    collect(host, unit, tmp_path / "got")
    assert whole(tmp_path / "got")
    assert skipped(host)[-1] > 0


def test_damaged_parts_are_fetched_from_the_start_and_those_beyond_the_limit_refused(tmp_path):
    unit = ended_unit(tmp_path / "unit", lines=60_000)
    host = Counted(faults=[Fault("cut", 200_000), Fault("damage", 5_000)])
    host.connect()
    collect(host, unit, tmp_path / "got")
    assert whole(tmp_path / "got")
    first, second, third = skipped(host)
    assert first == third == 0 < second
    with pytest.raises(LimitExceeded):
        parts_of(tmp_path, [bytes(3 * 2**20)], ["gzip", "-1"], 2**20)


def test_a_connection_that_breaks_leaves_no_half_list_of_checksums(tmp_path):
    unit = ended_unit(tmp_path / "unit", lines=100)
    (tmp_path / "unit" / "new.sums.77").write_text("of a connection that broke\n")
    collect(FakeHost(), unit, tmp_path / "got")
    names = {line.split()[1] for line in (tmp_path / "got/SHA256SUMS").read_text().splitlines()}
    assert names == {"fio_lat.1.log", "fio.json", "fio.exit"}


def parts_of(folder, chunks, command, limit=2**30):
    """Parts of an archive, each packed by `command` on its own."""
    parts = Parts(folder, limit)
    for chunk in chunks:
        packed = subprocess.run(command, input=chunk, capture_output=True, check=True).stdout

        def get(sink, packed=packed):
            sink.write(packed)
            raise ConnectionLost("cut")

        with pytest.raises(ConnectionLost):
            parts.fetch(get)
    return parts


@pytest.mark.parametrize("command", [["gzip", "-1"], ["zstd", "-q", "-c"], ["cat"]])
def test_the_parts_are_one_archive(tmp_path, command):
    chunks = [b"a" * 70_000, b"b" * 3, b"\x1f\x8b" * 40_000]
    stream = Unpacked(parts_of(tmp_path, chunks, command))
    data = b"".join(chunks)
    assert stream.read(10) == data[:10]
    assert stream.seek(9) == 9
    assert stream.read(2) == data[9:11]
    assert stream.seek(70_001) == 70_001
    assert stream.read(2**16) + stream.read(2**16) == data[70_001:]
    assert stream.read(1) == b""
    with pytest.raises(ValueError, match="back"):
        stream.seek(5)


@pytest.mark.parametrize("command", [["gzip", "-1"], ["zstd", "-q", "-c"]])
def test_a_part_that_unpacks_to_much_is_read_in_little_memory(tmp_path, command):
    parts = parts_of(tmp_path, [bytes(100 * 2**20)], command)
    tracemalloc.start()
    try:
        assert sum(len(block) for block in parts.blocks()) == 100 * 2**20
        assert tracemalloc.get_traced_memory()[1] < 8 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("head", [b"\x1f\x8b\x08\x00rubbish", b"\x28\xb5\x2f\xfdrubbish" * 20])
def test_what_does_not_unpack_is_damaged(tmp_path, head):
    def get(sink):
        sink.write(head * 100)
        raise ConnectionLost("cut")

    with pytest.raises(EvidenceDamaged):
        Parts(tmp_path, 2**30).fetch(get)


TRIAL = "01jd0000000000000000000001"


def member(name, size_bytes=2**30, path=None):
    path = path or f"/dev/{name}"
    return DeviceProof(path=path, number="-", identity=f"vol-{name}", size_bytes=size_bytes)


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ([], "two or more disks, not 0"),
        ([member("a")], "two or more disks, not 1"),
        ([member("a"), member("a")], "names one disk twice"),
        ([member("a"), member("b", 2**31)], "1,073,741,824 and 2,147,483,648 bytes"),
        ([member("a"), member("b", path="/dev/b c")], "not the name of a disk"),
        ([member("a"), member("b", path="/dev/b\t-\tx")], "not the name of a disk"),
    ],
)
def test_disks_that_make_no_stripe_are_refused(members, why):
    with pytest.raises(InvalidValue, match=why):
        stripe(FakeHost(faults=[Fault("refuse")]), TRIAL, members)


def test_a_trials_array_is_known_by_a_uuid_of_its_own_that_never_changes():
    assert stripe_uuid(TRIAL) == "58ca45ea-e72b-5b81-9607-229212b09784"
    assert stripe_uuid(TRIAL) != stripe_uuid(TRIAL[:-1] + "2")
