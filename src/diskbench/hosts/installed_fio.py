"""fio on a host: installed with its package manager, and asked whether it takes the job files,
before anything is written.
"""

import shlex
from collections.abc import Sequence

from diskbench.errors import AgentError, ConnectionLost, HostUnavailable, ProfileError
from diskbench.hosts.calls import ask, files
from diskbench.hosts.shell import whole
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


def parse_only(host: Host, jobs: Sequence[tuple[str, str]]) -> None:
    """Have fio parse each (step name, job text). Raises ProfileError with fio's own message, and
    ConnectionLost where fio could not be run."""
    try:
        texts = {f"{at:05d}.fio": text for at, (_, text) in enumerate(jobs)}
        said = [line for (line, *_) in ask(host, "parse", stdin=files(texts))]
    except AgentError as error:
        raise ConnectionLost(
            f"fio could not check the job files on {host.name}: {error.message}"
        ) from error
    if said:
        file, *words = said
        at = whole(file.removesuffix(".fio"), len(jobs) - 1)
        name = jobs[at][0] if at is not None else file
        refusal = " / ".join(w.removeprefix("fio: ").strip() for w in words if w.strip())
        raise ProfileError(
            f"fio on {host.name} refuses step {shlex.quote(name)}: {refusal}",
            advice="diskbench profiles render prints the job file as fio got it",
        )
