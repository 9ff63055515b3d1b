"""Verdicts of different disks, whole and at 80 columns, in files: tests/golden/verdicts.

Read each as an engineer in a hurry would: what was measured, of what promise, what limited it,
whether to trust it, what to do next.
"""

import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from rich.console import Console
from tests.limiter_case import judge
from tests.rigs.golden import Golden
from tests.rigs.imported_disks import Job, bucket_logs, fio_file, flat_logs, gobonniego_file
from tests.rigs.printed import print_result
from tests.unit.report.made import plan, row

from diskbench.model.doubts import NETWORK_FILESYSTEM, doubt_of
from diskbench.model.ids import short
from diskbench.report.assemble.subject import subject_of_plan

pytestmark = pytest.mark.slow
CASES = Path(__file__).parents[2] / "cases" / "limiter"
KIB, MIB = 1024, 1024 * 1024
Files = Callable[[Path], list[str]]

QUICK = (
    Job("rand-read-4k", "randread", 4 * KIB, 32, 3010),
    Job("rand-write-4k", "randwrite", 4 * KIB, 32, 3004),
    Job("seq-read-1m", "read", MIB, 8, 125),
    Job("latency-4k", "randread", 4 * KIB, 1, 1450),
)
IMPORTED: dict[str, tuple[Files, tuple[str, ...]]] = {
    "gp2-cliff": (
        lambda at: bucket_logs(at, 5_400_000, 3000, 300, 2600),
        ("--as-disk", "aws:gp2:100", "--as-machine", "m5.large"),
    ),
    "gp2-gobonniego": (gobonniego_file, ("--as-disk", "aws:gp2:20", "--as-machine", "c4.xlarge")),
    "gp3-flat": (lambda at: fio_file(at, *QUICK), ("--as-disk", "aws:gp3:100")),
    "st1": (
        lambda at: bucket_logs(at, 1_000_000, 250, 40, 3000, kib=1024),
        ("--as-disk", "aws:st1:1024"),
    ),
    "pd-ssd": (
        lambda at: fio_file(
            at,
            Job("rand-read-4k", "randread", 4 * KIB, 64, 5980),
            Job("rand-write-4k", "randwrite", 4 * KIB, 64, 3100),
            Job("seq-write-1m", "write", MIB, 16, 46),
        ),
        ("--as-disk", "gcp:pd-ssd:100"),
    ),
    "azure-host-cache": (
        lambda at: fio_file(
            at,
            Job("rand-read-4k", "randread", 4 * KIB, 64, 9800),
            Job("rand-write-4k", "randwrite", 4 * KIB, 64, 1104),
        ),
        ("--as-disk", "azure:Premium_LRS:256:cache=readonly", "--as-machine", "Standard_D2s_v3"),
    ),
    "hyperdisk": (
        lambda at: flat_logs(at, 10_010, 600),
        ("--as-disk", "gcp:hyperdisk-balanced:500:iops=10000"),
    ),
    "page-cache": (
        lambda at: fio_file(
            at,
            Job("rand-read-4k", "randread", 4 * KIB, 1, 310_000, direct=False, size="1g"),
            Job("seq-write-1m", "write", MIB, 1, 2400, direct=False, size="1g"),
        ),
        ("--as-disk", "aws:gp3:100"),
    ),
    "unnamed-cliff": (lambda at: bucket_logs(at, 900_000, 3000, 100, 900), ()),
    "unnamed-flat": (lambda at: flat_logs(at, 26, 600, kib=1024), ()),
    "undocumented-burst": (lambda at: fio_file(at, QUICK[0]), ("--as-disk", "gcp:pd-standard:20")),
}


@pytest.mark.parametrize("name", IMPORTED)
def test_the_verdict_on_an_imported_run(name, diskbench, golden, tmp_path):
    files, options = IMPORTED[name]
    run_id = diskbench("results", "import", *files(tmp_path), *options).split()[0]
    said = diskbench("results", "show", run_id, "-v", "--no-plot").replace(str(tmp_path), "HERE")
    said = re.sub(r"\b[0-9a-z]{26}\b", "RUN", said).replace(short(run_id), "RUN")
    golden.check(f"verdicts/{name}.txt", re.split(r"^run RUN ", said, flags=re.MULTILINE)[0])


MEASURED = {"local-nvme": ("busy-core", []), "network-filesystem": ("nfs", [NETWORK_FILESYSTEM])}


@pytest.mark.parametrize("name", MEASURED)
def test_the_verdict_on_a_run_of_ours(name: str, golden: Golden) -> None:
    case, doubts = MEASURED[name]
    recorded = yaml.safe_load((CASES / f"{case}.yaml").read_text("utf-8"))
    judged = judge(recorded | {"warnings": [doubt.code for doubt in doubts]})
    warnings = [
        doubt_of(one.code).warning(one.message.replace("recorded", "the target is on nfs4"))
        for one in judged.reasons
    ]
    warnings = [warning.model_copy(update={"step": "step"}) for warning in warnings]
    stream = io.StringIO()
    rows = [row(step="step", iops=recorded["measured"]["iops"])]
    subject = subject_of_plan(plan())
    print_result(subject, rows, warnings, (), [judged], console=Console(file=stream, width=80))
    golden.check(f"verdicts/{name}.txt", stream.getvalue())
