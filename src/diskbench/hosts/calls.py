"""Requests to the program that works on a measured host (agent.py).

It is sent with a request, and kept in the trial's directory when the first step starts: from then
on requests name it by its digest, and are repeated with it where it is gone. The answer is lines of
JSON; what stands in them is not trusted.
"""

import base64
import json
import re
import shlex
import zlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import resources

from diskbench.errors import AgentError, HostUnavailable
from diskbench.ports import Host
from diskbench.visible import UNKNOWN

NEEDED = "Python 3.6 or newer, which diskbench needs there"
HOW = "install it there: apt-get install python3, or dnf install python3"
GONE = "the program no longer exists"
"""What a host says that has not kept it."""
OWN_PYTHON, OWN_AGENT = "_DISKBENCH_PYTHON", "_DISKBENCH_AGENT"
"""The variables that name the Python of diskbench itself and its agent.py on its own machine
(local.py). What stands first in PATH may be a shim, as pyenv's, which takes 0.1 s or leads nowhere;
of its own file Python keeps the bytecode."""
GONE_EXIT, NO_PYTHON_EXIT = 95, 96
"""Exit status where the program is not kept, and without such a Python; no tool that diskbench
calls uses them."""
_MISSING, _GONE = (json.dumps({"failed": why}) for why in (f"there is no {NEEDED}", GONE))

# Without % and $, which systemd-run could take for its own, where a unit is started by it.
# An older Python could not read agent.py, so its version is looked at before; Red Hat's own may be
# new enough where the administrator's is not. The text goes as an argument: standard input is the
# request's.
_BOOT = f"""\
import os, sys
if sys.version_info < (3, 6):
    other = "/usr/libexec/platform-python"
    if os.path.exists(other) and os.path.realpath(sys.executable) != os.path.realpath(other):
        os.execv(other, [other] + open("/proc/self/cmdline").read().split("\\0")[1:-1])
    print({_MISSING!r}); sys.exit(96)
import hashlib, marshal
digest, _, kept = sys.argv.pop(1).partition(" ")
code = b""
if kept:
    try:
        kept += "-" + hex(sys.hexversion)[2:]
        file = os.open(kept, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        found = os.fstat(file)
        if found.st_uid == os.geteuid() and not found.st_mode & 0o077:
            with os.fdopen(file, "rb") as stream:
                code = stream.read()
    except OSError:
        pass
    if hashlib.sha256(code).hexdigest() != digest:
        print({_GONE!r}); sys.exit(95)
else:
    import base64, zlib
    text, made = zlib.decompress(base64.b64decode(digest)).decode(), None
    if "{OWN_AGENT}" in os.environ:
        from importlib.machinery import SourceFileLoader
        sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
        loader = SourceFileLoader("agent", os.environ["{OWN_AGENT}"])
        try:
            if loader.get_data(loader.path) == text.encode():
                made = loader.get_code("agent")
        except OSError:
            pass
    code = marshal.dumps(made or compile(text, "agent.py", "exec"))
exec(marshal.loads(code), {{"__name__": "__main__", "CODE": code}})
"""
_SCRIPT = """\
for python in "${{{own}:-python3}}" python3 /usr/libexec/platform-python; do
    command -v "$python" >/dev/null 2>&1 || continue
    LC_ALL=C.UTF-8 exec "$python" -I -S -c {boot} {agent} {request}
done
echo {missing}
exit 96
"""


AGENT = resources.files(__package__) / "agent.py"


@cache
def _agent() -> str:
    """agent.py, packed."""
    return base64.b64encode(zlib.compress(AGENT.read_bytes(), 9)).decode()


_KEPT: dict[str, str] = {}
"""The digest of the program that a host keeps compiled in a trial's directory, by that."""


def is_kept(state_dir: str, digest: str) -> None:
    """Let requests of the trial in `state_dir` name the program by its digest, which its host gave;
    anything else: let them bring it again."""
    _KEPT.pop(state_dir, None)
    if re.fullmatch("[0-9a-f]{64}", digest):
        _KEPT[state_dir] = digest


def request(do: str, *, kept_in: str = "", **given: object) -> str:
    """The script that has the host do something; agent.py says what each request is given.
    `kept_in` is the directory of a trial whose host may have kept the program."""
    digest = _KEPT.get(kept_in)
    return _SCRIPT.format(
        own=OWN_PYTHON,
        boot=shlex.quote(_BOOT),
        agent=shlex.quote(f"{digest} {kept_in}/.agent") if digest else _agent(),
        request=shlex.quote(json.dumps({"do": do, **given}, ensure_ascii=False)),
        missing=shlex.quote(_MISSING),
    )


def files(texts: Mapping[str, str]) -> bytes:
    """Files by their names, as the first line of the standard input of a request; names of files
    may be any bytes."""
    return json.dumps(texts, ensure_ascii=False).encode(errors="surrogateescape") + b"\n"


SIGN_OF_LIFE = "."
"""What the program says each second while it has nothing else to say."""


def _said(line: str) -> list[str]:
    """The texts of a line of an answer, at least one. Raises AgentError with the reason where the
    request failed, and ValueError for a line that the program never writes."""
    try:
        value = json.loads(line)
    except RecursionError:
        value = None
    if isinstance(value, dict) and isinstance(why := value.get("failed"), str):
        raise AgentError(_harmless(why))
    texts = [value] if isinstance(value, str) else value
    if not texts or not isinstance(texts, list) or not all(isinstance(one, str) for one in texts):
        raise ValueError(line)
    return [_harmless(text).replace("\n", " ") for text in texts]


def heard(lines: Iterable[bytes]) -> Iterator[list[str]]:
    """The texts of each line of an answer as it comes, without one that was torn when a connection
    broke. Raises AgentError with its reason where the request failed."""
    for line in lines:
        try:
            texts = _said(line.decode(errors="replace"))
        except ValueError:
            continue
        yield texts


def _harmless(text: str) -> str:
    """A text without what no database stores: NULs, and halves of a character in UTF-16."""
    return text.encode(errors="replace").decode().replace("\0", UNKNOWN)


def ask(
    host: Host,
    do: str,
    *,
    stdin: bytes = b"",
    root: bool = False,
    kept_in: str = "",
    timeout_s: float = 60.0,
    **given: object,
) -> list[list[str]]:
    """The host's answer, line by line. Raises AgentError with its reason where it failed, and
    HostUnavailable where there is no Python."""
    text = request(do, kept_in=kept_in, **given)
    done = host.run(text, stdin=stdin, timeout_s=timeout_s, root=root)
    if done.exit == GONE_EXIT and kept_in:  # it is brought again
        is_kept(kept_in, "")
        return ask(host, do, stdin=stdin, root=root, kept_in="", timeout_s=timeout_s, **given)
    if done.exit == NO_PYTHON_EXIT:
        raise HostUnavailable(f"{host.name} has no {NEEDED}", advice=HOW)
    answer = list(heard(done.stdout.split(b"\n")))
    if done.exit:
        words = done.stderr.decode(errors="replace").strip()
        raise AgentError(words or f"it ended without a message (exit {done.exit})")
    return answer
