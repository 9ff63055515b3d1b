"""Google's guest agent leaves the lease's host key alone: its own file says so before it starts."""

import subprocess
from pathlib import Path

import pytest
import yaml
from pydantic import SecretStr

from diskbench.providers.cloud_init import GuestSpec, user_data
from diskbench.providers.scripts import script

IMAGES_OWN = "[Daemons]\naccounts_daemon = true\n\n[InstanceSetup]\nset_host_keys = true\nx = 1\n"


def left_by(script_text: str, before: str | None, directory: Path) -> str:
    """What the file holds after the script ran where `before` was in it."""
    (directory / "before").write_text(before or "")
    (directory / "script").write_text(script_text)
    place = "cp before /etc/default/instance_configs.cfg" if before is not None else ":"
    twice = f"{place}; sh script; sh script; cat /etc/default/instance_configs.cfg"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-ec", f"mount -t tmpfs none /etc/default; {twice}"],
        cwd=directory, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, "[InstanceSetup]\nset_host_keys = false\n"),
        ("[Daemons]\nx = 1\n", "[Daemons]\nx = 1\n[InstanceSetup]\nset_host_keys = false\n"),
        (IMAGES_OWN, IMAGES_OWN.replace("set_host_keys = true", "set_host_keys = false")),
    ],
)
def test_the_agent_is_told_to_make_no_host_keys(
    tmp_path: Path, before: str | None, after: str
) -> None:
    assert left_by(script("gce_host_key.sh"), before, tmp_path) == after


def test_it_is_sound_shell() -> None:
    done = subprocess.run(
        ["shellcheck", "--shell=sh", "-"],
        input=script("gce_host_key.sh"), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == ""


def test_it_goes_before_everything_else_and_once_only() -> None:
    guest = GuestSpec(
        hostname="box", user="ubuntu", host_key_private=SecretStr("key\n"),
        host_key_public="ssh-ed25519 AAAA", authorized_key="ssh-ed25519 BBBB",
        expires_at=1_795_272_000, first=script("gce_host_key.sh"),
    )  # fmt: skip
    first, second = yaml.safe_load(user_data(guest))["bootcmd"]
    assert first[:3] == ["cloud-init-per", "instance", "diskbench-first"]
    assert "set_host_keys = false" in first[-1]
    assert second[2] == "diskbench-deadman"
