"""Install fio on a host with its package manager."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import HostUnavailable

if TYPE_CHECKING:
    from diskbench.ports import Host

INSTALL_TIMEOUT_S = 900.0
"""A new cloud machine may have to fetch its package lists first; our choice."""

_INSTALL = """\
export LC_ALL=C DEBIAN_FRONTEND=noninteractive
command -v fio >/dev/null 2>&1 && exit 0
has() { command -v "$1" >/dev/null 2>&1; }
if has apt-get; then
    # A machine that just booted may be busy with its own updates: wait for the lock.
    wait='-o DPkg::Lock::Timeout=300'
    apt-get -q $wait update && apt-get -q -y $wait install fio
elif has dnf; then dnf -q -y install fio
elif has yum; then yum -q -y install fio
elif has zypper; then zypper -q --non-interactive install fio
elif has apk; then apk add --no-progress fio
else echo "none of apt-get, dnf, yum, zypper and apk is there" >&2; exit 1
fi >/dev/null && command -v fio >/dev/null
"""


def install_fio(host: Host) -> None:
    """Install fio as root, unless the host has it.

    Raises HostUnavailable with the package manager's own message, or where there is no root.
    """
    done = host.run(_INSTALL, timeout_s=INSTALL_TIMEOUT_S, root=True)
    if done.exit:
        words = done.stderr.decode(errors="replace").strip().splitlines()
        raise HostUnavailable(
            f"fio could not be installed on {host.name}: {' / '.join(words[-3:]) or 'no reason'}",
            advice="install it by hand there, then run again without --install-fio",
        )
