"""Azure's guest agent looks for the type of host key that the guest has: its own file says so."""

import subprocess
from pathlib import Path

import pytest

from diskbench.providers.scripts import script

DEBIANS = "Provisioning.Agent=cloud-init\nProvisioning.SshHostKeyPairType=auto\nLogs.Verbose=n\n"
WANTED = "Provisioning.SshHostKeyPairType=ed25519\n"


def left_by(before: str | None, directory: Path) -> str:
    """What /etc/waagent.conf holds after the script ran twice where `before` was in it."""
    (directory / "before").write_text(before or "")
    (directory / "script").write_text(script("azure_host_key.sh"))
    place = "cp before /etc/waagent.conf" if before is not None else ":"
    shown = "if [ -e /etc/waagent.conf ]; then cat /etc/waagent.conf; fi"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-ec",
         f"mount -t tmpfs none /etc; {place}; sh script; sh script; {shown}"],
        cwd=directory, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, ""),
        (DEBIANS, DEBIANS.replace("=auto", "=ed25519")),
        ("  Provisioning.SshHostKeyPairType = rsa # old\n", WANTED),
        ("#Provisioning.SshHostKeyPairType=auto\n",
         f"#Provisioning.SshHostKeyPairType=auto\n\n{WANTED}"),
        ("Logs.Verbose=n", f"Logs.Verbose=n\n{WANTED}"),
    ],
)  # fmt: skip
def test_the_agent_waits_for_the_type_of_key_that_the_guest_has(
    tmp_path: Path, before: str | None, after: str
) -> None:
    assert left_by(before, tmp_path) == after


def test_it_is_sound_shell() -> None:
    done = subprocess.run(
        ["shellcheck", "--shell=sh", "-"],
        input=script("azure_host_key.sh"), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == ""
