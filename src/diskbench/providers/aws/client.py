"""All calls to AWS: errors translated, throttled calls repeated; with the timeouts for AWS."""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from diskbench.catalog.books import opt_in_regions
from diskbench.errors import AccessDenied, DiskbenchError
from diskbench.extras import missing
from diskbench.model.rental import Scope
from diskbench.ports import RentWatch
from diskbench.providers import recorder, waits
from diskbench.providers.aws.errors import REGION_OFF, error_code, is_missing, refused, translate
from diskbench.providers.skeleton.cloud import Sessions, unless_missing
from diskbench.providers.waits import CloudTiming, Still, repeated

if TYPE_CHECKING:
    import boto3
    from botocore.loaders import Loader


@dataclass(frozen=True)
class AwsTiming(CloudTiming):
    """Seconds, as CloudTiming; `checks_s` is for the status checks of a new machine. `settle_s` is
    how long after the last create the listings are asked again before a lease counts as empty, at
    least `settle_repeats` times: EC2 is eventually consistent."""

    instance_s: float = 600.0
    volume_s: float = 300.0
    attach_s: float = 180.0
    snapshot_s: float = 14400.0
    """A snapshot of terabytes takes hours, and Fast Snapshot Restore an hour for each TiB (EBS User
    Guide)."""
    checks_s: float = 900.0
    terminate_s: float = 900.0
    delete_s: float = 300.0
    settle_s: float = 30.0
    settle_repeats: int = 4
    metric_s: float = 60.0
    """The period of CloudWatch's metrics; EBS publishes a value a minute."""


ANY_REGION = "us-east-1"
"""The region that lists all regions when none is known; every account of the public cloud has
it."""
_PREFIXES = {"service-quotas": "servicequotas"}
"""Services whose IAM prefix differs from the SDK's service name."""
_ACCOUNT = re.compile(r"(?:(?P<profile>.+)@)?(?P<id>[0-9]{12})")


@dataclass(frozen=True)
class AwsClient:
    """One AWS service in one region. `watch` is checked before a call is repeated."""

    client: Any
    service: str
    session: Aws
    timing: AwsTiming
    watch: RentWatch | None = None

    def call(self, operation: str, request: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send one request and return the answer; throttled requests are repeated with backoff and
        jitter. Each is idempotent, by a client token or by nature. Raises diskbench's errors."""
        return repeated(lambda: self._once(operation, request or {}), self.timing, self.watch)

    def listed(self, operation: str, key: str, request: dict[str, Any]) -> list[dict[str, Any]]:
        """All items of a paginated listing; `key` is the field that holds them."""
        items: list[dict[str, Any]] = []
        token: dict[str, str] = {}
        while True:
            page = self.call(operation, {**request, **token})
            items += page.get(key, [])
            if not page.get("NextToken"):
                return items
            token = {"NextToken": page["NextToken"]}

    def found(self, operation: str, key: str, request: dict[str, Any]) -> list[dict[str, Any]]:
        """As `listed`; empty where AWS says that there is no such thing (yet, or any more)."""
        return unless_missing(lambda: self.listed(operation, key, request), is_missing) or []

    def tried(
        self, operation: str, request: dict[str, Any], later: Collection[str], *, gone: bool = False
    ) -> dict[str, Any] | Still:
        """As `call`; Still with AWS's words for an error whose code is in `later`. With
        `gone`, a resource that does not exist is as good as an answer."""
        try:
            return self.call(operation, request)
        except DiskbenchError as error:
            if error_code(error) in later:
                return Still(error.message)
            if gone and is_missing(error):
                return {}
            raise

    def _once(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        from botocore.exceptions import BotoCoreError, ClientError
        from botocore.parsers import ResponseParserError

        action = f"{_PREFIXES.get(self.service, self.service)}:{camel(operation)}"
        try:
            answer: dict[str, Any] = getattr(self.client, operation)(**request)
        except (ClientError, BotoCoreError, ResponseParserError) as error:
            session = self.session
            translated = translate(error, action, profile=session.profile, decode=session.decode)
            if isinstance(translated, AccessDenied):
                session.refused.set()
                translated = session.region_told(translated, error_code(error))
            raise translated from error
        return answer


@dataclass(frozen=True)
class Aws:
    """One set of credentials in one region, at AWS's public endpoint or at `endpoint`. Threads may
    share it: clients are safe to share, and boto3's session, which is not, is locked (boto3,
    "Multithreading or multiprocessing with clients", 2026)."""

    boto: boto3.Session
    profile: str | None
    region: str
    endpoint: str | None
    refused: threading.Event = field(default_factory=threading.Event, repr=False, compare=False)
    _clients: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    _account: list[str] = field(default_factory=list, repr=False, compare=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def edge(self, service: str, timing: AwsTiming, watch: RentWatch | None = None) -> AwsClient:
        """The client of a service in this region."""
        return AwsClient(self._client(service), service, self, timing, watch)

    def decode(self, message: str) -> str | None:
        """The decoded text of an authorization message; None where decoding is not permitted."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            answer = self._client("sts").decode_authorization_message(EncodedMessage=message)
        except (ClientError, BotoCoreError):
            return None
        return str(answer["DecodedMessage"])

    def region_told(self, error: AccessDenied, code: str) -> DiskbenchError:
        """The error for refused credentials: in a region that accounts must enable, whether this
        one has is asked in a region that all have."""
        from botocore.exceptions import BotoCoreError, ClientError

        if code not in REGION_OFF or self.region not in opt_in_regions("aws"):
            return error
        home = Aws(self.boto, self.profile, ANY_REGION, self.endpoint)
        request = {"RegionNames": [self.region], "AllRegions": True}
        try:
            told = home._client("ec2").describe_regions(**request)["Regions"]
        except (ClientError, BotoCoreError):
            told = []
        states = [one.get("OptInStatus") for one in told]
        enable = f"aws account enable-region --region-name {self.region}"
        if not states:
            advice = f"{error.advice}; or enable the region, if the account has not: {enable}"
            return AccessDenied(error.message, advice=advice)
        if "not-opted-in" not in states:
            return error
        return refused("region not enabled", region=self.region, enable=enable)

    def account_id(self, timing: AwsTiming) -> str:
        """The account id of these credentials, asked for once; this is the first call that needs
        valid ones."""
        if not self._account:
            identity = self.edge("sts", timing).call("get_caller_identity")
            self._account.append(str(identity["Account"]))
        return self._account[0]

    def emulated_endpoint(self) -> str | None:
        """The configured endpoint when it is not one of AWS."""
        url = str(self._client("ec2").meta.endpoint_url)
        return None if is_amazon(url) else url

    def close(self) -> None:
        """Close the connections of all clients."""
        with self._lock:
            for client in self._clients.values():
                client.close()

    def _client(self, service: str) -> Any:  # noqa: ANN401 - botocore's clients are made at run time
        """One client per service: creating one reads megabytes of its model."""
        with self._lock:
            if service not in self._clients:
                self._clients[service] = self._new_client(service)
            return self._clients[service]

    def _new_client(self, service: str) -> Any:  # noqa: ANN401 - as above
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError

        config = Config(
            connect_timeout=waits.CONNECT_S,
            read_timeout=waits.ANSWER_S,
            # `call` repeats instead: botocore would repeat a lack of capacity, which EC2 sends as
            # HTTP 500.
            retries={"total_max_attempts": 1, "mode": "standard"},
            user_agent_extra="diskbench",
        )
        try:
            made: Any = self.boto.client(
                service,  # type: ignore[call-overload]
                region_name=self.region,
                endpoint_url=self.endpoint,
                config=config,
            )
        except (BotoCoreError, ValueError) as error:
            if isinstance(error, BotoCoreError):
                raise translate(error, f"{service}:*", profile=self.profile) from error
            raise refused("no endpoint", endpoint=self.endpoint, error=error) from error
        _record(made)
        return made


class AwsSessions(Sessions[Aws]):
    """The sessions of one provider, by profile, region and endpoint."""

    def at(self, profile: str | None, region: str | None, endpoint: str | None) -> Aws:
        """Credentials and region by the SDK's own chain, without any call. Raises ExtraMissing
        without the SDK, UnknownName for a profile that does not exist, InvalidValue when no region
        is known."""
        session = self.of((profile, region, endpoint), lambda: _open(profile, region, endpoint))
        # The region that the configuration names is the one that a rental's scope names later.
        return self.of((profile, session.region, endpoint), lambda: session)

    def of_scope(self, scope: Scope, timing: AwsTiming, region: str | None = None) -> Aws:
        """The credentials of a scope, verified to belong to the same account. Raises AccessDenied
        otherwise: the empty listing of another account would look like a clean one."""
        account_match = _ACCOUNT.fullmatch(scope.account or "")
        profile = account_match.group("profile") if account_match else scope.account
        aws = self.at(profile, region or scope.region, scope.endpoint)
        meant = account_match.group("id") if account_match else None
        if meant is not None and (account_id := aws.account_id(timing)) != meant:
            aws.refused.set()
            raise refused("another account", account_id=account_id, meant=meant)
        return aws


def _open(profile: str | None, region: str | None, endpoint: str | None) -> Aws:
    try:
        import boto3
        from botocore.exceptions import BotoCoreError
        from botocore.session import Session
    except ImportError as error:
        raise missing(
            "aws", "--provider aws needs the AWS SDK for Python", field="provider"
        ) from error
    core = Session()
    core.register_component("data_loader", _loader())
    try:
        session = boto3.Session(profile_name=profile, region_name=region, botocore_session=core)
        known = session.region_name
    except BotoCoreError as error:
        raise translate(error, "sts:*", profile=profile) from error
    if not known:
        raise refused("no region")
    return Aws(session, profile, known, endpoint)


@functools.cache
def _loader() -> Loader:
    """One shared reader of the SDK's service models: reading EC2's takes a third of a second, and
    `gc` queries every region."""
    from botocore.loaders import create_loader

    return create_loader()


def account_name(profile: str | None, account_id: str) -> str:
    """The account as a scope names it: `PROFILE@123456789012`, or the id alone."""
    return f"{profile}@{account_id}" if profile else account_id


def _record(client: Any) -> None:  # noqa: ANN401 - as `_new_client`
    """Have the exchanges of a client kept by a recording in progress (botocore, "Events")."""
    if not recorder.is_recording():
        return
    in_flight = threading.local()

    def sent(request: Any, **_: object) -> None:  # noqa: ANN401 - an AWSPreparedRequest
        in_flight.request = request

    def answered(response_dict: dict[str, Any] | None, **_: object) -> None:
        if response_dict is not None:
            recorder.note(
                method=in_flight.request.method,
                url=in_flight.request.url,
                sent=in_flight.request.headers,
                asked=in_flight.request.body,
                status=response_dict["status_code"],
                headers=response_dict["headers"],
                body=response_dict["body"],
            )

    client.meta.events.register("before-send", sent)
    client.meta.events.register("response-received", answered)


def camel(operation: str) -> str:
    """The API's name of an operation: `RunInstances` for `run_instances`."""
    return "".join(part.capitalize() for part in operation.split("_"))


def is_amazon(url: str) -> bool:
    """Whether an endpoint belongs to AWS, in any partition (the public cloud, China, GovCloud, the
    European sovereign cloud, isolated ones) that the SDK knows."""
    host = urlsplit(url).hostname or ""
    return any(host == domain or host.endswith(f".{domain}") for domain in _domains())


@functools.cache
def _domains() -> frozenset[str]:
    partitions = _loader().load_data("partitions")["partitions"]
    keys = ("dnsSuffix", "dualStackDnsSuffix")
    return frozenset(str(one["outputs"][key]) for one in partitions for key in keys)
