"""Marketplace images: publishers, offers, SKUs and versions.

Names: facts of PerfKitBenchmarker (2026-08-20); the Windows one is what the recordings ask for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from emulators.azure.call import Answer, Call, Refusal, Route

if TYPE_CHECKING:
    from collections.abc import Mapping

    from emulators.azure.cloud import Cloud

IMAGES = {
    ("Canonical", "ubuntu-24_04-lts", "server"): ("24.04.202610090", "V2"),
    ("Canonical", "ubuntu-24_04-lts", "server-gen1"): ("24.04.202610090", "V1"),
    ("Canonical", "ubuntu-26_04-lts", "server"): ("26.04.202610090", "V2"),
    ("Canonical", "0001-com-ubuntu-server-jammy", "22_04-lts-gen2"): ("22.04.202610090", "V2"),
    ("Canonical", "0001-com-ubuntu-server-jammy", "22_04-lts"): ("22.04.202610090", "V1"),
    ("Debian", "debian-12", "12-gen2"): ("0.20261006.2258", "V2"),
    ("Debian", "debian-12", "12"): ("0.20261006.2258", "V1"),
    ("RedHat", "RHEL", "9-lvm-gen2"): ("9.6.2026100612", "V2"),
    ("MicrosoftWindowsServer", "WindowsServer", "2016-Datacenter"): ("14393.5648.230107", "V1"),
    ("MicrosoftWindowsServer", "WindowsServer", "2019-Datacenter"): ("2019.0.20190115", "V1"),
}
"""Publisher, offer, SKU → its newest version and its generation."""
_AT = "/subscriptions/{sub}/providers/Microsoft.Compute/locations/{location}/publishers"


def image_of(reference: Mapping[str, Any] | None) -> tuple[str, str, str]:
    """The version, generation and system of what `imageReference` names. Raises Refusal."""
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


def _level(*keys: str) -> Any:
    def listed(_: Cloud, call: Call) -> Answer:
        given = tuple(call.names[key].lower() for key in keys)
        rows = [
            (*names, version)
            for names, (version, _gen) in IMAGES.items()
            if tuple(one.lower() for one in (*names, version)[: len(keys)]) == given
        ]
        if not rows and keys:
            raise _missing(call)
        found = sorted({row[: len(keys) + 1] for row in rows})
        return Answer(200, [_shown(call, row) for row in found])

    return listed


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
                    {"name": "DiskControllerTypes", "value": "SCSI"},
                    {"name": "IsHibernateSupported", "value": "True"},
                ],
                "osDiskImage": {
                    "operatingSystem": system,
                    "sizeInGb": 30,
                    "sizeInBytes": 30 * 2**30 + 512,
                },
                "dataDiskImages": [],
            }
            return Answer(200, shown)
    raise _missing(call)


def _shown(call: Call, row: tuple[str, ...]) -> dict[str, Any]:
    path = f"/Subscriptions/{call.names['sub']}/Providers/Microsoft.Compute"
    words = zip(
        ("Publishers", "ArtifactTypes/VMImage/Offers", "Skus", "Versions"), row, strict=False
    )
    below = "/".join(f"{word}/{name}" for word, name in words)
    identity = f"{path}/Locations/{call.names['location']}/{below}"
    found: dict[str, Any] = {"location": call.names["location"], "name": row[-1], "id": identity}
    if len(row) == 3:
        found["properties"] = {
            "automaticOSUpgradeProperties": {"automaticOSUpgradeSupported": False}
        }
    return found


def _missing(call: Call) -> Refusal:
    return Refusal("NotFound", f"Artifact: {call.path} was not found.", status=404)


_OFFERS = _AT + "/{publisher}/artifacttypes/vmimage/offers"
_SKUS = _OFFERS + "/{offer}/skus"
_VERSIONS = _SKUS + "/{sku}/versions"
_READ = "Microsoft.Compute/locations/publishers/read"
ROUTES = (
    Route("GET", _AT, _READ, _level()),
    Route("GET", _OFFERS, _READ, _level("publisher")),
    Route("GET", _SKUS, _READ, _level("publisher", "offer")),
    Route("GET", _VERSIONS, _READ, _level("publisher", "offer", "sku")),
    Route("GET", _VERSIONS + "/{version}", _READ, _one),
)
