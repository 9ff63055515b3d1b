"""Telling dead processes from living ones.
The secret that workers share.
A worker's look at the database's clock."""

import json
import os
import socket
import string
import subprocess
from datetime import UTC, datetime, timedelta
from unittest.mock import patch
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretBytes
from tests.rigs.dying import replace_everywhere
from tests.rigs.matrix_rows import campaign_row, cell_row
from tests.unit.engine.test_redaction import CLOUDS, exchanges

from diskbench.engine import processes
from diskbench.engine.live import recording_of
from diskbench.engine.processes import check_shared, fingerprint, is_alive, living, process_started
from diskbench.engine.session import open_session
from diskbench.errors import InvalidValue
from diskbench.model.finding import Finding
from diskbench.model.options import own_options
from diskbench.plugin import plugin
from diskbench.store import database as store_database
from diskbench.store.campaigns import save_campaign
from diskbench.store.dialects import iso
from diskbench.store.executors import Executor, describe_executor, list_executors, register_executor

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
HERE = socket.gethostname()


def executor(*, hostname=HERE, pid=None, started=None, beat_s_ago=0.0, **more):
    pid = pid or os.getpid()
    times = {"beat_at": iso(NOW - timedelta(seconds=beat_s_ago)), "seen_at": iso(NOW)}
    process = {"pid": pid, "process_started": started or process_started(pid) or ""}
    return Executor(**{"executor_id": "e1", "hostname": hostname} | process | times | more)


def alive(one, **more):
    return is_alive(one, hostname=HERE, **more)


@pytest.fixture
def dead():
    """A process of this machine that has ended."""
    process = subprocess.Popen(["sleep", "600"])
    started = process_started(process.pid)
    process.kill()
    process.wait()
    return executor(pid=process.pid, started=started)


def test_a_process_of_this_machine_is_alive_exactly_as_long_as_it_exists_however_silent(dead):
    assert alive(executor(beat_s_ago=9999))
    assert not alive(dead)
    started = process_started(os.getpid())
    assert not alive(executor(started=started + "0")), "another process with the same pid"


@pytest.mark.parametrize(("silent_s", "expected"), [(59.0, True), (61.0, False)])
def test_a_process_of_another_machine_is_dead_after_four_missed_beats(silent_s, expected):
    assert processes.DEAD_AFTER_S == 60
    silent = executor(hostname="elsewhere", beat_s_ago=silent_s)
    assert alive(silent) is expected
    assert alive(silent, silence=float("inf")), "the database was away: silence means nothing"


@pytest.mark.parametrize("part", [0, 1], ids=["boot", "pid namespace"])
def test_a_machine_or_container_of_the_same_name_is_another(part):
    """A clone, or a container on its host's network: its pids mean nothing here."""
    started = (process_started(os.getpid()) or "").split("/")
    started[part] = "other"
    assert alive(executor(pid=4_000_000, started="/".join(started), beat_s_ago=30))
    assert not alive(executor(pid=4_000_000, started="/".join(started), beat_s_ago=90))


def enrolled(database, one):
    told = {"hostname": one.hostname, "pid": one.pid, "process_started": one.process_started}
    register_executor(database, one.executor_id, **told)


def test_the_dead_are_forgotten_once_nothing_of_theirs_is_left(database, dead):
    for name in ("left a cell", "left nothing"):
        enrolled(database, executor(executor_id=name, pid=dead.pid, started=dead.process_started))
    enrolled(database, executor(executor_id="lives"))
    enrolled(database, executor(executor_id="asleep", hostname="elsewhere"))
    cell = cell_row(0, state="measuring", trial_id="t", owner="left a cell")
    save_campaign(database, campaign_row(), [cell])
    processes.forget_dead(database)
    known = {one.executor_id for one in list_executors(database)}
    assert known == {"left a cell", "lives", "asleep"}
    assert living(list_executors(database)) == {"lives", "asleep"}


def test_the_time_that_a_cell_stood_alone_counts_from_the_last_beat(database):
    enrolled(database, executor(executor_id="lives"))
    long_ago = "2026-01-01T00:00:00.000000+00:00"
    cell = cell_row(0, state="measuring", trial_id="t", owner="lives", started_at=long_ago)
    assert processes.silent_s(database, cell) < 60
    unknown = cell.model_copy(update={"owner": "unknown"})
    assert processes.silent_s(database, unknown) > 1e6


ONE, OTHER = (fingerprint(SecretBytes(letter * 40)) for letter in (b"a", b"b"))


def test_a_fingerprint_or_a_file_or_a_variable_holds_the_secret_of_a_session(tmp_path, monkeypatch):
    file = tmp_path / "shared"
    file.write_bytes(b"s" * 40)
    file.chmod(0o600)
    monkeypatch.delenv("DISKBENCH_SECRET", raising=False)
    evidence = (tmp_path / "evidence").as_uri()
    session = open_session(f"sqlite:///{tmp_path}/rows.db", evidence, secret_file=file)
    assert session.secret() == SecretBytes(b"s" * 40)
    monkeypatch.setenv("DISKBENCH_SECRET", "t" * 40)
    assert session.secret() == SecretBytes(b"t" * 40)
    session.close()
    assert ONE != OTHER
    assert len(ONE) == 16
    assert fingerprint(SecretBytes(b"a" * 40)) == ONE


def test_workers_of_one_secret_work_together_and_keep_another_out_as_long_as_they_live(database):
    processes.enrol(database, "e1")
    describe_executor(database, "e1", name="site-a", queues=["*"], secret_id=ONE)
    check_shared(database, ONE)
    with pytest.raises(InvalidValue) as raised:
        check_shared(database, OTHER)
    assert "site-a" in raised.value.message
    assert "DISKBENCH_SECRET" in raised.value.advice
    register_executor(database, "e1", hostname="h", pid=1, process_started="x/1/2")
    describe_executor(database, "e1", secret_id=ONE, beat_at="2026-01-01T00:00:00.000000+00:00")
    check_shared(database, OTHER)


BEGAN = datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.fixture
def seen(database, monkeypatch):
    """The clock, and what the database will say is the time, and how far this machine's is off."""
    said = {"time": BEGAN, "skew": 0.0}
    told = lambda _: (said["time"], said["skew"])  # noqa: E731 - of what is said later
    replace_everywhere(monkeypatch, store_database, "time_and_skew", told)
    return processes.DatabaseClock(database), said


@pytest.mark.parametrize("seconds", [61.0, -61.0, 86_400.0])
def test_a_worker_says_once_that_it_takes_nothing_over_and_once_that_it_does(seen, caplog, seconds):
    looks, said = seen
    caplog.set_level("INFO", logger="diskbench")
    looks.looked()
    assert not looks.is_skewed
    said["skew"] = seconds
    for _ in range(3):
        looks.looked()
    assert looks.is_skewed
    assert [one for one in caplog.messages if "takes over no cells" in one] == caplog.messages
    assert len(caplog.messages) == 1
    said["skew"] = 59.0
    for _ in range(3):
        looks.looked()
    assert not looks.is_skewed
    assert caplog.messages[1:] == ["the clock agrees with the database's again"]


def test_a_clock_that_jumps_is_told_from_time_that_passes_and_an_age_counts_to_the_last_look(seen):
    looks, said = seen
    since = iso(BEGAN - timedelta(minutes=10))
    assert looks.age_s(since) == 0.0
    looks.looked()
    assert (looks.age_s(since), looks.age_s(None)) == (600.0, 0.0)
    assert looks.looked() < 1.0
    said["time"] += timedelta(minutes=5)
    assert looks.looked() == pytest.approx(300, abs=60)
    said["time"] -= timedelta(minutes=5)
    assert looks.looked() < -200


# What was given to `diskbench doctor --live` is not in its recording.


SECRETS = st.text(string.ascii_letters + string.digits + "/+=_.!$%", min_size=12)
NAMES = st.from_regex(r"[a-z]{4}[a-z0-9]{6,20}", fullmatch=True)


def shown(provider: str, value: str, *words: str, **options: str) -> str:
    told = f"{value} may not do it, and {value}-too is none"
    found = Finding(check="dry run", where="there", state="problem", told=told, advice=value)
    made = recording_of(provider, exchanges(value), [found], words, options)
    return made.model_dump_json()


@pytest.mark.parametrize("provider", CLOUDS)
@given(secret=SECRETS, data=st.data())
def test_no_secret_of_the_environment_is_in_it(provider, secret, data):
    name = data.draw(st.sampled_from(plugin(provider).redaction.variables))
    with patch.dict(os.environ, {name: secret}):
        text = shown(provider, secret, "--provider", provider, "--live")
    forms = (secret, quote(secret, safe=""), json.dumps(secret))
    assert not [form for form in forms if form in text]


@pytest.mark.slow
@pytest.mark.parametrize("provider", CLOUDS)
@given(name=NAMES, data=st.data())
def test_no_account_and_no_private_option_that_was_typed_is_in_it(provider, name, data):
    known = plugin(provider)
    account = (known.account_option,) if known.account_option else ()
    option = data.draw(st.sampled_from((*account, *known.redaction.options)))
    flags = {one.name: one.flag for one in own_options(provider)}
    flag = flags.get(option, f"--{option.replace('_', '-')}")
    joined = data.draw(st.booleans())
    words = (f"{flag}={name}",) if joined else (flag, name)
    text = shown(provider, name, "--live", *words, **{option: name})
    assert f'"{name}"' not in text
    assert f" {name} " not in text
    assert f"={name}" not in text


@pytest.mark.parametrize("provider", CLOUDS)
@given(value=NAMES, pair=st.sampled_from(["--label pw", "--set api_key", "--set db_password"]),
       joined=st.booleans())  # fmt: skip
def test_no_value_of_a_label_and_no_secret_one_is_in_it(provider, value, pair, joined):
    flag, key = pair.split()
    words = (f"{flag}={key}={value}",) if joined else (flag, f"{key}={value}")
    text = shown(provider, value, "--live", *words, "--set", "runtime=1")
    assert f'"{value}"' not in text
    assert f"={value}" not in text
    assert f"{key}=" in text
    assert '"runtime=1"' in text


@given(value=st.text(string.printable, min_size=1, max_size=3))
def test_a_short_label_is_left_out_of_the_flags_too(value):
    flags = recording_of(CLOUDS[0], [], [], ("--label", f"pw={value}"), {}).flags
    assert flags[0] == "--label"
    assert flags[1].startswith("pw=private-")
