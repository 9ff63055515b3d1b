"""The SDK's pipeline for requests, without its automatic registration of resource providers.

azure-mgmt-core 1.6.0, ARMAutoResourceProviderRegistrationPolicy: it answers
MissingSubscriptionRegistration by registering the provider and asking for its state every 10 s
without a limit, and cannot be interrupted. Registration is checked before renting instead
(registration.py). Its retries are left out as well: client.py repeats.
"""

from __future__ import annotations

from typing import Any

from diskbench.providers import recorder


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
        *([_recording_policy()] if recorder.is_recording() else []),
    ]


def _recording_policy() -> Any:  # noqa: ANN401 - a policy of azure.core, imported with it
    """The policy that keeps the exchanges of a client for a recording in progress."""
    from azure.core.pipeline.policies import SansIOHTTPPolicy

    class Recorded(SansIOHTTPPolicy):  # type: ignore[type-arg]
        def on_response(self, request: Any, response: Any) -> None:  # noqa: ANN401 - azure.core's
            http_request, answer = request.http_request, response.http_response
            if hasattr(answer, "read"):
                answer.read()  # an answer that is streamed has no content yet
            body = http_request.content if hasattr(http_request, "content") else http_request.body
            recorder.note(
                method=http_request.method,
                url=http_request.url,
                sent=http_request.headers,
                asked=body if isinstance(body, str | bytes) else None,
                status=answer.status_code,
                headers=answer.headers,
                body=answer.content if hasattr(answer, "content") else answer.body(),
            )

    return Recorded()
