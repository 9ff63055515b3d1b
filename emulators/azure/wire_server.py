"""Azure's wire server and the host's plugin for guest agents, of one machine, and the file with
which a machine is provisioned. Pure but for what was reported.

Azure publishes no reference; the form of every document is what WALinuxAgent 2.7.3 and cloud-init
22.4 parse (common/protocol/wire.py, goal_state.py, hostplugin.py; sources/helpers/azure.py).
Certificates are not served: our machines have none, and both take the user's key from elsewhere.
"""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

from emulators.guest_side import Answer, Asked, text

WIRE_SERVER_ADDRESS = "168.63.129.16"
PLUGIN_PORT = 32_526
"""The port of HostGAPlugin, at the same address."""
_VERSION = "2012-11-30"
_XML = {"Content-Type": "text/xml; charset=utf-8"}


@dataclass(frozen=True)
class Health:
    """One report of a machine's provisioning: `Ready` or `NotReady`, with its reason."""

    state: str
    substatus: str = ""
    description: str = ""


@dataclass
class WireServer:
    """Both servers of one machine, and what was reported; `changed` tells of each report."""

    machine: str
    health: list[Health] = field(default_factory=list)
    statuses: list[dict[str, Any]] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def wait(self, ended: Callable[[], bool], timeout_s: float) -> bool:
        """Wait until the reports are such that `ended` is true; whether they are."""
        with self.changed:
            return self.changed.wait_for(ended, timeout_s)

    def answer(self, asked: Asked) -> Answer:
        """What the wire server answers at port 80."""
        if asked.path == "/HealthService":
            return Answer(200)
        wanted = asked.query.get("comp", "")
        if wanted == "versions":
            return _xml(
                f"<Versions><Preferred><Version>2015-04-05</Version></Preferred>"
                f"<Supported><Version>2015-04-05</Version><Version>{_VERSION}</Version>"
                "</Supported></Versions>"
            )
        if asked.headers.get("x-ms-version") != _VERSION:
            return _xml("<Error><Code>InvalidHeader</Code></Error>", 400)
        if asked.method == "POST":
            return self._told(wanted, asked.body)
        document = self._documents().get((wanted, asked.query.get("type", "")))
        return _xml(document) if document else Answer(404)

    def plugin(self, asked: Asked) -> Answer:
        """What the host's plugin answers at port 32526."""
        if asked.path == "/versions":
            return Answer(200, b'["2015-09-01"]', {"Content-Type": "application/json"})
        if asked.path == "/health":
            return Answer(200)
        if asked.path == "/status" and asked.method == "PUT":
            with self.changed:
                self.statuses.append(json.loads(asked.body))
                self.changed.notify_all()
            return Answer(200)
        return text("Not Found", 404)

    def _told(self, what: str, body: bytes) -> Answer:
        if what == "health":
            reported = ET.fromstring(body)  # noqa: S314 - of our own guest
            read = {name: reported.findtext(f".//{name}") or "" for name in
                    ("State", "SubStatus", "Description")}  # fmt: skip
            with self.changed:
                self.health.append(Health(*read.values()))
                self.changed.notify_all()
        elif what not in {"telemetrydata", "roleProperties"}:
            return Answer(404)
        return Answer(202 if what == "roleProperties" else 200)

    def _documents(self) -> dict[tuple[str, str], str]:
        base = f"http://{WIRE_SERVER_ADDRESS}/machine/{self.machine}/role?comp=config&amp;type="
        return {
            ("goalstate", ""): (
                f"<GoalState><Version>{_VERSION}</Version><Incarnation>1</Incarnation>"
                "<Machine><ExpectedState>Started</ExpectedState></Machine>"
                f"<Container><ContainerId>{self.machine}</ContainerId><RoleInstanceList>"
                f"<RoleInstance><InstanceId>{self.machine}._role</InstanceId>"
                "<State>Started</State><Configuration>"
                f"<HostingEnvironmentConfig>{base}hostingEnvironmentConfig"
                "</HostingEnvironmentConfig>"
                f"<SharedConfig>{base}sharedConfig</SharedConfig>"
                f"<ExtensionsConfig>{base}extensionsConfig</ExtensionsConfig>"
                f"<ConfigName>{self.machine}.0.{self.machine}.0._role.1.xml</ConfigName>"
                "</Configuration></RoleInstance></RoleInstanceList></Container></GoalState>"
            ),
            ("config", "hostingEnvironmentConfig"): (
                '<HostingEnvironmentConfig version="1.0.0.0">'
                f'<Incarnation number="1" instance="_role" guid="{self.machine}"/>'
                '<Role name="_role"/><Deployment name="deployment" guid="0" incarnation="1"/>'
                "</HostingEnvironmentConfig>"
            ),
            ("config", "sharedConfig"): '<SharedConfig version="1.0.0.0"></SharedConfig>',
            ("config", "extensionsConfig"): (
                '<Extensions version="1.0.0.0" goalStateIncarnation="1">'
                "<GuestAgentExtension><GAFamilies/></GuestAgentExtension>"
                '<StatusUploadBlob statusBlobType="BlockBlob">'
                f"https://status.blob.invalid/{self.machine}.status</StatusUploadBlob>"
                "</Extensions>"
            ),
        }


def ovf_env(machine: Mapping[str, Any]) -> str:
    """The ovf-env.xml on the provisioning disk of the machine that the PUT of `machine` makes."""
    profile = machine["properties"]["osProfile"]
    linux = profile["linuxConfiguration"]
    keys = "".join(
        f"<wa:PublicKey><wa:Path>{escape(key['path'])}</wa:Path>"
        f"<wa:Value>{escape(key['keyData'])}</wa:Value></wa:PublicKey>"
        for key in linux["ssh"]["publicKeys"]
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>'
        '<Environment xmlns="http://schemas.dmtf.org/ovf/environment/1"'
        ' xmlns:wa="http://schemas.microsoft.com/windowsazure">'
        "<wa:ProvisioningSection><wa:Version>1.0</wa:Version>"
        "<wa:LinuxProvisioningConfigurationSet>"
        "<wa:ConfigurationSetType>LinuxProvisioningConfiguration</wa:ConfigurationSetType>"
        f"<wa:HostName>{escape(profile['computerName'])}</wa:HostName>"
        f"<wa:UserName>{escape(profile['adminUsername'])}</wa:UserName>"
        "<wa:DisableSshPasswordAuthentication>"
        f"{str(linux['disablePasswordAuthentication']).lower()}"
        "</wa:DisableSshPasswordAuthentication>"
        f"<wa:SSH><wa:PublicKeys>{keys}</wa:PublicKeys></wa:SSH>"
        f"<wa:CustomData>{profile['customData']}</wa:CustomData>"
        "</wa:LinuxProvisioningConfigurationSet></wa:ProvisioningSection>"
        "<wa:PlatformSettingsSection><wa:Version>1.0</wa:Version><wa:PlatformSettings>"
        f"<wa:ProvisionGuestAgent>{str(linux['provisionVMAgent']).lower()}"
        "</wa:ProvisionGuestAgent></wa:PlatformSettings></wa:PlatformSettingsSection>"
        "</Environment>"
    )


def _xml(document: str, status: int = 200) -> Answer:
    return Answer(status, f'<?xml version="1.0" encoding="utf-8"?>{document}'.encode(), _XML)
