"""The dead-man's switch of a lab host: what systemd and cloud-init do for it in a real guest.

The script of the user data is run as it is, in an /etc of the guest's own, and so is what diskbench
sends later to move the switch. A `systemctl` that knows the switch alone stands in for systemd. The
time is looked at from outside: nothing of the script that switches a machine off is ever run here.
"""

import re
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

LOOKS_EVERY_S = 0.5
_SWITCH = Path("etc/diskbench/expire.sh")
_OWN = r"""set -eu
[ ! -e /mnt/etc ] || exit 0 # this machine was switched on already
mkdir /mnt/etc /mnt/sbin
cp -a /etc/. /mnt/etc
mount --bind /mnt/etc /etc
cat >/mnt/sbin/systemctl <<'END'
#!/bin/sh
timer=/etc/systemd/system/diskbench-expire.timer
case "$*" in
    daemon-reload | "restart diskbench-expire.timer" | "show diskbench-expire.timer") exit 0 ;;
    "show -P TimersCalendar diskbench-expire.timer") exec sed -n 's/^OnCalendar=//p' $timer ;;
esac
exec /usr/bin/systemctl "$@"
END
chmod 755 /mnt/sbin/systemctl
mount --bind /mnt/sbin /usr/local/sbin
export PATH=/usr/local/sbin:$PATH
"""


def arm(init: int, script: str, off: Callable[[], None]) -> None:
    """Run the script in the machine whose process 1 is `init`, and call `off` when its time has
    come, unless the machine ends before. Raises RuntimeError with the script's own words."""
    done = subprocess.run(
        ["nsenter", "--target", str(init), "--mount", "--pid", "sh", "-s"],
        input=_OWN + script, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"the dead-man's switch was not armed: {done.stderr}")
    threading.Thread(target=_wait, args=(init, off), daemon=True).start()


def ends_at(init: int) -> float | None:
    """When the machine is to switch itself off (Unix seconds); None where it has no switch, or is
    off."""
    try:
        text = (Path(f"/proc/{init}/root") / _SWITCH).read_text("utf-8")
    except OSError:
        return None
    found = re.search(r"^expires=(\d+)", text, re.MULTILINE)
    return float(found.group(1)) if found else None


def _wait(init: int, off: Callable[[], None]) -> None:
    while (when := ends_at(init)) is not None:
        if time.time() >= when:
            off()
            return
        time.sleep(LOOKS_EVERY_S)
