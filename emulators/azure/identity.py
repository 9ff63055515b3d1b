"""Where azure-identity gets its tokens: an authority that knows every client by its secret.

The tenant is `adfs`, as on Azure Stack Hub: for any other, MSAL asks login.microsoftonline.com
whether the authority is one.
"""

import re
from typing import Any
from urllib.parse import parse_qs

from emulators.azure.call import Answer, Refusal
from emulators.azure.cloud import Cloud

TENANT = "adfs"
CLIENT = "00000000-0000-0000-0000-0000000000c1"
SECRET = "no-secret"  # noqa: S105 - whoever knows it can reach this machine's loopback already
_TOKEN = "emulated-token-of-"  # noqa: S105
_DISCOVERY = re.compile(r"/(?P<tenant>[^/]+)(/v2\.0)?/\.well-known/openid-configuration")
_GRANT = re.compile(r"/(?P<tenant>[^/]+)/oauth2(/v2\.0)?/token")


def answer(cloud: Cloud, method: str, path: str, body: bytes, base: str) -> Answer | None:
    """What the authority answers; None where it is not asked."""
    if found := _DISCOVERY.fullmatch(path):
        return Answer(200, _endpoints(f"{base}/{found['tenant']}"))
    if method == "POST" and _GRANT.fullmatch(path):
        return _grant(cloud, body)
    return None


def client_of(token: str | None) -> str:
    """Whose token it is. Raises Refusal where it is none of ours."""
    if token is None:
        message = "Authentication failed. The 'Authorization' header is missing."
        raise Refusal("AuthenticationFailed", message, status=401)
    if not token.startswith(_TOKEN):
        raise Refusal("InvalidAuthenticationToken", "The access token is invalid.", status=401)
    return token.removeprefix(_TOKEN)


def token_for(client: str) -> str:
    """A token as the authority gives it."""
    return _TOKEN + client


def _grant(cloud: Cloud, body: bytes) -> Answer:
    asked = {key: values[0] for key, values in parse_qs(body.decode()).items()}
    client = asked.get("client_id", "")
    if asked.get("client_secret") != SECRET:
        return _denied("invalid_client", "AADSTS7000215: Invalid client secret provided.", 7000215)
    if cloud.faults.is_expired(client):
        message = "AADSTS7000222: The provided client secret keys are expired."
        return _denied("invalid_client", message, 7000222)
    given = {"token_type": "Bearer", "expires_in": 3599, "ext_expires_in": 3599}
    return Answer(200, given | {"access_token": token_for(client)})


def _denied(error: str, message: str, code: int) -> Answer:
    given = {"error": error, "error_description": message, "error_codes": [code]}
    return Answer(401, given)


def _endpoints(tenant: str) -> dict[str, Any]:
    return {
        "issuer": tenant,
        "token_endpoint": f"{tenant}/oauth2/token",
        "authorization_endpoint": f"{tenant}/oauth2/authorize",
        "device_authorization_endpoint": f"{tenant}/oauth2/devicecode",
        "token_endpoint_auth_methods_supported": ["client_secret_post"],
    }
