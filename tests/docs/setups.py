"""What has to be there before a command of a page can be tried: the names for `setup`."""

import json
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import patch

from tests.docs.pages import ROOT
from tests.rigs.cli import WRITE_THEN_READ
from tests.rigs.loops import attached, empty_image
from tests.rigs.matrix_rows import campaign_row
from tests.rigs.replicates import measured, ulid
from tests.rigs.sshd import running_sshd

from diskbench.providers.lab import machines
from diskbench.providers.lab.places import VARIABLE as LAB_DIRECTORY
from diskbench.store.campaigns import save_campaign
from diskbench.store.database import open_database, transaction
from diskbench.store.result_tables import measurement

STARTS_WITHIN_S = 960.0
"""The first start of the emulated vSphere builds its simulator."""
NOVEMBER_S = int(datetime(2026, 11, 1, 10, tzinfo=UTC).timestamp())
"""When the history begins; pages name days of this month."""


@dataclass
class Reader:
    """Somebody who reads a page and types: an empty home, an empty directory to type in, and a
    place of their own for lab hosts, which go with `stack`, also those that a killed command left.
    """

    home: Path
    here: Path
    stack: ExitStack
    env: dict[str, str] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)

    def has(self, setup: str) -> None:
        """Make what a setup of SETUPS makes, unless it is there."""
        if setup and setup not in self.done:
            self.done.add(setup)
            SETUPS[setup](self)

    def __post_init__(self) -> None:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("DISKBENCH_", "XDG_"))}
        for name in [one for one in kept if one.startswith(("AWS_", "AZURE_", "GOOGLE_"))]:
            del kept[name]
        bin_ = self.home / "bin"
        bin_.mkdir(parents=True)
        (bin_ / "sudo").write_text('#!/bin/sh\nexec "$@"\n')
        (bin_ / "diskbench").write_text(f'#!/bin/sh\nexec {sys.executable} -m diskbench "$@"\n')
        for one in bin_.iterdir():
            one.chmod(0o755)
        (self.here / "data").mkdir(parents=True)
        lab = tempfile.mkdtemp(prefix="diskbench-docs-lab-", dir="/var/tmp")  # a disk
        self.stack.callback(_release_lab, lab)
        self.env = kept | {
            "HOME": str(self.home),
            "COLUMNS": "100",
            "TZ": "UTC",
            "PATH": f"{bin_}:{Path(sys.executable).parent}:{kept['PATH']}",
            "SHELL": "/bin/bash",
            "CHECKOUT": str(ROOT),
            LAB_DIRECTORY: lab,
        }

    @property
    def database_url(self) -> str:
        return f"sqlite:///{self.home}/.local/share/diskbench/diskbench.db"


def _release_lab(directory: str) -> None:
    with patch.dict(os.environ, {LAB_DIRECTORY: directory}):
        for lease_id in machines.leases():
            machines.release(lease_id)
    shutil.rmtree(directory, ignore_errors=True)


def _demo(reader: Reader) -> None:
    """What script/demo runs, with steps of a second."""
    lines = re.findall(r'^"\$diskbench" (.+)$', (ROOT / "script/demo").read_text(), re.MULTILINE)
    assert [line.split()[0] for line in lines] == ["run", "report"]
    lines[0] += " --set runtime=1 --size 0.1"
    for line in lines:
        run(f"directory=data page=data/result.html; diskbench {line}", reader)


def _job(reader: Reader) -> None:
    (reader.here / "look.fio").write_text(WRITE_THEN_READ.format(seconds=1))


def _device(reader: Reader) -> None:
    image = empty_image(reader.home / "disk.img", 400)
    loop = reader.stack.enter_context(attached(image, "--direct-io=on"))
    reader.env |= {"DISK": loop.path, "IDENTITY": loop.identity}


def _hosts(reader: Reader) -> None:
    """Two machines that one can log in to, db1 and db2; both are this one."""
    reader.env["DISKBENCH_SSH_CONFIG"] = str(reader.home / "ssh_config")
    blocks = []
    for alias in ("db1", "db2"):
        sshd = reader.stack.enter_context(running_sshd(reader.home / alias, alias=alias))
        block = sshd.config_block(alias)
        sshd.trust(f"{alias}-key-{sshd.port}")
        blocks.append(block)
    (reader.home / "ssh_config").write_text("".join(blocks))


def _history(reader: Reader) -> None:
    """Two weeks of figures of two disks, with labels `disk` and `schedule`."""
    url = reader.database_url
    Path(url.removeprefix("sqlite:///")).parent.mkdir(parents=True, mode=0o700)
    database = open_database(url)
    for day in range(14):
        name = "iaas-2018" if day % 2 else "burst-matrix"
        for disk, iops in (("gp2", 3000.0), ("gp3", 3000.0 if day < 7 else 2400.0)):
            values = [iops + step for step in (-12.0, -7.0, -3.0, 2.0, 6.0, 11.0)]
            labels = [("disk", disk), ("schedule", "nightly")]
            measured(database, values, disk=disk, campaign=day, at_s=NOVEMBER_S, labels=labels)
        campaign_id = ulid(NOVEMBER_S + day * 86_400, day)
        save_campaign(database, campaign_row(campaign_id=campaign_id, name=name), [])
    with transaction(database) as connection:
        connection.execute(measurement.update().values(p99_ns=400_000.0, quantiles_of="clat"))
    database.dispose()
    done = run("diskbench results list --limit 2 --output json", reader)
    ids = [one["run_id"] for one in json.loads(done.stdout)["runs"]]
    reader.env |= {"RUN": ids[0], "OTHER": ids[1]}


def _example(reader: Reader) -> None:
    """The runs that diskbench ships as an example, as one's own."""
    import diskbench

    found = diskbench.example_data(reader.home / "example")
    reader.env["DISKBENCH_DATABASE_URL"] = found.database
    reader.env["DISKBENCH_EVIDENCE_URL"] = found.evidence


def _imported(reader: Reader) -> None:
    """A document of fio, gp2.json, that was imported before; its run is $RUN."""
    case = ROOT / "tests/cases/fio_output/v3.33-two-jobs.out"
    shutil.copy(case, reader.here / "gp2.json")
    reader.env["RUN"] = run("diskbench results import gp2.json", reader).stdout.strip()


def _record(reader: Reader) -> None:
    """What iostat recorded of one disk."""
    text = (ROOT / "tests/cases/loads/iostat-iso-m.txt").read_text()
    one = [line for line in text.splitlines() if not line.startswith("loop")]
    (reader.here / "iostat.txt").write_text("\n".join(one) + "\n")


def _matrix(reader: Reader) -> None:
    _job(reader)
    path = reader.here / "data"
    (reader.here / "nightly.yaml").write_text(
        f"name: nightly\ntitle: One look\n"
        f"include:\n  - {{provider: local, path: {path}, profile: ./look.fio}}\n"
    )


def _study(reader: Reader) -> None:
    (shown,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/tutorial.md").read_text(), re.DOTALL)
    (reader.here / "gp2-or-gp3.yaml").write_text(shown)


def _checkout(reader: Reader) -> None:
    """The working directory is a checkout, with the .venv that tests run in."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    reader.here = reader.home / "checkout"
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (reader.here / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, reader.here / name)
    (reader.here / ".venv").symlink_to(Path(sys.executable).parents[1])


def _cloud(cloud: str) -> Callable[[Reader], None]:
    """An account of an emulated cloud, with its endpoint as $ENDPOINT."""

    def start(reader: Reader) -> None:
        _job(reader)
        state = tempfile.mkdtemp(prefix=f"diskbench-docs-{cloud}-", dir="/var/tmp")  # a disk
        reader.stack.callback(shutil.rmtree, state)
        process = subprocess.Popen(
            [sys.executable, "-m", "emulators", cloud, "--state", state],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip
        reader.stack.callback(process.communicate)  # it ends when its input does
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], STARTS_WITHIN_S)
        told = json.loads(process.stdout.readline() if ready else "null")
        assert told, f"the emulated {cloud} did not start"
        own = {"ENDPOINT": told["endpoint"], "CA_FILE": told.get("ca_file", "")}
        reader.env |= told["env"] | own
        if cloud == "aws":
            reader.env["AWS_ENDPOINT_URL"] = told["endpoint"]

    return start


def _copied(reader: Reader) -> None:
    """A volume in the emulated AWS that carries a lease's tags and no run has made, as $COPY."""
    import boto3

    reader.has("aws")
    key_id, secret, region = (
        reader.env[f"AWS_{name}"] for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "REGION")
    )
    client = boto3.client(
        "ec2", region_name=region, endpoint_url=reader.env["ENDPOINT"],
        aws_access_key_id=key_id, aws_secret_access_key=secret,
    )  # fmt: skip
    ours = {"lease": "01kq8z6rj0aaaaaaaaaaaaaaa1", "expires": "1", "owner": "bob@laptop"}
    tags = {f"diskbench-{name}": value for name, value in ours.items()} | {"Name": "prod-database"}
    pairs = [{"Key": key, "Value": value} for key, value in tags.items()]
    made = client.create_volume(
        AvailabilityZone=f"{region}a", Size=1, VolumeType="gp3",
        TagSpecifications=[{"ResourceType": "volume", "Tags": pairs}],
    )  # fmt: skip
    reader.env["COPY"] = made["VolumeId"]


SETUPS: dict[str, Callable[[Reader], None]] = {
    "demo": _demo,
    "job": _job,
    "device": _device,
    "hosts": _hosts,
    "history": _history,
    "example": _example,
    "imported": _imported,
    "copied": _copied,
    "record": _record,
    "matrix": _matrix,
    "checkout": _checkout,
    "study": _study,
} | {cloud: _cloud(cloud) for cloud in ("aws", "azure", "gcp", "vsphere")}


def run(line: str, reader: Reader, timeout_s: float = 240.0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        ["bash", "-c", line], cwd=reader.here, env=reader.env, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=timeout_s, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{line}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done
