"""Credentials that expire while they are in use, in every emulated cloud."""

import threading


class Expiry:
    """Which callers' credentials have expired; any thread may ask."""

    def __init__(self) -> None:
        self._expired: set[str] = set()
        self._after = float("inf")
        self._lock = threading.Lock()

    def reset(self) -> None:
        """Nobody's have expired, and nobody's will."""
        with self._lock:
            self._expired.clear()
            self._after = float("inf")

    def expire(self, after_calls: int) -> None:
        """Those in use expire after that many further calls; others work."""
        with self._lock:
            self._after = after_calls

    def counted(self, caller: str) -> bool:
        """Count a call; whether the caller's credentials have expired."""
        with self._lock:
            if self._after <= 0:
                self._expired.add(caller)
                self._after = float("inf")
            self._after -= 1
            return caller in self._expired

    def of(self, caller: str) -> bool:
        """Whether the caller's credentials have expired."""
        with self._lock:
            return caller in self._expired
