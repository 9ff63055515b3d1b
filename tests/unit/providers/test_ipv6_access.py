"""A machine that has an IPv6 address alone is reached as any other."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest
from pydantic import SecretBytes

from diskbench.errors import DiskbenchError
from diskbench.hosts.connect import ssh_host
from diskbench.hosts.ssh_config import resolve
from diskbench.providers.keys import lease_keys, write_access


@pytest.fixture
def keys():
    return lease_keys(SecretBytes(b"0" * 32), "one")


def test_its_address_stands_in_the_configuration(keys, tmp_path: Path) -> None:
    access = write_access("one", keys, tmp_path / "one", address="2001:db8::7", user="ubuntu")
    route = resolve("ubuntu@2001:db8::7", access.config)
    assert (route.hostname, route.port, route.user) == ("2001:db8::7", 22, "ubuntu")
    assert route.key_name == "one"


def test_it_is_connected_to(keys, tmp_path: Path) -> None:
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as server:
        port = server.getsockname()[1]
        heard: list[str] = []

        def serve() -> None:
            client, address = server.accept()
            with client:
                heard.append(address[0])

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        access = write_access(
            "one", keys, tmp_path / "one", address="fd00::7", user="ubuntu", port=port
        )
        config = Path(access.config)
        config.write_text(config.read_text().replace("fd00::7", "::1"))
        host = ssh_host("ubuntu@::1", access.config)
        with pytest.raises(DiskbenchError):  # no SSH server is there
            host.connect()
        host.close()
        thread.join(200)
    assert heard == ["::1"]
