"""The command that runs a script, the same on every kind of host, and what comes back of it: pure.

Over SSH a command stands in a frame, because a login shell may print (~/.bashrc, ForceCommand),
read standard input, or quote by rules of its own (csh, fish): one line of printable ASCII that all
of them pass on to /bin/sh, which runs the script between two marks on both streams, the second with
its exit status. Marks are new each time, with a byte that no echo of the text holds.
"""

from __future__ import annotations

import re
import secrets
import shlex
from collections.abc import Iterable, Iterator, Mapping

from diskbench.errors import HostUnavailable, LimitExceeded
from diskbench.limits import COMMAND_BYTES, COUNTER, FOLLOWED_BYTES, LINE_BYTES, NOISE_BYTES
from diskbench.ports import Completed
from diskbench.units import format_bytes
from diskbench.visible import one_line

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
            f"this needs root on {host_name}, but `sudo -n` failed: {why}",
            advice="log in as root, or allow sudo without a password for this user",
        )


def assignments(values: Mapping[str, object]) -> str:
    """Shell assignments that are put before a script."""
    return "".join(f"{key}={shlex.quote(str(value))}\n" for key, value in values.items())


def whole(text: str | None, most: int = COUNTER) -> int | None:
    """A number from 0 to `most` in a host's output, which is not trusted; None for anything
    else."""
    is_number = text and re.fullmatch("[0-9]{1,19}", text)
    return int(text) if text and is_number and int(text) <= most else None


_SHOWN = 60
"""Characters of a command or line that a message shows."""


class OutputLimit:
    """Counts the bytes of one command; raises LimitExceeded past `limit`."""

    def __init__(self, host: str, script: str, limit: int = COMMAND_BYTES) -> None:
        self._host, self._script, self._left, self._limit = host, script, limit, limit

    def take(self, data: bytes) -> bytes:
        """Count `data` and return it. Raises LimitExceeded past the limit."""
        self._left -= len(data)
        if self._left < 0:
            line = self._script.strip().partition("\n")[0]
            shown = line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"
            raise LimitExceeded(
                f"{self._host} printed more than {format_bytes(self._limit)} for one command "
                f"({shown})",
                advice="run the command there by hand: one of its programs may have been replaced",
            )
        return data


def whole_lines(chunks: Iterable[bytes], host: str) -> Iterator[bytes]:
    """The lines in `chunks`, without line ends. Raises LimitExceeded for a line or a stream that is
    longer than any that diskbench writes."""
    pending, total = bytearray(), 0
    for chunk in chunks:
        total += len(chunk)
        if total > FOLLOWED_BYTES:
            raise LimitExceeded(
                f"{host} sent more than {format_bytes(FOLLOWED_BYTES)} of lines for one step",
                advice="a step has one line a second: look at live.tsv in the step's directory",
            )
        first, *rest = chunk.split(b"\n")
        pending += first
        _check_line(pending, host)
        for line in rest:
            yield bytes(pending)
            pending = bytearray(line)
            _check_line(pending, host)
    if pending:
        yield bytes(pending)


def _check_line(line: bytearray, host: str) -> None:
    if len(line) > LINE_BYTES:
        raise LimitExceeded(
            f"{host} sent a line of more than {format_bytes(LINE_BYTES)}, which begins "
            f"{bytes(line[:_SHOWN])!r}",
            advice="a line of a step has 350 bytes: look at live.tsv in the step's directory",
        )


_PADDING = b"\n" * 64
"""Goes before the line from which on standard input is the script's: a login file may read lines
of it. Our choice."""
_STATUS = re.compile(rb"(\d{1,3}|unfed)\n")
_STATUS_BYTES = 8
_SHOWN_NOISE = 80
"""Characters of noise that a message shows; our choice."""

# Without ', !, newline, and a backslash before ' or \: csh, tcsh, fish and zsh pass it on in single
# quotes as sh does. Its words are the script, encoded by `_encoded`; csh takes no longer ones. A
# login file may have exported options of the shell, and set a umask.
_BOOT = (
    "set +eCuvx; umask 077; m={nonce}; IFS=; fed=unfed; "
    '{begun}printf "\\036%s<" $m; '
    "while read -r line; do case $line in $m) fed=; break;; esac; done; "
    'if [ -z "$fed" ]; then '
    'b="\\134"; b=${{b%134}}; text="$0$*"; set -f; IFS="~"; set -- $text; IFS=$b; '
    'text=$(printf %b "$*"); set +f; unset IFS; '
    'eval "$text"{errors}; fed=$?; fi; '
    # Standard error has its marks around those of standard output: a login may have joined both.
    'printf "\\036%s>%s\\n" $m "$fed"{ended}'
)
_WITH_ERRORS = {
    "begun": 'printf "\\036%s(" $m >&2; ',
    "errors": "",
    "ended": '; printf "\\036%s)%s\\n" $m "$fed" >&2',
}
_WITHOUT = {"begun": "", "errors": " 2>/dev/null", "ended": ""}
_WORD_CHARS = 900
_UNSAFE = re.compile(rb"[^ -~]|[~\\!']")


class Frame:
    """The frame of one command: its command line, and the bytes that come before its input."""

    def __init__(self, script: str, *, root: bool = False, errors: bool = True) -> None:
        nonce = secrets.token_hex(16)
        boot = _BOOT.format(nonce=nonce, **(_WITH_ERRORS if errors else _WITHOUT))
        text = _encoded(shlex.join(argv(script, root=root)))
        words = [text[at : at + _WORD_CHARS] for at in range(0, len(text), _WORD_CHARS)]
        self.line = f"/bin/sh -c '{boot}' " + " ".join(f"'{word}'" for word in words)
        """For the login shell of any kind. Without exec, which may be an alias."""
        self.before_input = _PADDING + f"{nonce}\n".encode()
        self._mark = b"\x1e" + nonce.encode()

    def output(self, host: str) -> FramedStream:
        """Standard output."""
        return FramedStream(self._mark + b"<", self._mark + b">", host)

    def errors(self, host: str) -> FramedStream:
        """Standard error."""
        return FramedStream(self._mark + b"(", self._mark + b")", host)


class FramedStream:
    """One output stream of a framed command, from which `take` gives what the command printed."""

    def __init__(self, begin: bytes, end: bytes, host: str) -> None:
        self._begin, self._end = begin, end
        self._host = host
        self._held = b""
        self.noise = b""
        """What came before the command."""
        self.has_begun = False
        self.status: str | None = None
        """The exit status of the command once it has ended, or `unfed`."""

    @property
    def unframed(self) -> bytes:
        """What came so far where no command has begun."""
        return b"" if self.has_begun else self._held

    def take(self, data: bytes) -> bytes:
        """The command's own bytes in `data`. Raises HostUnavailable where the host prints without
        an end before the command."""
        if self.status is not None:
            return b""
        self._held += data
        if not self.has_begun:
            noise, mark, rest = self._held.partition(self._begin)
            if len(noise) > NOISE_BYTES:
                raise HostUnavailable(
                    f"{self._host} prints more than {format_bytes(NOISE_BYTES)} before a command "
                    f"({shown_noise(noise)})",
                    advice=LOGIN_ADVICE,
                )
            if not mark:
                return b""
            self.noise, self._held, self.has_begun = noise, rest, True
        own, mark, rest = self._held.partition(self._end)
        if not mark:
            # Kept back: what may be the beginning of the mark.
            at = self._held.rfind(b"\x1e", max(0, len(self._held) - len(self._end) + 1))
            cut = at if at >= 0 and self._end.startswith(self._held[at:]) else len(self._held)
            own, self._held = self._held[:cut], self._held[cut:]
            return own
        if status := _STATUS.match(rest):
            self.status, self._held = status[1].decode(), b""
        elif len(rest) >= _STATUS_BYTES:
            self.status, self._held = "255", b""
        else:
            self._held = self._end + rest
        return own


LOGIN_ADVICE = (
    "log in there by hand with a command, as in 'ssh HOST true': it must print nothing and not "
    "read standard input; in ~/.bashrc or ~/.cshrc do that only for a terminal"
)
"""What to do about a host whose login disturbs commands."""


def shown_noise(noise: bytes) -> str:
    """The beginning of what a host printed, as a message shows it."""
    text = one_line(noise[: 4 * _SHOWN_NOISE].decode(errors="replace").strip())
    return repr(text if len(text) <= _SHOWN_NOISE else f"{text[: _SHOWN - 1]}…")


def _encoded(text: str) -> str:
    r"""`text` in printable ASCII without ', ! and backslash. `~` is where `printf %b` of the host
    gets a backslash: `~n` is a newline, `~~` a backslash, `~0NNN` any byte in octal."""

    def code(match: re.Match[bytes]) -> bytes:
        byte = match[0]
        return {b"\n": b"~n", b"\\": b"~~"}.get(byte) or b"~0%03o" % byte[0]

    return _UNSAFE.sub(code, text.encode(errors="surrogateescape")).decode()
