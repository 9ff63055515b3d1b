"""Marketplace images: publishers, offers, SKUs and versions.

Names: facts of PerfKitBenchmarker (2026-08-20); the Windows one is what the recordings ask for.
"""

from collections.abc import Mapping
from typing import Any

from emulators.azure.call import GROUP, Answer, Call, Refusal, not_found
from emulators.azure.cloud import Cloud, Route

IMAGES = {
    ("Canonical", "ubuntu-24_04-lts", "server"): ("24.04.202610090", "V2"),
    ("Canonical", "ubuntu-24_04-lts", "server-gen1"): ("24.04.202610090", "V1"),
    ("Canonical", "ubuntu-26_04-lts", "server"): ("26.04.202610090", "V2"),
    ("Canonical", "0001-com-ubuntu-server-jammy", "22_04-lts-gen2"): ("22.04.202610090", "V2"),
    ("Canonical", "0001-com-ubuntu-server-jammy", "22_04-lts"): ("22.04.202610090", "V1"),
    ("Debian", "debian-13", "13-gen2"): ("0.20261012.2601", "V2"),
    ("Debian", "debian-12", "12-gen2"): ("0.20261006.2258", "V2"),
    ("Debian", "debian-12", "12"): ("0.20261006.2258", "V1"),
    ("Contoso", "appliance", "basic"): ("1.0.7", "V2"),
    ("RedHat", "RHEL", "9-lvm-gen2"): ("9.6.2026100612", "V2"),
    ("MicrosoftWindowsServer", "WindowsServer", "2016-Datacenter"): ("14393.5648.230107", "V1"),
    ("MicrosoftWindowsServer", "WindowsServer", "2019-Datacenter"): ("2019.0.20190115", "V1"),
}
"""Publisher, offer, SKU → its newest version and its generation."""
PLANS = {("Contoso", "appliance", "basic"): {
    "name": "basic", "product": "appliance", "publisher": "Contoso",
}}  # fmt: skip
"""The purchase plans of images that are sold, or free under terms of their own."""
SCSI_ONLY = {"Contoso", "RedHat", "MicrosoftWindowsServer"}
"""Publishers whose images have no driver for NVMe disks. Canonical's and Debian's have one."""
OWN = {
    "/images/mine": ("V2", None),
    "/galleries/shared/images/mine/versions/1.0.0": ("V2", "SCSI, NVMe"),
}
"""Images of the user's own by the end of their ids: generation and disk controllers."""
OWN_GROUP = "golden"
_AT = "/subscriptions/{sub}/providers/Microsoft.Compute/locations/{location}/publishers"


def image_of(reference: Mapping[str, Any] | None) -> tuple[str, str, str]:
    """The version, generation and system of what `imageReference` names. Raises Refusal."""
    if reference and (own := str(reference.get("id", "")).lower()):
        found = next((one for end, one in OWN.items() if own.endswith(end)), None)
        if found is None:
            raise Refusal("NotFound", f"The Image '{own}' cannot be found.", status=404)
        return "1.0.0", found[0], "Linux"
    if not reference:
        raise Refusal(
            "InvalidParameter",
            "Required parameter 'imageReference' is missing (null).",
            target="imageReference",
        )
    asked = tuple(str(reference.get(key, "")).lower() for key in ("publisher", "offer", "sku"))
    for names, (version, generation) in IMAGES.items():
        if tuple(name.lower() for name in names) == asked:
            if reference.get("version", "latest") not in {"latest", version}:
                break
            windows = names[0].startswith("MicrosoftWindows")
            return version, generation, "Windows" if windows else "Linux"
    words = ", ".join(f"{key} '{reference.get(key)}'"
                      for key in ("publisher", "offer", "sku", "version"))  # fmt: skip
    raise Refusal(
        "PlatformImageNotFound",
        f"The platform image with {words} is not available. Verify that all fields in the storage "
        "profile are correct.",
        status=404,
        target="imageReference",
    )


def controllers_of(reference: Mapping[str, Any]) -> str:
    """The disk controllers that an image has drivers for, as its features list them."""
    if own := str(reference.get("id", "")).lower():
        listed = next((one for end, (_, one) in OWN.items() if own.endswith(end)), None)
        return listed or "SCSI"
    return "SCSI" if reference.get("publisher") in SCSI_ONLY else "SCSI, NVMe"


def plan_of(reference: Mapping[str, Any]) -> dict[str, str] | None:
    """The plan that a machine of an image must name."""
    names = tuple(str(reference.get(key, "")) for key in ("publisher", "offer", "sku"))
    return PLANS.get(names)  # type: ignore[arg-type]


def _own_image(_: Cloud, call: Call) -> Answer:
    """An image, an image definition of a gallery, or a version of one."""
    path = call.path.lower()
    if call.names["group"].lower() == OWN_GROUP:
        for end, (generation, controllers) in OWN.items():
            made = {"id": call.path, "name": call.path.rsplit("/", 1)[1], "location": "eastus"}
            if path.endswith(end) and "/versions/" in end:
                disk = {"sizeInGB": 30, "hostCaching": "None"}
                below: dict[str, Any] = {"storageProfile": {"osDiskImage": disk}}
                return Answer(200, made | {"properties": below})
            if path.endswith(end):
                disk = {"osType": "Linux", "osState": "Generalized", "diskSizeGB": 30}
                below = {"storageProfile": {"osDisk": disk}, "hyperVGeneration": generation}
                return Answer(200, made | {"properties": below})
            if "/versions/" in end and path.endswith(end.partition("/versions/")[0]):
                features = [{"name": "DiskControllerTypes", "value": controllers}]
                below = {"osType": "Linux", "hyperVGeneration": generation, "architecture": "x64"}
                return Answer(200, made | {"properties": below | {"features": features}})
    raise not_found("Microsoft.Compute/images", call.path.rsplit("/", 1)[1], call.names["group"])


def _terms(cloud: Cloud, call: Call) -> Answer:
    """Whether the terms of a plan are accepted (Microsoft.MarketplaceOrdering 2021-01-01)."""
    accepted = call.names["plan"] not in cloud.faults.refused_terms
    properties = {key: call.names[key] for key in ("publisher", "product", "plan")}
    made = {"id": call.path, "name": call.names["plan"], "type": "agreements"}
    return Answer(200, made | {"properties": properties | {"accepted": accepted}})


def _listed(_: Cloud, call: Call) -> Answer:
    """The versions of an image."""
    given = tuple(call.names[key].lower() for key in ("publisher", "offer", "sku"))
    found = [
        _shown(call, (*names, version))
        for names, (version, _gen) in IMAGES.items()
        if tuple(one.lower() for one in names) == given
    ]
    if not found:
        raise _missing(call)
    return Answer(200, found)


def _one(_: Cloud, call: Call) -> Answer:
    given = tuple(call.names[key].lower() for key in ("publisher", "offer", "sku", "version"))
    for names, (version, generation) in IMAGES.items():
        if (*(name.lower() for name in names), version) == given:
            system = "Windows" if names[0].startswith("MicrosoftWindows") else "Linux"
            shown = _shown(call, (*names, version))
            shown["properties"] = {
                "hyperVGeneration": generation,
                "architecture": "x64",
                "replicaType": "Unmanaged",
                "disallowed": {"vmDiskType": "None"},
                "automaticOSUpgradeProperties": {"automaticOSUpgradeSupported": True},
                "imageDeprecationStatus": {"imageState": "Active"},
                "features": [
                    {"name": "IsAcceleratedNetworkSupported", "value": "True"},
                    {
                        "name": "DiskControllerTypes",
                        "value": controllers_of({"publisher": names[0]}),
                    },
                    {"name": "IsHibernateSupported", "value": "True"},
                ],
                "osDiskImage": {
                    "operatingSystem": system,
                    "sizeInGb": 30,
                    "sizeInBytes": 30 * 2**30 + 512,
                },
                "dataDiskImages": [],
                **({"plan": PLANS[names]} if names in PLANS else {}),
            }
            return Answer(200, shown)
    raise _missing(call)


def _shown(call: Call, row: tuple[str, ...]) -> dict[str, Any]:
    path = f"/Subscriptions/{call.names['sub']}/Providers/Microsoft.Compute"
    words = zip(
        ("Publishers", "ArtifactTypes/VMImage/Offers", "Skus", "Versions"), row, strict=True
    )
    below = "/".join(f"{word}/{name}" for word, name in words)
    identity = f"{path}/Locations/{call.names['location']}/{below}"
    return {"location": call.names["location"], "name": row[-1], "id": identity}


def _missing(call: Call) -> Refusal:
    return Refusal("NotFound", f"Artifact: {call.path} was not found.", status=404)


_OFFERS = _AT + "/{publisher}/artifacttypes/vmimage/offers"
_VERSIONS = _OFFERS + "/{offer}/skus/{sku}/versions"
_READ_VERSIONS = "Microsoft.Compute/locations/publishers/artifacttypes/offers/skus/versions/read"
_COMPUTE = f"{GROUP}/providers/Microsoft.Compute"
_GALLERY = _COMPUTE + "/galleries/{gallery}/images/{image}"
_TERMS = (
    "/subscriptions/{sub}/providers/Microsoft.MarketplaceOrdering/offerTypes/virtualmachine"
    "/publishers/{publisher}/offers/{product}/plans/{plan}/agreements/current"
)
ROUTES = (
    Route("GET", _COMPUTE + "/images/{image}", "Microsoft.Compute/images/read", _own_image),
    Route("GET", _GALLERY, "Microsoft.Compute/galleries/images/read", _own_image),
    Route(
        "GET", _GALLERY + "/versions/{version}",
        "Microsoft.Compute/galleries/images/versions/read", _own_image,
    ),
    Route(
        "GET", _TERMS,
        "Microsoft.MarketplaceOrdering/offerTypes/publishers/offers/plans/agreements/read", _terms,
    ),
    Route("GET", _VERSIONS, _READ_VERSIONS, _listed),
    Route("GET", _VERSIONS + "/{version}", _READ_VERSIONS, _one),
)  # fmt: skip
