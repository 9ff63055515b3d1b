"""A TCP proxy on 127.0.0.1 that drops, hangs or refuses connections when told to."""

import contextlib
import selectors
import socket
import struct
import threading
from collections.abc import Callable, Iterator


class FlakyProxy:
    """Forwards `port` to a server on loopback. Every method may be called from any thread and
    returns when it is done. `passed` counts bytes; past `cut_after_bytes`, once, all is reset."""

    def __init__(self, target_port: int) -> None:
        self._target = target_port
        self._listener = _bound(0)
        self._listener.listen(64)
        self.port: int = self._listener.getsockname()[1]
        self.accepted = 0
        self.passed = 0
        self.cut_after_bytes: int | None = None
        self._hung = False
        self._refuses = False
        self._pairs: dict[socket.socket, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._wake_in, self._wake_out = socket.socketpair()
        self._tasks: list[tuple[Callable[[], None], threading.Event]] = []
        self._lock = threading.Lock()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._wake_out, selectors.EVENT_READ)
        self._closed = False
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def drop(self) -> None:
        self._do(self._drop_all)

    def refuse(self) -> None:
        def task() -> None:
            self._drop_all()
            with contextlib.suppress(KeyError):
                self._selector.unregister(self._listener)
            self._listener.close()
            self._listener = _bound(self.port)  # nobody else may have the port meanwhile
            self._refuses = True

        self._do(task)

    def hang(self) -> None:
        """Keep every connection open, new ones too, and let nothing pass."""

        def task() -> None:
            self._hung = True

        self._do(task)

    def heal(self) -> None:
        def task() -> None:
            if self._hung:
                self._hung = False
                self._drop_all()
            if self._refuses:
                self._refuses = False
                self._listener.listen(64)
                self._selector.register(self._listener, selectors.EVENT_READ)

        self._do(task)

    def close(self) -> None:
        def task() -> None:
            self._closed = True
            self._drop_all()

        self._do(task)
        self._thread.join()
        self._listener.close()
        self._wake_in.close()
        self._wake_out.close()
        self._selector.close()

    def _do(self, task: Callable[[], None]) -> None:
        done = threading.Event()
        with self._lock:
            self._tasks.append((task, done))
        self._wake_in.send(b"x")
        assert done.wait(60)

    def _serve(self) -> None:
        while not self._closed:
            for key, _ in self._selector.select():
                sock = key.fileobj
                assert isinstance(sock, socket.socket)
                if sock is self._wake_out:
                    sock.recv(1)
                    with self._lock:
                        task, done = self._tasks.pop(0)
                    task()
                    done.set()
                elif sock is self._listener:
                    self._accept()
                elif not self._hung:
                    self._pass(sock)
            if self._hung:  # do not spin on sockets that nobody reads
                for sock in self._pairs:
                    with contextlib.suppress(KeyError):
                        self._selector.unregister(sock)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            client, _ = self._listener.accept()
            self.accepted += 1
            server = socket.create_connection(("127.0.0.1", self._target))
            for one, other in ((client, server), (server, client)):
                self._pairs[one] = other
                self._selector.register(one, selectors.EVENT_READ)

    def _pass(self, sock: socket.socket) -> None:
        other = self._pairs.get(sock)
        if other is None:
            return
        try:
            data = sock.recv(65536)
            if data:
                other.sendall(data)
        except OSError:
            data = b""
        self.passed += len(data)
        limit = self.cut_after_bytes
        if limit is not None and self.passed > limit:
            self.cut_after_bytes = None
            self._drop_all()
        elif not data:
            self._forget(sock)

    def _forget(self, sock: socket.socket) -> None:
        for one in (sock, self._pairs[sock]):
            with contextlib.suppress(KeyError):
                self._selector.unregister(one)
            # A linger of 0 s resets the connection: no orderly end, as when a link breaks.
            with contextlib.suppress(OSError):
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            one.close()
            self._pairs.pop(one, None)

    def _drop_all(self) -> None:
        while self._pairs:
            self._forget(next(iter(self._pairs)))


def _bound(port: int) -> socket.socket:
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("127.0.0.1", port))
    return sock


@contextlib.contextmanager
def flaky_proxy(target_port: int) -> Iterator[FlakyProxy]:
    proxy = FlakyProxy(target_port)
    try:
        yield proxy
    finally:
        proxy.close()
