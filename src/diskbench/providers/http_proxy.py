"""The proxy of the environment (HTTPS_PROXY, HTTP_PROXY, NO_PROXY, in upper or lower case) for what
diskbench sends itself and for SDKs that do not read it. boto3, azure-core and google-auth do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3

from diskbench.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Proxy:
    """A proxy. `headers` may hold its password."""

    host: str
    port: int
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


def proxy_for(url: str) -> Proxy | None:
    """The proxy for requests to `url`; None where there is none. Raises InvalidValue for a value
    that is no proxy, without showing it: it may hold a password."""
    parts = urlsplit(url)
    configured = getproxies().get(parts.scheme)
    if not configured or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    try:
        proxy = urlsplit(configured if "://" in configured else f"http://{configured}")
        host, port = proxy.hostname, proxy.port
    except ValueError:
        host, port, proxy = None, None, urlsplit("")
    if host is None or proxy.scheme not in {"http", "https"}:
        raise InvalidValue(
            f"{parts.scheme.upper()}_PROXY is not an HTTP proxy",
            advice="set it to http://HOST:PORT, or name the host in NO_PROXY",
        )
    login = {}
    if proxy.username is not None:
        known = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
        login = urllib3.make_headers(proxy_basic_auth=known)
    return Proxy(host, port or (443 if proxy.scheme == "https" else 80), login)


def pool_for(url: str) -> urllib3.PoolManager:
    """A pool of connections for requests to `url`, through its proxy where there is one."""
    proxy = proxy_for(url)
    if proxy is None:
        return urllib3.PoolManager()
    where = f"[{proxy.host}]" if ":" in proxy.host else proxy.host
    return urllib3.ProxyManager(f"http://{where}:{proxy.port}", proxy_headers=dict(proxy.headers))
