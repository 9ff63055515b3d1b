"""The simulator as a process: started, told what to do, heard, ended."""

import json
import os
import queue
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from emulators.vsphere.authority import make_certificates
from emulators.vsphere.build import program

ADDRESS = "127.0.0.2"
"""Not 127.0.0.1: pyVmomi verifies no certificate there unless it is made to."""
USER = "administrator@vsphere.local"
PASSWORD = "no-secret"  # noqa: S105 - whoever knows it can reach this machine's loopback already
_ANSWER_S = 120


class Simulator:
    """A running simulator. `on_machine` is called with what it tells of a machine, in a thread of
    its own, one after the other."""

    def __init__(
        self, state: Path, on_machine: Callable[[dict[str, Any]], None], port: int
    ) -> None:
        self.ca_file, server_file = make_certificates(state / "tls", ADDRESS)
        self._on_machine = on_machine
        self._answers: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [
                program(), "-listen", f"{ADDRESS}:{port}", "-certificate", server_file,
                "-user", USER,
            ],
            env=os.environ | {"VSPHERE_PASSWORD": PASSWORD, "TMPDIR": str(state)},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        up = self._answers.get(timeout=_ANSWER_S)
        self.endpoint = f"https://{up['listening']}"

    def order(self, do: str, **more: Any) -> Any:
        """Have it do something; what it answers when that is done."""
        assert self._process.stdin is not None
        with self._lock:
            self._process.stdin.write(json.dumps({"do": do, **more}) + "\n")
            self._process.stdin.flush()
            return self._answers.get(timeout=_ANSWER_S)["answer"]

    def close(self) -> None:
        """End it, by closing what it reads."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=_ANSWER_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._listener.join()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            told = json.loads(line)
            if "vm" in told:
                self._on_machine(told)
            else:
                self._answers.put(told)
