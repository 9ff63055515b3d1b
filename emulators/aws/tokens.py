"""Client tokens: the same request twice is done once, another one with the same token is refused.

EC2 User Guide, "Ensuring idempotency in Amazon EC2 API requests": a token counts within a region
and for all parameters; what failed did not use it up.
"""

import json

from emulators.aws.call import Answer, Call, Proceed, Refusal
from emulators.aws.cloud import Cloud


def hook(cloud: Cloud, call: Call, proceed: Proceed) -> Answer:
    """Answer a repeated request as the first one."""
    token = call.params.get("ClientToken") if call.service == "ec2" else None
    if not token or call.dry:
        return proceed()
    key = (call.region, call.action, token)
    asked = json.dumps(call.params, sort_keys=True, default=str)
    if key in cloud.tokens.seen:
        before, answer = cloud.tokens.seen[key]
        if before != asked:
            raise Refusal(
                "IdempotentParameterMismatch",
                "Arguments on this idempotent request are inconsistent with arguments used in "
                "previous request(s).",
            )
        return answer
    answer = proceed()
    if answer[0] < 300:
        cloud.tokens.seen[key] = (asked, answer)
    return answer
