"""Which tests `script/check` and `script/test` run, and which only `script/test --all`: by room.

`tests/unit`, `tests/method` and what no row names run always. Of a room in the table, the tests
that `kept` names run always; the others take long, or repeat one thing for each provider, moment
or page, and have the marker `thorough`. Whoever changes what `changes` names runs the whole room
before it is merged. CONTRIBUTING.md shows the table (`python -m tests.rooms` writes it).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
BEGIN, END = "<!-- rooms -->", "<!-- end of rooms -->"


@dataclass(frozen=True)
class Room:
    """A folder or file of tests of which only a part runs always."""

    prefix: str
    """What the ids of its tests begin with."""
    changes: str
    """Whose change needs the whole room."""
    always: str
    """What of it runs always, in words."""
    kept: tuple[str, ...] = ()
    """The same as patterns (fnmatch) of the id behind the prefix; `[[]` is a bracket."""
    repeats: tuple[str, ...] = ()
    """Patterns of what only repeats, at a cost, what another kept test shows."""


ROOMS = (
    Room(
        "tests/qemu/",
        "`hosts/agent.py`, what a cloud's guest is given at its first boot, arrays",
        "nothing: a guest boots for a minute",
    ),
    Room(
        "tests/browser/",
        "`report/`",
        "one page of each kind, and the rig",
        (
            "test_rig.py::*",
            "test_report.py::test_a_stranger_reads_*",
            "test_report.py::test_what_users_typed_*",
            "test_site.py::test_the_index_leads_*",
            "test_published_charts.py::test_every_kind_*1280-False-bars*",
        ),
    ),
    Room(
        "tests/cloud/",
        "`providers/` but the lab, `catalog/`, the emulators",
        "one disk of AWS from rent to rows, one lease of each cloud, refusals before renting",
        (
            "test_end_to_end.py::test_a_disk_runs_to_rows[[]aws --disk gp3*",
            "test_aws_rights.py::test_all_that_*",
            "test_azure_rights.py::test_a_whole_run_*",
            "test_gcp_rights.py::test_a_whole_lease_*",
            "test_gcp_policies.py::test_a_tunnel_*",
            "test_gcp_policies.py::test_what_a_constraint_*",
            "test_vsphere_policies.py::test_a_whole_lease_*",
            "test_vsphere_policies.py::test_machines_on_another_network_*",
            "test_vsphere_policies.py::test_on_nfs_without_*",
            "test_before_renting.py::*",
        ),
    ),
    Room(
        "tests/contract/test_provider.py::",
        "`providers/`, `ports.py`, the emulators",
        "the suite on the fake cloud and on the lab, one lease of AWS; `tests/cloud` rents of each",
        (
            "TestFake::*",
            "TestTheFakesFaults::*",
            "TestLab::*",
            "TestAwsEndToEnd::*",
        ),
    ),
    Room(
        "tests/docs/test_pages.py::",
        "`docs/`, `README.md`, a command's options or output",
        "nothing: the commands of every page are parsed by the other files of the folder",
    ),
    Room(
        "tests/docs/test_tutorial.py::",
        "`docs/tutorial.md`, a command's options or output",
        "nothing: what it runs, `tests/run` runs, too",
    ),
    Room(
        "tests/notebooks/",
        "`notebooks/`, `diskbench.load_*`, `results/`",
        "one notebook from the first cell to the last, and how all are written",
        (
            "test_notebooks.py::test_there_are_six*",
            "test_notebooks.py::test_it_is_kept*",
            "test_notebooks.py::test_it_asks*",
            "test_notebooks.py::*[[]01-first-look*",
        ),
    ),
    Room(
        "tests/unit/store/test_example.py::",
        "`store/example.py`, `data/`",
        "that its cliffs are where the buckets of its disks end",
        ("test_cliffs_are_*",),
    ),
    Room(
        "tests/unit/providers/aws/test_acquire.py::",
        "`providers/aws/`, `providers/skeleton/`",
        "a volume from launch to readback, several zones, throttling, lost answers, stops",
        (
            "test_a_volume_is_rented_*",
            "test_the_machine_takes_*",
            "test_no_key_is_told_*",
            "test_without_capacity_in_*",
            "test_a_storm_of_*",
            "test_an_answer_that_was_lost_*",
            "test_a_disk_of_another_size_*",
            "test_a_disk_that_was_there_*",
            "test_a_volume_other_than_*",
            "test_whoever_stops_*",
        ),
        (
            "test_an_answer_that_was_lost_*[[]ImportKeyPair]",
            "test_an_answer_that_was_lost_*[[]CreateSecurityGroup]",
            "test_a_volume_other_than_*[[]VolumeType-*",
            "test_a_volume_other_than_*[[]MultiAttachEnabled-*",
            "test_whoever_stops_*[[]is starting]",
            "test_whoever_stops_*[[]answers at]",
        ),
    ),
    Room(
        "tests/unit/providers/aws/test_first_account.py::",
        "`providers/aws/`, `catalog/`",
        "all; of what needs a whole rental the next type and a late listing",
        ("*",),
        (
            "test_many_machines_*",
            "test_a_typed_machine_*",
            "test_one_empty_listing_*_whose_ids_are_known",
            "test_a_zone_without_capacity_is_cleared_*",
            "test_bare_metal_*",
        ),
    ),
    Room(
        "tests/unit/providers/aws/test_lookup.py::",
        "`providers/aws/`, `catalog/`",
        "a whole rental, image and machine, what cannot be rented, credentials",
        (
            "test_what_does_not_exist_*",
            "test_an_arm_*",
            "test_a_machine_that_cannot_*",
            "test_a_lab_option_*",
            "test_a_profile_that_*",
        ),
    ),
    Room(
        "tests/unit/providers/aws/test_release.py::",
        "`providers/aws/`, `providers/skeleton/`, `engine/cleanup/`",
        "what belongs to a lease goes, and nothing else",
        (
            "test_only_the_lease_*",
            "test_everything_is_given_back_*",
            "test_what_still_hangs_*",
            "test_a_tag_that_is_no_lease_*",
        ),
    ),
    Room(
        "tests/lab/",
        "`providers/lab/`",
        "a host, its limits, a second disk, its latency, and releases",
        (
            "test_hosts.py::test_[a-m]*",
            "test_hotplug.py::*",
            "test_release.py::test_release_twice*",
            "test_release.py::test_a_release_in_the_middle*",
            "test_release.py::test_a_creator_that_is_killed_*[[]the keys-release*",
        ),
        ("test_hosts.py::test_fifty_hosts_*",),
    ),
    Room(
        "tests/run/",
        "`engine/`, `hosts/`, `store/`, `cli/`",
        "each way to run once: here, over SSH, on a lab host, a device, a worker, a schedule; one "
        "Ctrl-C, one kill",
        (
            "test_bad_input.py::*",
            "test_python.py::*",
            "test_device.py::test_[a]*",
            "test_interrupt.py::test_one_ctrl_c_*[[]SIGINT]",
            "test_interrupt.py::*[[]step 2 of 3-1]",
            "test_local.py::test_a_run_*",
            "test_local.py::test_rows_are_rebuilt_*",
            "test_local.py::test_a_step_that_fails_*",
            "test_local.py::test_the_audit_*",
            "test_rented.py::test_a_lab_disk_is_made*",
            "test_rented.py::test_cancelled_while_renting_*",
            "test_rented.py::test_what_cannot_be_rented_*",
            "test_rented.py::test_what_makes_no_sense_*",
            "test_schedule.py::test_triggered_by_hand_*",
            "test_several_disks.py::test_each_device_*",
            "test_ssh.py::test_a_run_over_ssh_*",
            "test_ssh.py::test_a_changed_host_key_*",
            "test_worker.py::test_one_cell_can_be_cancelled_*",
        ),
        (
            "test_device.py::*[[]xfs]",
            "test_rented.py::test_what_cannot_be_rented_*[[]access-2]",
        ),
    ),
    Room(
        "tests/drills/",
        "what a drill is about: `docs/evidence/drills.md` lists them",
        "those that start nothing, and one of each kind that does, without its repeats",
        (
            "test_advice.py::*",
            "test_before_fio.py::test_a_stop_arrives_*",
            "test_clocks.py::test_the_cloud_says_*",
            "test_clocks.py::test_a_lease_that_expired_*",
            "test_concurrent.py::test_hostile_claims_*",
            "test_concurrent.py::test_an_invalid_choice_*",
            "test_copies.py::test_a_copied_data_directory_*[[]cp -r]",
            "test_fio_document.py::test_a_result_without_fio_*",
            "test_full_hosts.py::test_a_host_without_room_*[[]100 kB]",
            "test_guard.py::test_a_loop_device_pointed_elsewhere_*",
            "test_guard.py::test_no_other_process_gets_*",
            "test_half_done.py::test_an_export_without_room_*",
            "test_half_done.py::test_an_import_without_room_*",
            "test_hostile_archives.py::*",
            "test_hostile_hosts.py::test_an_archive_*",
            "test_hostile_job_files.py::*",
            "test_ids.py::*",
            "test_injection.py::*",
            "test_kills.py::test_kills_one_after_another_*[[]a cell is settled*",
            "test_kills.py::test_ctrl_c_at_*[[]before *FakeProvider.acquire 1]",
            "test_kills.py::test_ctrl_c_at_*[[]before *start_and_watch 1]",
            "test_kills.py::test_ctrl_c_at_*[[]before *write_manifest 1]",
            "test_limits.py::*",
            "test_lost_stores.py::test_a_store_that_cannot_be_written_*",
            "test_noisy_hosts.py::test_a_command_line_holds_*",
            "test_noisy_hosts.py::test_what_a_login_prints_*[[]lines]",
            "test_noisy_hosts.py::test_a_login_that_lets_no_*[[]nologin]",
            "test_published_evidence.py::test_what_was_put_beside_*",
            "test_refused_devices.py::test_a_device_that_belongs_*[[]a GUID partition table]",
            "test_refused_devices.py::test_a_device_that_belongs_*[[]ext4]",
            "test_refused_devices.py::test_a_device_that_belongs_*[[]mounted]",
            "test_refused_devices.py::test_a_device_with_a_copy_*[[]LUKS2]",
            "test_refused_devices.py::test_a_device_with_a_copy_*[[]ZFS's label 3]",
            "test_refused_devices.py::test_a_device_without_an_owner_*[[]fresh]",
            "test_refused_devices.py::test_an_identity_*[[]{other}]",
            "test_refused_devices.py::test_an_identity_*[[]{half}]",
            "test_refused_devices.py::test_a_device_unfit_*[[]the root disk-*",
            "test_refused_devices.py::test_a_device_unfit_*[[]read-only-*",
            "test_refused_devices.py::test_a_device_unfit_*[[]no tools-*",
            "test_stops.py::test_a_stop_while_the_filesystem_*",
            "test_urls.py::*",
            "test_yaml_bombs.py::*",
        ),
        (
            "test_clocks.py::test_the_cloud_says_*[[]-6]",
            "test_guard.py::test_no_other_process_gets_*[[]cache drop-mkswap]",
            "test_guard.py::test_no_other_process_gets_*[[]cache drop-wipefs]",
            "test_guard.py::test_no_other_process_gets_*[[]before fio-mkfs]",
            "test_guard.py::test_no_other_process_gets_*[[]before fio-losetup]",
            "test_guard.py::test_no_other_process_gets_*[[]before fio-wipefs]",
            "test_guard.py::test_no_other_process_gets_*[[]cache drop-mkfs]",
            "test_hostile_job_files.py::test_a_foreign_target_*[[]filename=data:*",
            "test_hostile_job_files.py::test_a_foreign_target_*[[]directory=*",
            "test_hostile_job_files.py::test_a_foreign_target_*[[]write_bw_log=*",
            "test_injection.py::test_a_refusal_shows_*[[]arguments2-human]",
            "test_limits.py::test_a_damaged_record_*[[]manifest.json]",
            "test_limits.py::test_counts_without_end_*-1000000000]",
            "test_limits.py::test_matrix_files_with_counts_*[[]runs: *",
            "test_limits.py::test_matrix_files_with_counts_*[[]replicates: 10000-*",
            "test_limits.py::test_templates_without_end_*[[]a power]",
            "test_limits.py::test_templates_without_end_*[[]lorem ipsum]",
        ),
    ),
    Room(
        "tests/method/test_mr03_quick.py::",
        "`profiles/`, `analysis/`, `providers/lab/`",
        "nothing: a rented disk of the lab is measured by `tests/run`",
    ),
    Room(
        "tests/method/test_mr04_cliff.py::",
        "`analysis/`",
        "all; of random series the first twenty of each kind",
        ("*",),
        ("*[[]50]",),
    ),
    Room(
        "tests/unit/importers/test_hostile_files.py::",
        "`importers/`",
        "all; of files of 100 MB the one of each kind that takes most",
        ("*",),
        tuple(
            f"test_a_hostile_file_ends_soon_*[[]{name}]"
            for name in (
                "blank-lines",
                "bonnie",
                "dd-lines",
                "fio-bins",
                "gobonniego-lists",
                "hdparm",
                "nothing",
                "one-number",
                "one-terse-line",
                "perfkit-one-list",
                "perfkit-runs",
                "sums-of-clients",
                "text-runs",
                "vdbench",
            )
        ),
    ),
    Room(
        "tests/plugin/",
        "`plugin.py`, `plugins.py`, `testing/`, `cli/`, a matrix's fields",
        "all; of what runs one disk, without a matrix",
        ("test_broken.py::*", "test_stratus.py::*"),
        ("test_stratus.py::test_cells_of_a_matrix_*",),
    ),
    Room(
        "tests/unit/fio/test_shipped.py::",
        "`profiles/`, `fio/`",
        "all, with fio's word on each step; of kinds of profiles one really runs",
        ("*",),
        tuple(
            f"test_it_really_runs[[]{name}]"
            for name in (
                "bonnie",
                "diskspd",
                "gobonniego",
                "oltp",
                "snia-iops",
                "soak",
                "sustained",
                "sweep",
            )
        ),
    ),
    Room(
        "tests/unit/cli/test_one_figure.py::",
        "`results/`, `report/`, `analysis/shown.py`",
        "each case's figure as data; its texts where runs fall, stall, differ or have no logs",
        ("*",),
        tuple(
            f"test_every_text_shows_*[[]{case}]"
            for case in ("flat", "several-runs", "stalled", "two-runs")
        ),
    ),
    Room(
        "tests/unit/cli/test_results_prune.py::",
        "`store/`, `cli/`",
        "all; on a store of files or of S3, where both must do the same",
        ("*",),
        (
            "test_a_pruned_run_reads_as_before[[]file]",
            "test_the_record_names_each_removed_file[[]s3]",
        ),
    ),
    Room(
        "tests/unit/hosts/test_guarded_unit.py::",
        "`hosts/agent.py`",
        "all; of what comes to a disk before mkfs a mount, a holder and a partition table",
        ("*",),
        tuple(
            f"test_what_came_to_the_disk_*_keeps_mkfs_*[[]{what}]"
            for what in (
                "swap",
                "partition",
                "partition mounted",
                "partition held",
                "loop upon it",
                "exclusive",
                "gpt",
                "lvm",
                "zfs and mbr",
            )
        ),
    ),
)


def is_thorough(test_id: str) -> bool:
    """Whether only `script/test --all` runs this test."""
    for room in ROOMS:
        if test_id.startswith(room.prefix):
            rest = test_id.removeprefix(room.prefix)
            return not _fits(rest, room.kept) or _fits(rest, room.repeats)
    return False


def has_quick_case(test_id: str) -> bool:
    """Whether any case of a test, whose id is given without a case, runs always."""
    for room in ROOMS:
        if test_id.startswith(room.prefix):
            rest = test_id.removeprefix(room.prefix)
            kept = [pattern.partition("[[]")[0] for pattern in room.kept]
            return _fits(rest, kept) and not _fits(rest, room.repeats)
    return True


def _fits(rest: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(rest, pattern) for pattern in patterns)


def table() -> str:
    """The rooms as Markdown."""
    lines = ["| tests | run always | a change of this runs all of them |", "| --- | --- | --- |"]
    for room in ROOMS:
        name = room.prefix.removesuffix("::").removesuffix("/")
        lines.append(f"| `{name}` | {room.always} | {room.changes} |")
    return "\n".join(lines) + "\n"


def page(text: str) -> str:
    """CONTRIBUTING.md with the table as it is now. Raises ValueError where it has no place."""
    head, begun, rest = text.partition(BEGIN)
    _, ended, tail = rest.partition(END)
    if not begun or not ended:
        raise ValueError(f"the page needs the lines {BEGIN} and {END}, in this order")
    return f"{head}{BEGIN}\n{table()}{END}{tail}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
