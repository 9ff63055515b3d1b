"""What was measured, in words; and the command that is proposed next, which names the same disk
again with all that holds of it."""

from tests.rigs.plans import make_plan

from diskbench.model.expectation import Promise
from diskbench.model.facts import MountFacts
from diskbench.report.assemble.subject import subject_of_plan, target


def test_what_the_owner_expects_goes_with_the_disk_and_not_with_the_profile() -> None:
    plan = make_plan()
    promised = plan.cell.model_copy(update={"promise": Promise(iops=2000, mb_per_s=60.5)})
    found = subject_of_plan(plan.model_copy(update={"cell": promised}))
    assert found.target_flags.endswith("--path /mnt/data --promise iops=2000,mb_per_s=60.5")
    assert found.trial_flags == "--label team=storage"
    assert "--promise" not in subject_of_plan(plan).target_flags


def test_a_directory_says_through_what_it_reaches_its_disk() -> None:
    plan = make_plan()
    mount = MountFacts(mount_point="/mnt", source="/dev/dm-1", fstype="ext4", options="rw")
    layers = ("dm-crypt data", "LVM volume vg-data")
    facts = plan.facts.model_copy(update={"mount": mount, "layers": layers})
    words = target(plan.model_copy(update={"facts": facts}))
    assert words == f"{plan.target.path} (ext4 on dm-crypt data on LVM volume vg-data)"
