"""Where requests meet the hooks: around the one method by which moto calls any action."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from moto.core.exceptions import ServiceException

from emulators.aws import (
    attachments,
    deletions,
    dry_run,
    images,
    instances,
    lag,
    launch_rules,
    rights,
    service_limits,
    service_model,
    tokens,
)
from emulators.aws.call import Answer, Call, Proceed, Refusal, refused
from emulators.aws.cloud import Cloud
from emulators.aws.faults import not_enabled

if TYPE_CHECKING:
    from moto.core.responses import BaseResponse

GOVERNED = frozenset({"ec2", "iam", "kms", "ssm", "sts"})


def _noted(cloud: Cloud, call: Call, proceed: Proceed) -> Answer:
    """Note every request; refuse what is to be refused."""
    cloud.faults.note(call)
    cloud.faults.check_credentials(call)
    if call.region in cloud.not_enabled:
        raise not_enabled(call.service)
    if call.service == "ec2":
        cloud.faults.check_refusals(call)
    cloud.faults.meet("lost", call.action)
    answer = proceed()
    cloud.faults.meet("done", call.action)
    return answer


Hook = Callable[[Cloud, Call, Proceed], Answer]
HOOKS: tuple[Hook, ...] = (
    _noted, service_model.hook, service_limits.hook, images.hook, rights.hook, dry_run.hook,
    tokens.hook, lag.hook, launch_rules.hook, deletions.hook, attachments.hook, instances.hook,
)  # fmt: skip
"""In the order in which a request passes them."""


@contextlib.contextmanager
def installed(cloud: Cloud) -> Iterator[None]:
    """moto behaves as the cloud says until the block ends; its state is new before and after."""
    from moto.core.responses import BaseResponse
    from moto.ec2.models import elastic_network_interfaces
    from moto.ec2.models.elastic_block_store import Volume, VolumeAttachment
    from moto.ec2.models.instances import Instance

    original = BaseResponse.call_action

    def call_action(response: BaseResponse) -> Answer:
        if response.service_name not in GOVERNED or not response._get_action():
            return original(response)
        with cloud.lock:
            call = _read(response)
            return _answered(cloud, call, partial(original, response))

    status = vars(Volume)["status"].fget
    replaced = (
        (BaseResponse, "call_action", call_action),
        *images.lightened(),
        # An address is told when the machine has one, and never one of the internet's.
        (elastic_network_interfaces, "random_public_ip", lambda: None),
        (Instance, "instance_status", property(_checks)),
        (Instance, "system_status", property(_checks)),
        (Volume, "status", property(lambda v: getattr(v, "emulated_status", None) or status(v))),
        (VolumeAttachment, "delete_on_termination", property(_goes_with_its_instance)),
    )
    forget_everything()
    with contextlib.ExitStack() as stack:
        for owner, name, value in replaced:
            stack.enter_context(patch.object(owner, name, value, create=True))
        try:
            yield
        finally:
            forget_everything()


def _read(response: BaseResponse) -> Call:
    if not response.automated_parameter_parsing:
        response.parse_parameters(response.normalized_request)
    assert response.service_name is not None
    return Call(
        service=response.service_name,
        action=response._get_action(),
        region=response.region,
        access_key=response.access_key,
        params=response.params,
        response=response,
    )


def _answered(cloud: Cloud, call: Call, proceed: Proceed) -> Answer:
    try:
        answer = _through(HOOKS, cloud, call, proceed)
        service_model.check_answer(cloud, call, answer)
        return answer
    except ServiceException as error:
        return refused(call, error)
    except NotImplementedError:
        return refused(
            call, Refusal("UnsupportedOperation", f"{call.action} is not emulated here.")
        )


def _through(hooks: Sequence[Hook], cloud: Cloud, call: Call, proceed: Proceed) -> Answer:
    if not hooks:
        return proceed()
    return hooks[0](cloud, call, partial(_through, hooks[1:], cloud, call, proceed))


def _checks(instance: Any) -> dict[str, Any]:
    if instance.state_code != instances.CODES["running"]:
        return {"Status": "not-applicable"}
    status = getattr(instance, "emulated_checks", "ok")
    detail = {"ok": "passed"}.get(status, status)
    return {"Status": status, "Details": [{"Name": "reachability", "Status": detail}]}


def _goes_with_its_instance(attachment: Any) -> bool:
    block = attachment.instance.block_device_mapping.get(attachment.device)
    return bool(block and block.delete_on_termination)


def forget_everything() -> None:
    """moto's state is new."""
    from moto.moto_api._internal.models import moto_api_backend

    moto_api_backend.reset()
