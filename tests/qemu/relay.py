"""One connection of a guest, on standard input and output, to a port of this machine.

QEMU starts this for each connection to an address that it forwards (`guestfwd=…-cmd:`)."""

import os
import select
import socket
import sys

_CHUNK = 65536


def main() -> None:
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as server:
        ends = {0: server.fileno(), server.fileno(): 1}
        while True:
            for ready in select.select(list(ends), [], [])[0]:
                data = os.read(ready, _CHUNK)
                if not data:
                    return
                while data:
                    data = data[os.write(ends[ready], data) :]


if __name__ == "__main__":
    main()
