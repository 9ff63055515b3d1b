"""The SDK's pipeline for requests, without its automatic registration of resource providers.

azure-mgmt-core 1.6.0, ARMAutoResourceProviderRegistrationPolicy: it answers
MissingSubscriptionRegistration by registering the provider and asking for its state every 10 s
without a limit, and cannot be interrupted. Registration is checked before renting instead
(registration.py). Its retries are left out as well: client.py repeats.
"""

from __future__ import annotations

from typing import Any


def request_policies(credential: Any, scope: str, settings: dict[str, Any]) -> list[Any]:  # noqa: ANN401 - the SDK's classes
    """The policies of one client, in the order of azure-mgmt-compute 39.0.0."""
    from azure.core.pipeline import policies
    from azure.mgmt.core.policies import ARMChallengeAuthenticationPolicy, ARMHttpLoggingPolicy

    return [
        policies.RequestIdPolicy(),
        policies.HeadersPolicy(),
        policies.UserAgentPolicy(settings["user_agent"]),
        policies.ProxyPolicy(),
        policies.ContentDecodePolicy(),
        policies.RedirectPolicy(),
        ARMChallengeAuthenticationPolicy(credential, scope),
        policies.CustomHookPolicy(),
        policies.NetworkTraceLoggingPolicy(),
        policies.SensitiveHeaderCleanupPolicy(),
        ARMHttpLoggingPolicy(),
    ]
