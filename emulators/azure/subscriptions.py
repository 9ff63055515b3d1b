"""Subscriptions, their locations, and the resource providers that they are registered with."""

from emulators.azure.call import Answer, Call, Refusal
from emulators.azure.cloud import Cloud, Route

LOCATIONS = {
    "eastus": "East US",
    "eastus2": "East US 2",
    "westus3": "West US 3",
    "westus": "West US",
}
ZONAL = {"eastus", "eastus2", "westus3"}
"""Where there are zones 1, 2 and 3."""
_PROVIDERS = {
    "Microsoft.Compute", "Microsoft.Network", "Microsoft.DevTestLab", "Microsoft.Authorization",
    "Microsoft.ManagedIdentity", "Microsoft.Resources",
}  # fmt: skip


def check_location(location: str | None, kind: str) -> str:
    """The location's own name. Raises Refusal for one that is not there."""
    if location is None:
        message = "The request content is missing the required property 'location'."
        raise Refusal("LocationRequired", message)
    name = location.lower().replace(" ", "")
    if name not in LOCATIONS:
        raise Refusal(
            "LocationNotAvailableForResourceType",
            f"The provided location '{location}' is not available for resource type '{kind}'. List "
            f"of available regions for the resource type is '{','.join(LOCATIONS)}'.",
        )
    return name


def _provider(cloud: Cloud, call: Call) -> Answer:
    name = _namespace(call)
    identity = f"/subscriptions/{call.names['sub']}/providers/{name}"
    state = cloud.faults.registrations.get(name, "Registered")
    shown = {"id": identity, "namespace": name, "registrationState": state}
    return Answer(200, shown | {"registrationPolicy": "RegistrationRequired", "resourceTypes": []})


def _namespace(call: Call) -> str:
    asked = call.names["provider"].lower()
    name = next((one for one in _PROVIDERS if one.lower() == asked), None)
    if name is None:
        message = f"The resource namespace '{asked}' is invalid."
        raise Refusal("InvalidResourceNamespace", message, status=404)
    return name


def check_registered(cloud: Cloud, call: Call) -> None:
    """Raise Refusal for a call to a provider that the subscription is not registered for; reading
    what there is of it needs no registration (Resource Manager, "Resolve errors for resource
    provider registration", 2024)."""
    namespace = call.action.partition("/")[0]
    state = cloud.faults.registrations.get(namespace, "Registered")
    registers = call.action.endswith("/register/action")
    if state != "Registered" and call.method in {"PUT", "POST"} and not registers:
        raise Refusal(
            "MissingSubscriptionRegistration",
            "The subscription is not registered to use namespace "
            f"'{namespace}'. See https://aka.ms/rps-not-found for how to register subscriptions.",
            status=409,
        )


def _permissions(cloud: Cloud, _: Call) -> Answer:
    """What the caller's roles allow, less what is forbidden at the moment."""
    role = cloud.faults.role
    actions = ["*"] if role is None else sorted(role)
    allowed = {"actions": actions, "notActions": cloud.faults.forbidden()}
    return Answer(200, {"value": [allowed | {"dataActions": [], "notDataActions": []}]})


def _network_usages(cloud: Cloud, call: Call) -> Answer:
    check_location(call.names["location"], "locations/usages")
    found = cloud.of("Microsoft.Network/publicIPAddresses", f"/subscriptions/{call.names['sub']}/")
    used = sum(one["location"] == call.names["location"] for one in found)
    name = {"value": "PublicIPAddresses", "localizedValue": "Public IP Addresses"}
    here = f"/subscriptions/{call.names['sub']}/providers/Microsoft.Network"
    told = {"id": f"{here}/locations/{call.names['location']}/usages/PublicIPAddresses"}
    return Answer(
        200,
        {"value": [told | {"name": name, "unit": "Count", "currentValue": used, "limit": 1000}]},
    )


ROUTES = (
    Route(
        "GET",
        "/subscriptions/{sub}/providers/Microsoft.Authorization/permissions",
        "Microsoft.Authorization/permissions/read",
        _permissions,
    ),
    Route(
        "GET",
        "/subscriptions/{sub}/providers/Microsoft.Network/locations/{location}/usages",
        "Microsoft.Network/locations/usages/read",
        _network_usages,
    ),
    Route(
        "GET",
        "/subscriptions/{sub}/providers/{provider}",
        "Microsoft.Resources/subscriptions/providers/read",
        _provider,
    ),
)
