"""Plans, rows and step results as the tests of this room need them."""

from diskbench.model import spec
from diskbench.model.facts import CpuFacts, DiskFacts, HostFacts, MountFacts
from diskbench.model.result import Measurement, StepResult
from diskbench.model.spec import Cell, Plan, ProfileFacts, ResolvedTarget, Step
from diskbench.units import GIB

FACTS = HostFacts(
    hostname="db1", cpu=CpuFacts(model="AMD EPYC 7R13", count=2), memory_bytes=4 * GIB,
    kernel="6.1.0-30-amd64", fio_version="fio-3.33",
    disk=DiskFacts(name="vdb", path="/dev/vdb", size_bytes=20 * GIB, model="", transport="virtio"),
    mount=MountFacts(
        mount_point="/data", source="/dev/vdb", fstype="ext4", options="rw",
        available_bytes=18 * GIB,
    ),
)  # fmt: skip


def step(index: int, name: str, *, expected_s: float = 8.0, **more: object) -> Step:
    return Step(index=index, name=name, job=f"[{name}]\n", expected_s=expected_s, **more)


STEPS = (
    step(0, "fill", role="fill", expected_s=4.0),
    step(1, "seq-read-1m"),
    step(2, "rand-read-4k-qd32"),
    step(3, "wal-append-fdatasync"),
)


def plan(
    *, steps=STEPS, runs=1, trial_id="01trial", address=None, profile="quick", loop=None,
    device=False, notes=(), size_bytes=None, filesystem=None, **cell: object,
) -> Plan:  # fmt: skip
    path, destroyed = ("/dev/vdb", "vol0abc") if device else ("/data", None)
    target = spec.TargetSpec(
        kind="device" if device else "directory", path=path, destroy_data=destroyed,
        size_bytes=size_bytes, filesystem=filesystem,
    )  # fmt: skip
    of = {"target": target, "profile": profile, "runs": runs, "address": address} | cell
    return Plan(
        diskbench_version="0.1.0", campaign_id="01campaign", trial_id=trial_id,
        run_ids=tuple(f"{trial_id}-run{n}" for n in range(runs)),
        cell=Cell.model_validate({"provider": "ssh" if address else "local"} | of),
        profile=ProfileFacts(
            name=profile, title="A quick look at a disk", source="diskbench", template="",
            question="Is this disk roughly as fast as it should be?", digest="d", parameters={},
        ),
        target=ResolvedTarget(
            kind=target.kind, path=path, identity=destroyed, device_size_bytes=20 * GIB,
            work_dir=None if device else f"/data/diskbench-{trial_id}", size_bytes=GIB,
            state_dir=f"/var/tmp/diskbench-{trial_id}",
        ),
        steps=steps, loop=loop, facts=FACTS, notes=notes, space_bytes=GIB,
        expected_s=runs * sum(one.expected_s for one in steps),
    )  # fmt: skip


def row(step: str = "rand-read-4k-qd32", **more: object) -> Measurement:
    values: dict[str, object] = {
        "run_id": "01trial-run0", "step_index": 2, "step": step, "role": "measure",
        "scope": "step", "job": "all", "job_index": -1, "direction": "read", "ios": 96_000,
        "bytes": 96_000 * 4096, "runtime_ns": 8_000_000_000, "iops": 12_000.0,
        "bytes_per_s": 49_152_000.0, "lat_mean_ns": 2_660_000.0, "lat_min_ns": 80_000,
        "lat_max_ns": 41_000_000, "p50_ns": 2_500_000.0, "p99_ns": 6_400_000.0,
        "p99_9_ns": 11_000_000.0, "cpu_user": 0.05, "cpu_system": 0.21,
    }  # fmt: skip
    return Measurement.model_validate(values | more)


def result(one: Step, *rows: Measurement, **more: object) -> StepResult:
    values: dict[str, object] = {
        "step_index": one.index, "step": one.name, "role": one.role, "round": one.round,
        "started_at": "2026-11-21T10:00:00.000000+00:00",
        "finished_at": "2026-11-21T10:00:08.000000+00:00", "fio_exit": 0,
        "fio_version": "fio-3.33", "measurements": rows, "seconds_in_fio": 8.0,
    }  # fmt: skip
    return StepResult.model_validate(values | more)
