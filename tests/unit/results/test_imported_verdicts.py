"""What is said of an import whose report leaves facts out: the device's own rate beside its
promise, and nothing that the report does not show."""

import pytest
from tests.books import SHIPPED
from tests.rigs.fio_reports import FORMS, Disk, Told, text

from diskbench.results.verdicts import trial_verdicts
from diskbench.store.database import open_database
from diskbench.store.evidence import open_evidence
from diskbench.store.import_sources import read_sources
from diskbench.store.imports import imported
from diskbench.store.query import find_run

pytestmark = pytest.mark.slow


@pytest.fixture
def judged(tmp_path):
    """The verdicts on a report, on a gp3 of 100 GiB."""
    database = open_database(f"sqlite:///{tmp_path}/db")
    evidence = open_evidence(f"file://{tmp_path}/evidence")

    def judge(report, **hint):
        path = tmp_path / "report.txt"
        path.write_text(report)
        labels = {"as_disk": "aws:gp3:100"} | hint
        read = list(imported(database, evidence, read_sources([path])[0], labels, "0"))
        runs = [find_run(database, one.manifest.run_id) for one in read]
        return trial_verdicts(database, evidence, runs, books=SHIPPED)

    yield judge
    database.dispose()


def words(verdict):
    stretch = verdict.stands_for
    return " ".join([*stretch.limiter.evidence, *(reason.message for reason in verdict.reasons)])


def test_the_devices_own_rate_stands_beside_its_promise(judged):
    (found,) = judged(text([Told(iops=52_000)], [Disk(reads=180_300)]))
    assert (found.stands_for.limiter.name, found.trust) == ("page-cache", "no")
    assert "3,005 IOPS (100% of the 3,000 IOPS that it allows)" in words(found)
    assert "buffered" not in words(found), "nothing says that it was"


def test_where_blocks_may_have_been_gathered_the_requests_are_told_and_a_bound_is_one(judged):
    (found,) = judged(FORMS["text without head"]([Told(iops=52_000)], [Disk(reads=180_300)]))
    assert found.trust == "with care"
    assert "the device did 3,005 requests a second" in words(found)
    write = Told(rw="write", block=2**20, depth=1, engine="psync", iops=1600, seconds=30)
    (found,) = judged(text([write], [Disk(writes=14_300)]))
    assert "at most 625 MB/s" in words(found)


@pytest.mark.parametrize(
    ("job", "said"),
    [
        (Told(depth=16, engine="psync", iops=800), False), (Told(depth=16, iops=800), False),
        (Told(depth=1, engine="psync", iops=800), True), (Told(depth=1, iops=800), True),
        (Told(rw="read", depth=1, engine="psync", iops=800), False),
        (Told(rw="randwrite", depth=1, engine="psync", iops=800), False),
    ],
)  # fmt: skip
def test_one_at_a_time_is_said_only_where_neither_depth_nor_memory_may_be_more(judged, job, said):
    (found,) = judged(text([job]))
    assert ("one I/O at a time" in words(found)) is said
    assert found.stands_for.promised.limited_by == "disk-iops", "no promise of its latency"


def test_writes_that_all_reached_the_device_were_not_taken_by_memory(judged):
    for form in FORMS:
        jobs = [Told(rw="randwrite", iops=4100, options={"direct": "0"})]
        (found,) = judged(FORMS[form](jobs, [Disk(writes=246_100)]))
        assert found.stands_for.limiter.name != "page-cache", form
        assert "memory" not in words(found), form


def test_limits_of_a_machine_that_are_not_known_are_said_to_be_missing(judged):
    (found,) = judged(text([Told()]), as_machine="c4.xlrage")
    assert "machine-unknown" in {reason.code for reason in found.reasons}
    assert "near: c4.xlarge" in words(found)
    assert found.trust == "yes"
