"""What ports.Host promises, held against every host: local, fake, and SSH with a real sshd."""

import io
import os
import time
from hashlib import sha256
from pathlib import Path

import pytest

from diskbench.errors import ConnectionLost, HostUnavailable

pytestmark = pytest.mark.slow  # real sshd


def test_a_script_gives_its_output_errors_and_exit_status_whatever_stands_in_it(host):
    done = host.run("echo out; echo err >&2; exit 3")
    assert (done.exit, done.stdout, done.stderr) == (3, b"out\n", b"err\n")
    text = "a'b\"c\\d$e\n\tf !`g`"
    assert host.run(f"cat <<'END'\n{text}\nEND\n").text == text + "\n"
    assert host.run("kill -9 $$").exit > 128
    assert host.run("id -u", root=True).text == "0\n"
    assert list(host.stream("id -u", root=True)) == [b"0"]


def test_standard_input_is_whole_or_not_read_and_much_output_on_both_streams_arrives(host):
    data = os.urandom(300_000)
    assert host.run("sha256sum", stdin=data).text.split()[0] == sha256(data).hexdigest()
    assert host.run("exit 0", stdin=b"x" * 5_000_000).exit == 0
    done = host.run("head -c 4000000 /dev/zero >&2 & head -c 4000000 /dev/zero; wait")
    assert (len(done.stdout), len(done.stderr)) == (4_000_000, 4_000_000)


def test_a_silent_or_a_talking_script_is_given_up_after_its_time(host):
    host.connect()
    start = time.monotonic()
    with pytest.raises(ConnectionLost):
        host.run("sleep 30", timeout_s=0.5)
    assert time.monotonic() - start < 25, "long before the script would have ended"
    assert host.run("echo again").text == "again\n"
    with pytest.raises(ConnectionLost):
        host.run("while :; do echo x; sleep 0.05; done", timeout_s=0.5)


def test_a_stream_takes_standard_input_and_yields_lines_also_a_last_one_without_an_end(host):
    script = "echo one; read -r _; echo never"  # the input ends at once, so does read
    assert list(host.stream(script)) == [b"one", b"never"]
    assert list(host.stream("printf 'a\\nb'")) == [b"a", b"b"]
    assert list(host.stream("cat", stdin=b"x\ny\n")) == [b"x", b"y"]


def test_a_script_is_written_to_while_it_runs(host):
    says = []

    def talk(say):
        say(b"one\n")
        says.append(say)

    lines = host.stream("read -r a; echo $a; read -r b; echo $b", stdin=talk)
    assert next(lines) == b"one"
    says[0](b"two\n")
    assert list(lines) == [b"two"]
    says[0](b"nobody reads\n")


def test_a_silent_stream_is_given_up_and_one_may_be_left_in_the_middle(host):
    host.connect()
    lines = host.stream("echo one; sleep 30", timeout_s=5)  # the first line, too, must come in it
    assert next(lines) == b"one"
    with pytest.raises(ConnectionLost):
        next(lines)
    lines = host.stream("while echo x; do sleep 0.01; done")
    next(lines)
    lines.close()
    assert host.run("echo fine").text == "fine\n"


def test_a_stream_yields_a_line_at_once_and_a_second_command_runs_beside_it(host, tmp_path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    lines = host.stream(f"echo one; read -r w <{gate}; echo $w")
    assert next(lines) == b"one"
    assert host.run(f"echo two >{gate}").exit == 0
    assert list(lines) == [b"two"]


def test_fetch_copies_output_and_gives_the_exit_status_and_gives_up_on_silence(host):
    sink = io.BytesIO()
    assert host.fetch("head -c 3000000 /dev/zero; echo noise >&2; exit 4", sink) == 4
    assert sink.getvalue() == bytes(3_000_000)
    with pytest.raises(ConnectionLost):
        host.fetch("sleep 30", io.BytesIO(), timeout_s=0.5)


def test_a_full_disk_here_is_not_taken_for_a_broken_connection(host):
    with (
        Path("/dev/full").open("wb", buffering=0) as full,
        pytest.raises(OSError, match="No space"),
    ):
        host.fetch("echo x", full)


def test_closing_twice_and_connecting_again_is_fine(host):
    host.connect()
    host.connect()
    host.close()
    host.close()
    assert host.run("echo back").text == "back\n"


@pytest.mark.parametrize(
    "call",
    [
        lambda host: host.run("head -c 3000000 /dev/zero"),
        lambda host: list(host.stream("seq 1 300000")),
        lambda host: host.fetch("head -c 3000000 /dev/zero", io.BytesIO()),
    ],
    ids=["a command", "a stream", "a fetch"],
)
def test_a_connection_that_breaks_in_the_middle_is_connection_lost(breakable, call):
    breakable.host.connect()
    breakable.cut(1000)
    with pytest.raises(ConnectionLost):
        call(breakable.host)


def test_the_next_call_after_a_break_connects_again_and_repeats_nothing(breakable, tmp_path):
    host = breakable.host
    count = tmp_path / "count"
    host.connect()
    breakable.cut(1000)
    with pytest.raises(ConnectionLost):
        host.run(f"echo ran >>{count}; head -c 3000000 /dev/zero")
    assert host.run("echo again").text == "again\n"
    assert count.read_text() == "ran\n"


def test_a_host_never_reached_is_unavailable_and_says_what_to_do(breakable):
    breakable.refuse()
    with pytest.raises(HostUnavailable) as caught:
        breakable.host.run("true")
    assert caught.value.advice


def test_a_host_reached_before_that_refuses_is_connection_lost(breakable):
    host = breakable.host
    host.run("true")
    breakable.refuse()
    with pytest.raises(ConnectionLost):
        host.run("true")
