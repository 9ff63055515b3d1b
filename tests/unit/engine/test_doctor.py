"""What the doctor says of this machine, of the stores, and of quotas against a matrix."""

import sqlite3

import pytest

from diskbench.engine.doctor import compared, examine_machine, examine_provider, examine_stores
from diskbench.hosts.local import LocalHost
from diskbench.model.finding import Finding, Need, Quota, worst_state
from diskbench.model.rental import Scope
from diskbench.providers.registry import provider
from diskbench.store.database import open_database
from diskbench.store.schema_revision import HEAD, VERSION_TABLE


def of(findings, check):
    (found,) = [one for one in findings if one.check == check]
    return found


class TestMachine:
    def test_this_one_has_fio_and_a_client_of_ssh(self):
        found = examine_machine(LocalHost(), [])
        assert (of(found, "fio").state, "fio-3" in of(found, "fio").told) == ("ok", True)
        assert "OpenSSH" in of(found, "ssh").told
        assert of(found, "clock").state in {"ok", "warning"}

    @pytest.mark.parametrize(
        ("providers", "state"),
        [((), "problem"), (("lab", "aws"), "problem"), (("aws", "gcp"), "warning")],
    )
    def test_without_fio_only_rented_are_measured(self, monkeypatch, tmp_path, providers, state):
        monkeypatch.setenv("PATH", str(tmp_path))
        (tmp_path / "sh").symlink_to("/bin/sh")
        found = examine_machine(LocalHost(), providers)
        assert of(found, "fio").state == state
        assert "apt-get install fio" in of(found, "fio").advice
        assert of(found, "ssh").state == "problem"

    def test_a_fio_that_does_not_run_is_told_with_its_own_words(self, monkeypatch, tmp_path):
        broken = tmp_path / "fio"
        broken.write_text(
            '#!/bin/sh\n[ "$1" = --version ] && echo fio-3.1 && exit\n'
            "echo libaio.so.1: cannot open shared object file >&2; exit 127\n"
        )
        broken.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        found = of(examine_machine(LocalHost(), ["aws"]), "fio")
        assert found.state == "problem"
        assert found.told == "fio-3.1 does not run: libaio.so.1: cannot open shared object file"


class TestStores:
    def stores(self, tmp_path, name="rows.db"):
        return examine_stores(f"sqlite:///{tmp_path}/{name}", (tmp_path / "evidence").as_uri())

    def test_what_is_not_there_yet_is_not_made_and_what_is_there_stays_as_it_is(self, tmp_path):
        found = self.stores(tmp_path)
        assert "the first run creates it" in of(found, "database").told
        assert "the first run creates it" in of(found, "evidence").told
        assert list(tmp_path.iterdir()) == []
        open_database(f"sqlite:///{tmp_path}/rows.db").dispose()
        (tmp_path / "evidence").mkdir()
        found = self.stores(tmp_path)
        assert of(found, "database").told.endswith(f"reached, schema {HEAD}")
        assert of(found, "evidence").told.endswith("readable and writable")
        assert list((tmp_path / "evidence").rglob("*")) == [], "the probe was removed"

    def test_another_schema_no_database_and_a_place_below_a_file_are_problems(self, tmp_path):
        open_database(f"sqlite:///{tmp_path}/rows.db").dispose()
        with sqlite3.connect(tmp_path / "rows.db") as connection:
            connection.execute(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")  # noqa: S608
        connection.close()
        found = of(self.stores(tmp_path), "database")
        assert (found.state, "use that version" in found.advice) == ("problem", True)
        (tmp_path / "rows.db").write_text("not a database at all, and long enough to be read " * 9)
        assert of(self.stores(tmp_path), "database").state == "problem"
        (tmp_path / "evidence").write_text("a file")
        found = examine_stores(
            f"sqlite:///{tmp_path}/evidence/rows.db", (tmp_path / "evidence" / "deep").as_uri()
        )
        assert [one.state for one in found if one.check != "sqlite"] == ["problem", "problem"]
        found = examine_stores("postgresql://nobody@127.0.0.1:1/x", (tmp_path / "e").as_uri())
        assert [one.check for one in found] == ["database", "evidence"]

    @pytest.mark.parametrize("null", [True, False])
    def test_which_sqlite_it_is_and_what_it_lacks_is_told(self, tmp_path, monkeypatch, null):
        connect = sqlite3.connect

        def connected(*given, **named):
            made = connect(*given, **named)
            made.create_function("unixepoch", 1, lambda _: None if null else 1.5)
            return made

        monkeypatch.setattr(sqlite3, "connect", connected)
        found = of(self.stores(tmp_path), "sqlite")
        assert (found.state, sqlite3.sqlite_version in found.told) == ("ok", True)
        assert ("lacks unixepoch" in found.told) == null
        assert ("diskbench supplies it" in found.told) == null


def test_a_provider_that_rents_nothing_has_nothing_to_examine_and_the_worst_finding_counts():
    (found,) = examine_provider(provider("ssh"), Scope(provider="ssh"))
    assert (found.state, found.told) == ("ok", "nothing to check: it rents nothing")
    one = Finding(check="clock", where="here", state="warning", told="")
    assert (worst_state(()), worst_state((one,))) == ("ok", "warning")
    assert worst_state((one, one.model_copy(update={"state": "problem"}))) == "problem"


VCPUS = Quota(kind="vcpus", name="vCPUs", region="r1", limit=64, used=60)
GP3 = Quota(kind="disk-gib", of=("gp3",), name="GiB of gp3", region="r1", limit=1000, used=0)


def need(amount, kind="vcpus", of="", region="r1"):
    return Need(provider="aws", region=region, kind=kind, of=of, amount=amount)


class TestQuota:
    def test_what_the_matrix_takes_and_what_is_left_are_told_and_one_more_is_a_problem(self):
        (told,) = compared("aws", [VCPUS], [need(4)])
        assert (told.state, told.where) == ("ok", "aws r1")
        assert told.told == "vCPUs: 4 of 64 left, the matrix takes 4 at once"
        (told,) = compared("aws", [VCPUS], [need(5)])
        assert told.state == "problem"
        assert "max_parallel" in told.advice

    def test_types_count_against_their_own_quota_and_against_totals(self):
        total = Quota(kind="disk-gib", name="GiB of all", region="r1", limit=900, used=0)
        needs = [need(800, "disk-gib", "gp3"), need(200, "disk-gib", "io1")]
        by_type, of_all = compared("aws", [GP3, total], needs)
        assert (by_type.state, of_all.state) == ("ok", "problem")
        assert "takes 1,000 at once" in of_all.told

    def test_without_a_matrix_what_is_used_up_is_a_warning_and_other_regions_do_not_count(self):
        full = VCPUS.model_copy(update={"used": 64})
        assert [one.state for one in compared("aws", [full, GP3], None)] == ["warning", "ok"]
        assert compared("aws", [VCPUS], [need(100, region="r2")]) == []
        (told,) = compared("aws", [VCPUS.model_copy(update={"used": None})], None)
        assert told.told == "vCPUs: 64; the usage is not reported"
        family = VCPUS.model_copy(update={"of": ("standardDSv5Family",), "used": 0})
        assert compared("azure", [family], None) == []
        assert len(compared("azure", [family], [need(4, of="standardDSv5Family")])) == 1

    def test_a_limit_that_is_not_told_is_a_warning_to_the_matrix_that_meets_it(self):
        secret = VCPUS.model_copy(update={"of": ("n4",), "limit": None})
        (told,) = compared("gcp", [secret], [need(8, of="n4"), need(4, of="n2")])
        assert told.state == "warning"
        assert told.told == "vCPUs: unknown; the matrix takes 8 at once"
        assert compared("gcp", [secret], [need(4, of="n2")]) == []
        assert compared("gcp", [secret], None) == []
