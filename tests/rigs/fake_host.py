"""A host whose connection breaks on command: this machine behind a simulated connection.

For tests, and for trying what diskbench does when a network fails. Commands really run here; their
output is lost, cut or damaged by the faults, one fault for each call, in order."""

from collections import deque
from dataclasses import dataclass
from typing import Literal

from diskbench.errors import ConnectionLost, HostUnavailable
from diskbench.hosts.local import LocalHost
from diskbench.ports import Completed


@dataclass(frozen=True)
class Fault:
    """The fault of one call. `refuse`: no answer, and nothing runs. `cut`: the connection breaks
    after `after_bytes` of output have come through; the command goes on. `damage`: one bit of the
    output is turned over."""

    kind: Literal["refuse", "cut", "damage"]
    after_bytes: int = 0


class FakeHost:
    def __init__(self, name="fake", faults=()):
        self.name = name
        self.faults = deque(faults)
        self.calls: list[str] = []
        self._here = LocalHost()
        self._reached = False
        self._connected = False

    def connect(self):
        """See ports.Host.connect; takes a fault from the list only if it is `refuse`."""
        if self._connected:
            return
        if self.faults and self.faults[0].kind == "refuse":
            self.faults.popleft()
            if self._reached:
                raise self._lost("refused")
            raise HostUnavailable(f"cannot connect to {self.name}: refused", advice="it is fake")
        self._reached = self._connected = True

    def close(self):
        self._connected = False

    def run(self, script, *, stdin=b"", timeout_s=60.0, root=False):
        fault = self._begin(script)
        try:
            done = self._here.run(script, stdin=stdin, timeout_s=timeout_s, root=root)
        except ConnectionLost as error:
            raise self._lost(error.message) from error
        if fault is None:
            return done
        return Completed(done.exit, b"".join(self._faulty([done.stdout], fault)), done.stderr)

    def stream(self, script, **how):
        fault = self._begin(script)
        lines = self._here.stream(script, **how)
        passed = 0
        for line in lines:
            passed += len(line) + 1
            if fault is not None and fault.kind == "cut" and passed > fault.after_bytes:
                raise self._lost("cut")
            yield line
        if fault is not None and fault.kind == "cut":
            raise self._lost("cut")

    def fetch(self, script, sink, *, timeout_s=60.0, root=False):
        fault = self._begin(script)
        if fault is None:
            return self._here.fetch(script, sink, timeout_s=timeout_s, root=root)
        chunks: list[bytes] = []
        status = self._here.fetch(script, _Chunks(chunks), timeout_s=timeout_s, root=root)
        for chunk in self._faulty(chunks, fault):
            sink.write(chunk)
        return status

    def _begin(self, script):
        self.connect()
        self.calls.append(script)
        return self.faults.popleft() if self.faults else None

    def _faulty(self, chunks, fault):
        data = b"".join(chunks)
        if fault.kind == "damage" and data:
            at = min(fault.after_bytes, len(data) - 1)
            yield data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        elif fault.kind == "cut":
            yield data[: fault.after_bytes]
            raise self._lost("cut")
        else:
            yield data

    def _lost(self, why):
        self._connected = False
        return ConnectionLost(f"the connection to {self.name} broke: {why}")


class _Chunks:
    def __init__(self, into):
        self._into = into

    def write(self, data, /):
        self._into.append(data)
        return len(data)
