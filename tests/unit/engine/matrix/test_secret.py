"""The secret that workers share."""

import pytest
from pydantic import SecretBytes

from diskbench.engine.processes import check_shared, enrol, fingerprint
from diskbench.engine.session import open_session
from diskbench.errors import InvalidValue
from diskbench.store.claims import describe_executor, register_executor
from diskbench.store.database import open_database

ONE, OTHER = (fingerprint(SecretBytes(letter * 40)) for letter in (b"a", b"b"))


@pytest.fixture
def database(tmp_path):
    engine = open_database(f"sqlite:///{tmp_path}/rows.db")
    yield engine
    engine.dispose()


@pytest.fixture
def a_worker(database):
    enrol(database, "e1")
    describe_executor(database, "e1", name="site-a", queues=["*"], secret_id=ONE)


def test_a_session_has_the_secret_of_its_file_unless_one_is_given(tmp_path, monkeypatch):
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


def test_a_fingerprint_tells_secrets_apart_and_gives_nothing_away():
    assert ONE != OTHER
    assert len(ONE) == 16
    assert fingerprint(SecretBytes(b"a" * 40)) == ONE


@pytest.mark.usefixtures("a_worker")
def test_workers_of_one_secret_work_side_by_side(database):
    check_shared(database, ONE)


@pytest.mark.usefixtures("a_worker")
def test_a_worker_with_another_secret_is_refused_by_name(database):
    with pytest.raises(InvalidValue) as raised:
        check_shared(database, OTHER)
    assert "site-a" in raised.value.message
    assert "DISKBENCH_SECRET" in raised.value.advice


def test_a_dead_worker_s_secret_keeps_nobody_out(database):
    register_executor(database, "e1", hostname="h", pid=1, process_started="x/1/2")
    long_ago = "2026-01-01T00:00:00.000000+00:00"
    describe_executor(database, "e1", secret_id=ONE, beat_at=long_ago)
    check_shared(database, OTHER)
