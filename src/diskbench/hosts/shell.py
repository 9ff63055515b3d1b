"""The command that runs a script, the same on every kind of host: pure text."""

import shlex

from diskbench.errors import HostUnavailable, MeasurementFailed
from diskbench.ports import Completed

NO_ROOT_EXIT = 97
"""Exit status of the wrapper without root; no tool that diskbench calls uses it."""

_AS_ROOT = f"""\
if [ "$(id -u)" = 0 ]; then exec sh -c "$0"; fi
if ! why=$(sudo -n true 2>&1); then echo "diskbench: no root: $why" >&2; exit {NO_ROOT_EXIT}; fi
exec sudo -n sh -c "$0"
"""


def argv(script: str, *, root: bool = False) -> list[str]:
    """The argument list that runs `script` with sh, with `root` as root."""
    return ["sh", "-c", _AS_ROOT, script] if root else ["sh", "-c", script]


def root_refused(done: Completed, host_name: str) -> None:
    """Raise HostUnavailable where `done` ended because there is no root."""
    if done.exit == NO_ROOT_EXIT and b"diskbench: no root" in done.stderr:
        why = done.stderr.decode(errors="replace").partition("no root: ")[2].strip()
        raise HostUnavailable(
            f"this needs root on {host_name}, and `sudo -n` gave none: {why}",
            advice="log in as root, or allow sudo without a password for this user",
        )


def put_script(path: str, mode: int) -> str:
    """A script that writes standard input to `path` atomically, by a temporary file beside it."""
    target = shlex.quote(path)
    return (
        f"umask 077; new={target}.$$.new\n"
        f'if cat >"$new" && chmod {mode:o} "$new" && mv -f "$new" {target}; then exit 0; fi\n'
        'rm -f "$new"; exit 1'
    )


def require_put(done: Completed, path: str, host_name: str) -> None:
    """Raise MeasurementFailed where a file could not be written."""
    if done.exit:
        raise MeasurementFailed(
            f"cannot write {path} on {host_name}: {done.stderr.decode(errors='replace').strip()}",
            advice="look at the free space and the permissions there",
        )
