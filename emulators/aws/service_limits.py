"""Limits of one call: how many values a filter, how many ids a list may have.

"The maximum number of filter values specified on a single call is 200", FilterLimitExceeded
(gjbae1212/gossm issue 47, 2021-10-06); filter values have at most 255 characters (ansible issue
84327, 2024-11-18); DescribeInstanceTypes takes at most 100 types, tags at most 50 a resource, and
CreateTags at most 1,000 resources (botocore 1.44.5, ec2 service model; EC2 User Guide, "Tag
restrictions").
"""

from emulators.aws.call import Answer, Call, Proceed, Refusal
from emulators.aws.cloud import Cloud

FILTER_VALUES, FILTER_CHARACTERS = 200, 255
INSTANCE_TYPES, TAGS, TAGGED = 100, 50, 1000


def hook(cloud: Cloud, call: Call, proceed: Proceed) -> Answer:  # noqa: ARG001 - a hook's form
    """Refuse what is too much for one call."""
    if call.service == "ec2":
        _check(call)
    return proceed()


def _check(call: Call) -> None:
    values = [value for one in call.params.get("Filters", []) for value in one.get("Values", [])]
    if len(values) > FILTER_VALUES:
        raise Refusal(
            "FilterLimitExceeded",
            f"The maximum number of filter values specified on a single call is {FILTER_VALUES}",
        )
    if any(len(value) > FILTER_CHARACTERS for value in values):
        raise Refusal(
            "FilterLimitExceeded",
            f"The maximum length for a filter value is {FILTER_CHARACTERS} characters",
        )
    if len(call.params.get("InstanceTypes", [])) > INSTANCE_TYPES:
        raise Refusal(
            "InvalidParameterValue", f"The maximum number of instance types is {INSTANCE_TYPES}"
        )
    for one in call.params.get("TagSpecifications", []):
        if len(one.get("Tags", [])) > TAGS:
            raise Refusal("TagLimitExceeded", f"More than {TAGS} tags specified")
    if len(call.params.get("Resources", [])) > TAGGED:
        raise Refusal("InvalidParameterValue", f"At most {TAGGED} resources are tagged in a call")
