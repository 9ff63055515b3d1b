"""EC2 is eventually consistent: what was made is absent from the first looks at it, and what was
deleted is still listed for as many.

Amazon EC2 Developer Guide, "Eventual consistency in the Amazon EC2 API". Looks, not seconds: tests
depend on no clock. The account's owner sees everything as it is.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

from emulators.aws.call import Answer, Call, Proceed, Refusal
from emulators.aws.cloud import Cloud, Name
from emulators.aws.rights import OWNER_KEY, strings

_LISTS = {
    "DescribeInstances": "instance",
    "DescribeInstanceStatus": "instance",
    "DescribeVolumes": "volume",
    "DescribeSecurityGroups": "group",
    "DescribeKeyPairs": "key",
    "DescribeNetworkInterfaces": "interface",
}
_CODES = {
    "instance": "InvalidInstanceID.NotFound",
    "volume": "InvalidVolume.NotFound",
    "group": "InvalidGroup.NotFound",
    "key": "InvalidKeyPair.NotFound",
    "interface": "InvalidNetworkInterfaceID.NotFound",
}
_MAKES = ("RunInstances", "CreateVolume", "CreateSecurityGroup", "ImportKeyPair")
_DELETES = ("DeleteVolume", "DeleteSecurityGroup", "DeleteKeyPair")


def hook(cloud: Cloud, call: Call, proceed: Proceed) -> Answer:
    """Answer as a cloud that has not caught up yet."""
    if cloud.lag <= 0 or call.service != "ec2" or call.access_key == OWNER_KEY:
        return proceed()
    kind = _LISTS.get(call.action)
    if call.action != "ImportKeyPair":
        named = [name for name in _named(call) if _look(cloud.late.new, name)]
        if named and call.action == "DeleteKeyPair":
            return call.answer({"Return": True})  # EC2 says so of a pair that it does not know, too
        for name in named:
            raise Refusal(_CODES[name[1]], f"The {name[1]} '{name[2]}' does not exist")
    if kind is not None:
        with _as_listed(cloud, call, kind):
            return proceed()
    before = things(call.ec2)
    states = {i.id: i._state for i in call.ec2.all_instances()}
    answer = proceed()
    if answer[0] < 300:
        _note(cloud, call, before, states)
    return answer


def _note(
    cloud: Cloud, call: Call, before: dict[tuple[str, str], Any], states: dict[str, Any]
) -> None:
    after = things(call.ec2)
    if call.action in _MAKES:
        for made in after.keys() - before.keys():
            cloud.late.new[call.region, *made] = cloud.lag
    if call.action in _DELETES:
        for gone in before.keys() - after.keys():
            cloud.late.gone[call.region, *gone] = (cloud.lag, before[gone])
    if call.action == "TerminateInstances":
        for identifier in call.params["InstanceIds"]:
            name = (call.region, "instance", identifier)
            if states[identifier].name == "running":
                cloud.late.states.setdefault(name, (cloud.lag, states[identifier]))


def _named(call: Call) -> list[Name]:
    """The things that the call names by id, or by name."""
    values = {value for _, value in strings(call.params)}
    return [(call.region, *one) for one in things(call.ec2) if one[1] in values]


def _look(left: dict[Name, int], name: Name) -> bool:
    """Somebody looked; is it still late?"""
    if name not in left:
        return False
    left[name] -= 1
    if left[name] < 0:
        del left[name]
        return False
    return True


@contextlib.contextmanager
def _as_listed(cloud: Cloud, call: Call, kind: str) -> Iterator[None]:
    """moto's state without what is not listed yet, and with what is still listed."""
    late, ec2 = cloud.late, call.ec2
    new = [name for name in list(late.new) if name[:2] == (call.region, kind)]
    hidden = [(name, _take(ec2, kind, name[2])) for name in new if _look(late.new, name)]
    shown = []
    for name, (looks, thing) in list(late.gone.items()):
        if name[:2] != (call.region, kind):
            continue
        if looks <= 0:
            del late.gone[name]
            continue
        late.gone[name] = (looks - 1, thing)
        _put(ec2, kind, thing)
        shown.append(name[2])
    told = _old_states(cloud, call) if kind == "instance" else []
    try:
        yield
    finally:
        for _, thing in hidden:
            if thing is not None:
                _put(ec2, kind, thing)
        for identifier in shown:
            _take(ec2, kind, identifier)
        for instance, old, true in told:
            if instance._state is old:
                instance._state = true


def _old_states(cloud: Cloud, call: Call) -> list[tuple[Any, Any, Any]]:
    """Instances that end are still told to run."""
    told = []
    for name, (looks, old) in list(cloud.late.states.items()):
        if looks <= 0:
            del cloud.late.states[name]
            continue
        cloud.late.states[name] = (looks - 1, old)
        found = [i for i in call.ec2.all_instances() if i.id == name[2]]
        for instance in found:
            told.append((instance, old, instance._state))
            instance._state = old
    return told


def things(ec2: Any) -> dict[tuple[str, str], Any]:
    """Kind and id of everything that may be late, as moto keeps it."""
    return {
        **{("instance", i.id): r for r in ec2.reservations.values() for i in r.instances},
        **{("volume", name): volume for name, volume in ec2.volumes.items()},
        **{("group", g): group for held in ec2.groups.values() for g, group in held.items()},
        **{("key", name): pair for name, pair in ec2.key_pairs.items()},
        **{("interface", name): nic for name, nic in ec2.enis.items()},
    }


def _take(ec2: Any, kind: str, identifier: str) -> Any:
    """Take a thing out of moto's state, and return it; None where it is gone already."""
    if kind == "instance":
        for name, held in list(ec2.reservations.items()):
            if any(instance.id == identifier for instance in held.instances):
                return ec2.reservations.pop(name)
        return None
    if kind == "group":
        for held in ec2.groups.values():
            if identifier in held:
                return held.pop(identifier)
        return None
    return _shelf(ec2, kind).pop(identifier, None)


def _put(ec2: Any, kind: str, thing: Any) -> None:
    if kind == "instance":
        ec2.reservations[thing.id] = thing
    elif kind == "group":
        ec2.groups[thing.vpc_id][thing.id] = thing
    else:
        _shelf(ec2, kind)[thing.key_name if kind == "key" else thing.id] = thing


def _shelf(ec2: Any, kind: str) -> Any:
    return {"volume": ec2.volumes, "key": ec2.key_pairs, "interface": ec2.enis}[kind]
