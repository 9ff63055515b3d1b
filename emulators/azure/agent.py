"""Azure's guest agent at the first boot, as far as a lab host can have it: it waits for the host
key of its configured type, and the machine is made only when it has found it.

WALinuxAgent 2.7.3.0 (Debian 12): /etc/waagent.conf has `Provisioning.SshHostKeyPairType=auto`,
which means rsa (common/conf.py); without that key it reports failure after 1,800 s
(pa/provision/cloudinit.py). The real agent is booted in QEMU (tests/qemu).
"""

import base64
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from emulators.azure.call import Refusal

DEBIANS = "Provisioning.Agent=cloud-init\nProvisioning.SshHostKeyPairType=auto\n"
_FIRST = "diskbench-first"
_KEY = "Provisioning.SshHostKeyPairType="
_LIMIT_S = 60


def check_ready(profile: Mapping[str, Any]) -> None:
    """Raise Refusal where the agent of a machine with this osProfile would report a failure: only
    where its cloud-config names the types of host keys."""
    config = _config(str(profile.get("customData") or ""))
    made = config.get("ssh_genkeytypes")
    if not made:
        return
    wanted = _wanted(config)
    if wanted not in made:
        raise Refusal(
            "OSProvisioningClientError",
            "Failed to generate SSH host key. Error details: Giving up, ssh host key was not found "
            f"at /etc/ssh/ssh_host_{wanted}_key.pub after 1800s. To resolve this issue verify if "
            "Linux agent is set up properly.",
        )


def _config(data: str) -> dict[str, Any]:
    import yaml

    text = base64.b64decode(data).decode() if data else ""
    found = yaml.safe_load(text) if text.startswith("#cloud-config") else None
    return found if isinstance(found, dict) else {}


def _wanted(config: Mapping[str, Any]) -> str:
    """The type of key that the agent waits for, after the script for the first boot was run against
    Debian's file, with nothing else of /etc to be seen."""
    commands = [one for one in config.get("bootcmd", ()) if isinstance(one, list)]
    script = next((str(one[-1]) for one in commands if _FIRST in one), "")
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        (place / "conf").write_text(DEBIANS)
        (place / "script").write_text(script)
        steps = (
            "mount -t tmpfs none /etc; cp conf /etc/waagent.conf; sh script; cat /etc/waagent.conf"
        )
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-ec", steps],
            cwd=place, capture_output=True, text=True, check=True, timeout=_LIMIT_S,
        )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith(_KEY)]
    found = lines[-1].removeprefix(_KEY) if lines else "rsa"
    return "rsa" if found == "auto" else found
