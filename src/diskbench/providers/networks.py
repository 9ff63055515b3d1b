"""The network between this machine and a rented one: networks and endpoints that the user gives,
the proxy of the environment, and the public address of this machine.

The proxy (HTTPS_PROXY, HTTP_PROXY, NO_PROXY, in upper or lower case) is for what diskbench sends
itself and for SDKs that do not read it. boto3, azure-core and google-auth do.
"""

import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3

from diskbench.errors import HostUnavailable
from diskbench.model.options import RentSpec
from diskbench.providers.error_table import refused

LOOPBACK = "127.0.0.0/8"
"""The network from which the guests of an emulator on this machine are reached."""


def check_cidr(text: str) -> str:
    """Return `text` if it is a network or an address; raises InvalidValue otherwise."""
    try:
        return str(ipaddress.ip_network(text))
    except ValueError as error:
        raise refused("no network", text=text, error=error) from None


def is_loopback(url: str) -> bool:
    """Whether an endpoint is on this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


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
        raise refused("no HTTP proxy", scheme=parts.scheme.upper())
    login = {}
    if proxy.username is not None:
        known = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
        login = urllib3.make_headers(proxy_basic_auth=known)
    return Proxy(host, port or (443 if proxy.scheme == "https" else 80), login)


def pool_for(url: str) -> urllib3.PoolManager:
    """Connections to `url` by the proxy of the environment, which urllib3 does not read by itself.
    Raises InvalidValue as `proxy_for`."""
    proxy = proxy_for(url)
    if proxy is None:
        return urllib3.PoolManager()
    return urllib3.ProxyManager(f"http://{proxy.host}:{proxy.port}", proxy_headers=proxy.headers)


URL = "https://checkip.amazonaws.com"
"""Amazon's own service: it answers with the caller's address, in one line."""
_TIMEOUT_S = 5.0
_TRIES = 3


def caller_cidr() -> str:
    """This machine's public address as a network of one address. Raises HostUnavailable, and
    InvalidValue where only a proxy's address could be seen."""
    proxy = proxy_for(URL)
    if proxy is not None:
        raise refused("address behind a proxy", proxy=proxy, hostname=urlsplit(URL).hostname)
    advice = "name the network from which SSH is allowed: --ssh-cidr 203.0.113.7/32"
    try:
        answer = urllib3.PoolManager().request("GET", URL, timeout=_TIMEOUT_S, retries=_TRIES)
        return str(ipaddress.ip_network(answer.data.decode("ascii").strip()))
    except urllib3.exceptions.HTTPError as error:
        raise HostUnavailable(f"no answer from {URL}: {error}", advice=advice) from error
    except ValueError as error:
        raise HostUnavailable(f"{URL} gave no address: {error}", advice=advice) from error


def check_webhook(url: str) -> str:
    """The host of a webhook. Raises InvalidValue for a URL that is none."""
    host = urlsplit(url).hostname
    if urlsplit(url).scheme not in {"http", "https"} or not host:
        raise refused("no webhook")
    return host


def post_json(url: str, document: Mapping[str, object]) -> None:
    """Send a document to a webhook, through the proxy of the environment. Raises InvalidValue for
    a URL that is none, and HostUnavailable if nothing took it; neither shows more of the URL than
    its host, because its path is the secret."""
    host = check_webhook(url)
    advice = "the changes are printed above; check that the webhook still exists, then repeat"
    try:
        pool = pool_for(url)
        answer = pool.request("POST", url, json=document, timeout=_TIMEOUT_S, retries=False)
    except urllib3.exceptions.HTTPError as error:
        words = f"no answer from the webhook at {host}: {type(error).__name__}"
        raise HostUnavailable(words, advice=advice) from None
    if answer.status >= 300:
        raise HostUnavailable(f"the webhook at {host} answered {answer.status}", advice=advice)


def ssh_cidr(spec: RentSpec, private: str | None, ask_caller: Callable[[], str]) -> str | None:
    """The network from which SSH is admitted; None where the user's own group or rules decide.
    `private` is the endpoint of a private cloud, which may see this machine at another address.

    Raises InvalidValue where the user must give the network, and whatever `ask_caller` raises.
    """
    if spec.security_group is not None:
        return None
    if spec.ssh_cidr is not None:
        return check_cidr(spec.ssh_cidr)
    if private is None:
        return check_cidr(ask_caller())
    if is_loopback(private):
        return LOOPBACK
    raise refused("no network of SSH", private=private)
