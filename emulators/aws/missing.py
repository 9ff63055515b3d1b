"""Services that moto lacks or has in part, where diskbench may ask: prices, quotas, metrics.

Answered before moto sees them. The quotas are AWS's own codes (Service Quotas, "Amazon EC2" and
"Amazon EBS", 2026) with defaults of a new account; the price list is empty.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any

from emulators.aws import cloudwatch
from emulators.aws.call import Refusal
from emulators.aws.cloud import Cloud
from emulators.aws.policies import Demand
from emulators.aws.rights import OWNER_KEY, check

QUOTAS = {
    ("ec2", "L-1216C47A"): ("Running On-Demand Standard instances", 64.0),
    ("ec2", "L-34B43A08"): ("All Standard Spot Instance Requests", 64.0),
    ("ebs", "L-D18FCD1D"): ("Storage for General Purpose SSD (gp2) volumes, in TiB", 50.0),
    ("ebs", "L-7A658B76"): ("Storage for General Purpose SSD (gp3) volumes, in TiB", 50.0),
    ("ebs", "L-B3A130E6"): ("IOPS for Provisioned IOPS SSD (io1) volumes", 300_000.0),
}

_PREFIXES = {
    "AWSPriceListService": "pricing",
    "GraniteServiceVersion20100801": "cloudwatch",
    "ServiceQuotasV20190624": "servicequotas",
}
"""What the target of a request begins with → the service's prefix in IAM."""

Respond = Callable[[str, list[tuple[str, str]]], Any]
App = Callable[[dict[str, Any], Respond], Iterable[bytes]]


def answering(app: App, cloud: Cloud) -> App:
    """`app`, with answers of our own to what it does not know."""

    def application(environ: dict[str, Any], respond: Respond) -> Iterable[bytes]:
        target = environ.get("HTTP_X_AMZ_TARGET", "")
        service, _, action = target.partition(".")
        if service not in _PREFIXES:
            return app(environ, respond)
        length = int(environ.get("CONTENT_LENGTH") or 0)
        asked = json.loads(environ["wsgi.input"].read(length) or b"{}")
        status, answer = _denied(cloud, environ, target) or _answer(cloud, action, asked)
        body = json.dumps(answer).encode()
        headers = [
            ("Content-Type", "application/x-amz-json-1.1"),
            ("Content-Length", str(len(body))),
        ]
        respond(status, headers)
        return [body]

    return application


def _denied(
    cloud: Cloud, environ: dict[str, Any], target: str
) -> tuple[str, dict[str, Any]] | None:
    """The refusal of a caller whose policy lacks the action."""
    service, _, action = target.partition(".")
    if OWNER_KEY in environ.get("HTTP_AUTHORIZATION", ""):
        return None
    prefix = _PREFIXES[service]
    try:
        with cloud.lock:
            check(cloud, [Demand(f"{prefix}:{action}", "*")], prefix)
    except Refusal as error:
        return f"{error.status} Bad Request", {"__type": error.code, "Message": error.message}
    return None


def _answer(cloud: Cloud, action: str, asked: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    service = asked.get("ServiceCode", "")
    match action:
        case "GetProducts":
            return "200 OK", {"FormatVersion": "aws_v1", "PriceList": []}
        case "GetMetricData":
            with cloud.lock:
                return "200 OK", {"MetricDataResults": cloudwatch.results(cloud, asked)}
        case "GetServiceQuota":
            quota = _quota(service, asked.get("QuotaCode", ""))
            if quota is not None:
                return "200 OK", {"Quota": quota}
            return "400 Bad Request", {"__type": "NoSuchResourceException", "Message": "no quota"}
    return "400 Bad Request", {"__type": "UnknownOperationException", "Message": action}


def _quota(service: str, code: str) -> dict[str, Any] | None:
    if (service, code) not in QUOTAS:
        return None
    name, value = QUOTAS[service, code]
    return {
        "ServiceCode": service, "QuotaCode": code, "QuotaName": name, "Value": value,
        "Unit": "None", "Adjustable": True, "GlobalQuota": False,
    }  # fmt: skip
