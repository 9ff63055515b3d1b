"""Check every job file with the measured host's own fio before anything is written."""

from __future__ import annotations

import io
import shlex
import tarfile
from typing import TYPE_CHECKING

from diskbench.errors import ConnectionLost, ProfileError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.ports import Host

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
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for index, (_, text) in enumerate(jobs):
            data = text.encode()
            info = tarfile.TarInfo(f"{index:05d}.fio")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    done = host.run(_PARSE, stdin=buffer.getvalue())
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
