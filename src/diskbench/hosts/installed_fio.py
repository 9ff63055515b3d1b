"""fio on a host: installed with its package manager, and asked whether it takes the job files,
before anything is written.
"""

from __future__ import annotations

import shlex
import tarfile
from collections.abc import Sequence

from diskbench.errors import ConnectionLost, HostUnavailable, ProfileError
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


_PARSE = """\
set -u
dir=$(mktemp -d) || exit 9
trap 'rm -rf "$dir"' EXIT
cd "$dir" && tar -xf - || exit 9
# All at once first: starting fio costs more than reading a job file. A fio that has read all of
# them calibrates its clock and tests it on every processor (0.1 s of CPU), which no job file needs.
# So the last name is of no file: a fio that complains of that alone has read all before it.
said=$(fio --parse-only --output-format=normal *.fio "$dir/last" 2>&1) && exit 0
case $said in
    *"
"*) ;;
    *"$dir/last"*) exit 0 ;;
esac
for job in *.fio; do
    [ -e "$job" ] || continue
    if ! why=$(fio --parse-only --output-format=normal "$job" 2>&1); then
        echo "$job"
        echo "$why"
        exit 3
    fi
done
"""


def parse_only(host: Host, jobs: Sequence[tuple[str, str]]) -> None:
    """Have fio parse each (step name, job text). Raises ProfileError with fio's own message, and
    ConnectionLost where fio could not be run."""
    packed = bytearray()
    for index, (_, text) in enumerate(jobs):
        data, info = text.encode(), tarfile.TarInfo(f"{index:05d}.fio")
        info.size, info.mode = len(data), 0o600
        packed += info.tobuf(tarfile.USTAR_FORMAT) + data + bytes(-len(data) % tarfile.BLOCKSIZE)
    done = host.run(_PARSE, stdin=bytes(packed) + bytes(2 * tarfile.BLOCKSIZE))
    if done.exit == 3:
        file, *words = done.text.splitlines()
        name, _ = jobs[int(file.removesuffix(".fio"))]
        refusal = " / ".join(w.removeprefix("fio: ").strip() for w in words if w.strip())
        raise ProfileError(
            f"fio on {host.name} refuses step {shlex.quote(name)}: {refusal}",
            advice="diskbench profiles render prints the job file as fio got it",
        )
    if done.exit:
        raise ConnectionLost(
            f"fio could not check the job files on {host.name}: "
            f"{done.stderr.decode(errors='replace').strip() or f'exit {done.exit}'}"
        )
