"""NVMe disks that say of themselves what a cloud's disks say, over TCP: QEMU's own NVMe controller
has a fixed model, a fixed vendor and no vendor-specific bytes.

NVM Express Base Specification 1.4c (identify data, figures 247 and 249), NVMe over Fabrics 1.1a
(connect, properties) and NVMe/TCP Transport Specification 1.0 (PDUs). One I/O queue, no digests."""

import mmap
import socketserver
import struct
import threading
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

BLOCK = 512
_PAGE = 4096
_IC_REQ, _IC_RESP, _COMMAND, _RESPONSE, _H2C_DATA, _C2H_DATA, _R2T = 0, 1, 4, 5, 6, 7, 9
_LAST = 1 << 2
_MOST_DATA = 128 * 1024
_INVALID_OPCODE, _INVALID_FIELD = 0x01, 0x02
_CAP, _VS, _CC, _CSTS = 0x00, 0x08, 0x14, 0x1C
_CAPABILITIES = 127 | 1 << 16 | 60 << 24 | 1 << 37  # 128 entries, contiguous, 30 s, NVM
_VERSION = 0x00010200


@dataclass
class Namespace:
    """One disk: its bytes, and what Identify Namespace says beside its size, by offset."""

    data: bytearray | mmap.mmap = field(repr=False)
    identify: Mapping[int, bytes] = field(default_factory=dict)


@dataclass
class Controller:
    """One controller: what Identify Controller says, by offset, and its namespaces by number."""

    vendor: int
    serial: str
    model: str
    namespaces: Mapping[int, Namespace]
    identify: Mapping[int, bytes] = field(default_factory=dict)
    configured: int = 0

    @property
    def ready(self):
        """CSTS: ready when enabled; a shutdown is complete as soon as it is asked for."""
        return (self.configured & 1) | (2 << 2 if self.configured >> 14 & 3 else 0)


class _CommandError(Exception):
    """A command that ends with a status other than success."""

    def __init__(self, status):
        self.status = status


@contextmanager
def nvme_target(controllers):
    """The port at which these controllers, by their NQN, are served until the block ends."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            try:
                _Queue(self.request, controllers).serve()
            except (EOFError, ConnectionError):
                return

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


class _Queue:
    """One connection, which is one queue."""

    def __init__(self, connection, controllers):
        self.connection = connection
        self.controllers = controllers
        self.controller: Controller | None = None
        self.number = 0

    def serve(self):
        while True:
            kind, header, data = self._pdu()
            if kind == _IC_REQ:
                self._send(_IC_RESP, struct.pack("<HBBI112x", 0, 0, 0, _MOST_DATA), pdo=0)
            elif kind == _COMMAND:
                self._command(header[:64], data)
            else:
                raise EOFError

    def _command(self, entry, data):
        ident = struct.unpack_from("<H", entry, 2)[0]
        if entry[0] == 0x0C and self.number == 0:
            return  # an asynchronous event: none ever happens
        try:
            result, answer = self._run(entry, data, ident)
            status = 0
        except _CommandError as refused:
            result, answer, status = 0, b"", refused.status
        if answer:
            for at in range(0, len(answer), _MOST_DATA):
                part = answer[at : at + _MOST_DATA]
                last = _LAST if at + len(part) == len(answer) else 0
                head = struct.pack("<HHII4x", ident, 0, at, len(part))
                self._send(_C2H_DATA, head, part, flags=last, pdo=24)
        done = struct.pack("<QHHHH", result, 0, self.number, ident, status << 1)
        self._send(_RESPONSE, done, pdo=0)

    def _run(self, entry, data, ident):
        opcode = entry[0]
        if opcode == 0x7F:
            return self._fabrics(entry, data, ident), b""
        controller = self.controller
        assert controller is not None, "the first command connects"
        run = self._io if self.number else self._admin
        return run(controller, opcode, entry, data, ident)

    def _fabrics(self, entry, data, ident):
        kind = entry[4]
        if kind == 0x01:
            data = data or self._from_host(ident, 1024)
            self.number = struct.unpack_from("<H", entry, 42)[0]
            self.controller = self.controllers[data[256:512].split(b"\0")[0].decode()]
            return 1  # the controller's number
        assert self.controller is not None
        offset = struct.unpack_from("<I", entry, 44)[0]
        if kind == 0x00 and offset == _CC:
            self.controller.configured = struct.unpack_from("<I", entry, 48)[0]
            return 0
        values = {
            _CAP: _CAPABILITIES, _VS: _VERSION, _CC: self.controller.configured,
            _CSTS: self.controller.ready,
        }  # fmt: skip
        if kind != 0x04 or offset not in values:
            raise _CommandError(_INVALID_FIELD)
        return values[offset]

    def _admin(self, controller, opcode, entry, _, __):
        length = struct.unpack_from("<I", entry, 32)[0]
        if opcode == 0x06:
            return 0, _identify(controller, entry)[:length]
        if opcode == 0x02:
            return 0, bytes(length)  # log pages: nothing happened
        if opcode in {0x08, 0x18}:
            return 1, b""  # nothing to abort; alive
        if opcode in {0x09, 0x0A}:
            return 0, b""  # features as they are: one I/O queue (0's based)
        raise _CommandError(_INVALID_OPCODE)

    def _io(self, controller, opcode, entry, data, ident):
        number, first, blocks = struct.unpack_from("<4xI32xQH", entry, 0)
        there = controller.namespaces[number].data
        start, length = first * BLOCK, (blocks + 1) * BLOCK
        if opcode == 0x00:
            return 0, b""
        if start + length > len(there):
            raise _CommandError(0x80)  # LBA out of range
        if opcode == 0x02:
            return 0, bytes(there[start : start + length])
        if opcode == 0x01:
            there[start : start + length] = data or self._from_host(ident, length)
            return 0, b""
        raise _CommandError(_INVALID_OPCODE)

    def _from_host(self, ident, length):
        """Data that did not come with its command."""
        self._send(_R2T, struct.pack("<HHII4x", ident, ident, 0, length), pdo=0)
        got = b""
        while len(got) < length:
            kind, _, data = self._pdu()
            if kind != _H2C_DATA:
                raise EOFError
            got += data
        return got

    def _pdu(self):
        """Type, header after the common one, and data of the next PDU."""
        kind, _, size, offset, whole = struct.unpack("<BBBBI", self._exactly(8))
        rest = self._exactly(whole - 8)
        return kind, rest[: size - 8], rest[offset - 8 :] if offset else b""

    def _exactly(self, count):
        got = b""
        while len(got) < count:
            part = self.connection.recv(count - len(got))
            if not part:
                raise EOFError
            got += part
        return got

    def _send(self, kind, header, data=b"", *, pdo, flags=0):
        size = 8 + len(header)
        common = struct.pack("<BBBBI", kind, flags, size, pdo, size + len(data))
        self.connection.sendall(common + header + data)


def _identify(controller, entry):
    number, what = struct.unpack_from("<I", entry, 4)[0], entry[40]
    if what == 0x01:
        return _identify_controller(controller)
    if what == 0x02:
        later = sorted(one for one in controller.namespaces if one > number)
        return struct.pack(f"<{len(later)}I", *later).ljust(_PAGE, b"\0")
    if what == 0x00 and number in controller.namespaces:
        namespace = controller.namespaces[number]
        blocks = len(namespace.data) // BLOCK
        fields = {
            0: struct.pack("<QQQ", blocks, blocks, blocks),
            130: bytes((BLOCK.bit_length() - 1,)),
            **namespace.identify,
        }
        return _laid_out(fields)
    raise _CommandError(_INVALID_FIELD)


def _identify_controller(controller):
    fields = {
        0: struct.pack("<HH", controller.vendor, controller.vendor),
        4: controller.serial.encode().ljust(20),
        24: controller.model.encode().ljust(40),
        64: b"1.0".ljust(8),
        77: bytes((5,)),  # transfers of up to 128 KiB
        78: struct.pack("<HI", 1, _VERSION),
        111: bytes((1,)),  # an I/O controller
        258: bytes((3, 0)),  # aborts and asynchronous events, 0's based
        320: struct.pack("<H", 10),  # keep-alives in steps of a second
        512: struct.pack("<BBHI", 0x66, 0x44, 128, max(controller.namespaces)),
        536: struct.pack("<I", 1),  # scatter-gather lists
        1792: struct.pack("<IIH", 4, 1, 0),  # capsules without data
        **controller.identify,
    }
    return _laid_out(fields)


def _laid_out(fields):
    page = bytearray(_PAGE)
    for at, value in fields.items():
        page[at : at + len(value)] = value
    return bytes(page)
