"""A cloud's guest agent leaves the host key alone: its own file says so before it starts."""

import subprocess
from pathlib import Path

import pytest
import yaml
from pydantic import SecretStr

from diskbench.providers.cloud_init import GuestSpec, user_data
from diskbench.providers.scripts import script

GOOGLES = "/etc/default/instance_configs.cfg"
IMAGES_OWN = "[Daemons]\naccounts_daemon = true\n\n[InstanceSetup]\nset_host_keys = true\nx = 1\n"
AZURES = "/etc/waagent.conf"
DEBIANS = "Provisioning.Agent=cloud-init\nProvisioning.SshHostKeyPairType=auto\nLogs.Verbose=n\n"
WANTED = "Provisioning.SshHostKeyPairType=ed25519\n"
SCRIPTS = {
    GOOGLES: "cloud=google\n" + script("host_key.sh"),
    AZURES: "cloud=azure\n" + script("host_key.sh"),
}


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        (GOOGLES, None, "[InstanceSetup]\nset_host_keys = false\n"),
        (GOOGLES, "[Daemons]\nx = 1\n",
         "[Daemons]\nx = 1\n[InstanceSetup]\nset_host_keys = false\n"),
        (GOOGLES, IMAGES_OWN, IMAGES_OWN.replace("set_host_keys = true", "set_host_keys = false")),
        (AZURES, None, ""),
        (AZURES, DEBIANS, DEBIANS.replace("=auto", "=ed25519")),
        (AZURES, "  Provisioning.SshHostKeyPairType = rsa # old\n", WANTED),
        (AZURES, "#Provisioning.SshHostKeyPairType=auto\n",
         f"#Provisioning.SshHostKeyPairType=auto\n\n{WANTED}"),
        (AZURES, "Logs.Verbose=n", f"Logs.Verbose=n\n{WANTED}"),
    ],
)  # fmt: skip
def test_the_agent_is_told_to_leave_the_host_key_alone(
    tmp_path: Path, file: str, before: str | None, after: str
) -> None:
    """By a script that may run twice."""
    (tmp_path / "before").write_text(before or "")
    (tmp_path / "script").write_text(SCRIPTS[file])
    place = f"cp before {file}" if before is not None else ":"
    shown = f"if [ -e {file} ]; then cat {file}; fi"
    around = f"mount -t tmpfs none {Path(file).parent}"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-ec", f"{around}; {place}; sh script; sh script; {shown}"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == after


def test_it_is_sound_shell() -> None:
    done = subprocess.run(
        ["shellcheck", "--shell=sh", "-"],
        input=SCRIPTS[AZURES], capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == ""


def test_it_goes_before_everything_else_and_once_only() -> None:
    guest = GuestSpec(
        hostname="box", user="ubuntu", host_key_private=SecretStr("key\n"),
        host_key_public="ssh-ed25519 AAAA", authorized_key="ssh-ed25519 BBBB",
        expires_at=1_795_272_000, first=SCRIPTS[GOOGLES],
    )  # fmt: skip
    first, second = yaml.safe_load(user_data(guest))["bootcmd"]
    assert first[:3] == ["cloud-init-per", "instance", "diskbench-first"]
    assert "set_host_keys = false" in first[-1]
    assert second[2] == "diskbench-deadman"
