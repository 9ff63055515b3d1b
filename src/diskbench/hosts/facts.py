"""The facts of a machine, read in one round trip; the parser leaves out what it cannot read.

Which cloud a guest runs in, its firmware and cloud-init say, but any hypervisor can write a name
there. So the guest asks the metadata service for the machine's id: with the id that the control
plane gave, it runs in that cloud. The provider defines the request (plugin.GuestIdentity).
"""

import contextlib
import json
import re
import time
from collections.abc import Iterable, Mapping
from typing import Any

from diskbench.errors import AgentError, HostUnavailable
from diskbench.hosts.calls import ask
from diskbench.hosts.disks import NAMES, disk_facts, is_network, key_values, mount_facts
from diskbench.hosts.shell import whole
from diskbench.model.facts import CloudFacts, CpuFacts, HostFacts
from diskbench.plugin import GuestIdentity, known_plugin, plugins
from diskbench.ports import Host

_MACHINE_ID_DIGITS = 32
"""Digits that are kept of the hash of a machine's id, as many as the id has."""
KNOWN_FIO_S = 600.0
"""Seconds for which the version and the engines of a fio are known. Our choice: a wrapper may start
another fio one day without a change of its own."""
_MOST_KIB, _MOST_CPUS = 2**50, 2**20
"""Larger figures of memory (KiB) and processors are invalid, and count as unknown."""
Sections = dict[str, list[str]]
"""What a host said, by the title under which it said it."""
_FIOS: dict[str, tuple[float, str, Sections]] = {}
"""By host, when its fio was asked, what identifies that, and the sections with its version and
engines. A start of fio costs more than all other facts together. A fio is known by its host and its
file: inode, size and times, which an upgrade changes."""


def _with_fio(host: str, by_section: Sections) -> Sections:
    """What `host` said, with what it left out as known; remembers what it did not."""
    identity, version = _first(by_section, "fiofile"), _first(by_section, "fio")
    _, known, fio = _FIOS.get(host, (0.0, "", {}))
    if "fio" not in by_section:
        return by_section | fio if identity == known else by_section
    if identity and version:
        fio = {"fio": [version], "engines": by_section.get("engines", [])}
        _FIOS[host] = time.monotonic(), identity, fio
    return by_section


def gather(host: Host, path: str | None, *, device: bool) -> HostFacts:
    """The facts of `host` and of the disk under `path`, in one round trip.

    `path` is a directory, which may not exist yet, or with `device` a block device. Raises
    HostUnavailable where the host is unreachable or no Linux machine, and ConnectionLost.
    """
    return gather_and_look(host, path, device=device, look=False)[0]


def gather_and_look(
    host: Host, path: str | None, *, device: bool, look: bool
) -> tuple[HostFacts, list[str]]:
    """As `gather`; and with `look` what a look at the directory says (directory.py)."""
    host.connect()
    since, fio, _ = _FIOS.get(host.name, (0.0, "", {}))
    known = fio if time.monotonic() - since < KNOWN_FIO_S else ""
    sent = time.time()
    try:
        about = {"path": path or "", "is_device": device, "look": look, "known_fio": known}
        by_section = sections(ask(host, "facts", about=about, read=NAMES["read"]))
        why = "" if "end" in by_section else "no answer"
    except AgentError as error:
        why = error.message
    received = time.time()
    if why:
        raise HostUnavailable(
            f"{host.name} could not be examined: {why}",
            advice="diskbench measures Linux machines with a POSIX shell and Python 3.6 or newer",
        )
    by_section = _with_fio(host.name, by_section)
    facts = parse_facts(by_section, sent_unix_s=sent, received_unix_s=received)
    return facts, by_section.get("look", [])


def sections(answer: Iterable[list[str]]) -> Sections:
    """An answer by its titles; what is said twice under one is joined."""
    by_title: Sections = {}
    for title, *lines in answer:
        by_title.setdefault(title, []).extend(lines)
    return by_title


def parse_facts(
    by_section: Sections,
    *,
    sent_unix_s: float | None = None,
    received_unix_s: float | None = None,
) -> HostFacts:
    """What a host said as facts. The two times are of our clock, before and after the question."""
    user_id, user, hostname, *_ = [*by_section.get("id", []), "", "", ""]
    kernel, machine, *_ = [*by_section.get("uname", []), "", ""]
    cpuinfo = by_section.get("cpuinfo", [])
    mount = mount_facts(by_section)
    engines = (line for line in by_section.get("engines", []) if line[:1].isspace())
    # The hypervisor's name where systemd-detect-virt says nothing, else only that there is one.
    virtual = _first(by_section, "virt") or _first(by_section, "hypervisor")
    if not virtual and any(
        "hypervisor" in flags.split() for flags in _colon_values(cpuinfo, "flags")
    ):
        virtual = "unknown hypervisor"
    load = _first(by_section, "loadavg").split()
    online = whole(_first(by_section, "online"), _MOST_CPUS)
    return HostFacts(
        hostname=hostname,
        user=user,
        is_root=user_id == "0",
        can_sudo=_first(by_section, "sudo") == "yes",
        cpu=CpuFacts(
            model=_cpu_model(cpuinfo),
            count=max(1, online or len(_colon_values(cpuinfo, "processor"))),
            architecture=machine,
        ),
        memory_bytes=_memory(by_section, "MemTotal"),
        memory_available_bytes=_memory(by_section, "MemAvailable"),
        kernel=kernel,
        distribution=key_values(by_section.get("os", [])).get("PRETTY_NAME", "").strip("\"'"),
        virtualisation=virtual or None,
        has_systemd=_first(by_section, "systemd") == "yes",
        fio_version=_first(by_section, "fio") or None,
        # `fio --enghelp`: one indented word a line below a heading
        fio_engines=tuple(sorted({line.strip() for line in engines if len(line.split()) == 1})),
        load_1m=_number(load[0]) if load else None,
        cloud=cloud_facts(by_section),
        disk=disk_facts(by_section.get("disk", [])),
        mount=mount,
        layers=tuple(layer_words(line) for line in by_section.get("through", []) if line.strip()),
        network_filesystem=mount is not None and is_network(mount.fstype),
        clock_offset_s=_clock_offset(by_section, sent_unix_s, received_unix_s),
        extra=_extra(by_section),
    )


_RAID_LEVEL = re.compile(r"raid(\d+)")


def layer_words(line: str) -> str:
    """A layer below a filesystem in words: `dm-crypt data` of `CRYPT data`, `RAID 1 md0` of `raid1
    md0`; of a kind that is not known its name alone."""
    kind, _, name = line.strip().partition(" ")
    level = _RAID_LEVEL.fullmatch(kind)
    words = f"RAID {level[1]}" if level else NAMES["layers"].get(kind, kind.strip("-"))
    return f"{words} {name}".strip()


def _first(by_section: Sections, name: str) -> str:
    return next((line.strip() for line in by_section.get(name, []) if line.strip()), "")


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < 1e15 else None  # also drops inf and nan


def _memory(by_section: Sections, name: str) -> int:
    for line in by_section.get("meminfo", []):
        key, _, rest = line.partition(":")
        fields = rest.split()
        if key == name and fields and (kib := whole(fields[0], _MOST_KIB)) is not None:
            return kib * 1024
    return 0


def _colon_values(cpuinfo: list[str], name: str) -> list[str]:
    pairs = (line.partition(":") for line in cpuinfo)
    return [value.strip() for key, _, value in pairs if key.strip() == name]


def _cpu_model(cpuinfo: list[str]) -> str:
    for name in ("model name", "cpu", "machine", "Hardware"):
        if named := _colon_values(cpuinfo, name):
            return named[0]
    part = _colon_values(cpuinfo, "CPU part")
    return str(NAMES["arm_parts"].get(part[0].lower(), f"Arm part {part[0]}")) if part else ""


def _clock_offset(by_section: Sections, sent: float | None, received: float | None) -> float | None:
    """How far the host's clock is ahead of ours, in seconds, as NTP reckons it:
    ((T2 - T1) + (T3 - T4)) / 2 with our times T1, T4 around the host's T2, T3 (RFC 5905 section 8).
    """
    begin, end = _number(_first(by_section, "clock")), _number(_first(by_section, "end"))
    if begin is None or end is None or sent is None or received is None:
        return None
    return round(((begin - sent) + (end - received)) / 2, 6)


def _extra(by_section: Sections) -> dict[str, object]:
    system = key_values(by_section.get("os", []))
    disk_lines = by_section.get("disk", [])
    disk = key_values(disk_lines)
    identities = [line[9:] for line in disk_lines if line.startswith("identity=")]
    extra: dict[str, object] = {
        "tools": by_section.get("tools", []),
        "dmi": key_values(by_section.get("dmi", [])),
        "distribution_id": system.get("ID", "").strip("\"'"),
        "directory": _first(by_section, "directory"),
        "cgroup": by_section.get("cgroup", []),
        "boot_id": key_values(by_section.get("boot", [])).get("boot_id", ""),
        "machine_id": _first(by_section, "machine")[:_MACHINE_ID_DIGITS],
        "disks": _first(by_section, "disks").split(),
        "busy": [line for line in by_section.get("busy", []) if line.strip()],
        "disk_identities": list(dict.fromkeys(identities)),
        "disk_discard_max_bytes": disk.get("queue_discard_max_bytes", ""),
        "disk_firmware": disk.get("firmware", ""),
        "disk_sysfs": disk.get("path", ""),
    }
    return {key: value for key, value in extra.items() if value}


def cloud_facts(by_section: Sections) -> CloudFacts:
    """Vendor and product from firmware; instance type, zone and id where cloud-init has them.

    `verified` stays False, because any hypervisor can write these strings.
    """
    dmi = key_values(by_section.get("dmi", []))
    meta: dict[str, Any] = {}
    with contextlib.suppress(ValueError, RecursionError):
        meta = _mapping(json.loads("\n".join(by_section.get("cloudinit", []))))
    v1 = _mapping(meta.get("v1"))
    data = _mapping(_mapping(meta.get("ds")).get("meta_data"))
    return CloudFacts(
        vendor=cloud_vendor(dmi) or _text(v1.get("cloud_name")) or dmi.get("sys_vendor") or None,
        product=dmi.get("product_name") or None,
        instance_type=_instance_type(dmi, data),
        zone=_text(v1.get("availability_zone")) or _text(v1.get("region")),
        instance_id=_text(v1.get("instance_id")),
    )


def cloud_vendor(dmi: Mapping[str, str]) -> str | None:
    """The provider or the cloud that the firmware names, by the strings that ds-identify of
    cloud-init uses; None where it names none."""
    for plugin in plugins():
        if plugin.guest is not None and _is_named(plugin.guest, dmi):
            return plugin.name
    strings = dmi.get("sys_vendor", ""), dmi.get("product_name", "")
    brands = NAMES["other_clouds"]
    others = (str(brands[word]) for word in brands if any(word in text for text in strings))
    is_oracle = "OracleCloud" in dmi.get("chassis_asset_tag", "")
    return next(others, "oracle" if is_oracle else None)


def _is_named(guest: GuestIdentity, dmi: Mapping[str, str]) -> bool:
    """Whether the firmware strings match those of a provider's guests."""
    return any(
        all(re.search(pattern, dmi.get(field, "")) for field, pattern in marks.items())
        for marks in guest.firmware
    )


def _instance_type(dmi: Mapping[str, str], data: dict[str, Any]) -> str | None:
    """The instance type from cloud-init, else the product name where the provider writes it so."""
    compute = _mapping(_mapping(data.get("imds")).get("compute"))
    said = (data.get("instance-type"), data.get("instance_type"), compute.get("vmSize"))
    if named := next(filter(None, map(_text, said)), None):
        return named.rpartition("/")[2]
    product = dmi.get("product_name", "")
    guests = (plugin.guest for plugin in plugins() if plugin.guest is not None)
    is_type = any(guest.type_in_product and _is_named(guest, dmi) for guest in guests)
    return product if "." in product and is_type else None


def _guest(provider: str) -> GuestIdentity | None:
    plugin = known_plugin(provider)
    return plugin.guest if plugin else None


_TYPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


def with_machine_type(host: Host, facts: HostFacts) -> HostFacts:
    """The facts with the machine type that the cloud's metadata service names, where neither
    firmware nor cloud-init did. The guest asks, without credentials, the cloud that its firmware
    names; an answer that is no name is none. Raises ConnectionLost."""
    guest = _guest(facts.cloud.vendor or "")
    if facts.cloud.instance_type is not None or guest is None or not guest.machine_type:
        return facts
    printed = host.run(guest.machine_type, timeout_s=_PROOF_S, root=False).text.strip()
    named = printed.rpartition("/")[2]
    if not _TYPE.fullmatch(named):
        return facts
    cloud = facts.cloud.model_copy(update={"instance_type": named})
    return facts.model_copy(update={"cloud": cloud})


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


_PROOF_S = 15.0


def vouched(host: Host, cloud: CloudFacts, provider: str, instance_id: str | None) -> bool:
    """Whether the guest proves that it is the machine `instance_id` of `provider`.

    False where the firmware names another cloud, the metadata service does not answer or returns
    another id, and for a provider without such a proof. Raises ConnectionLost.
    """
    if instance_id is None or cloud.vendor != provider:
        return False
    guest = _guest(provider)
    if guest is None or guest.is_instance is None:
        return False
    printed = host.run(guest.proof, timeout_s=_PROOF_S, root=guest.needs_root).text
    return guest.is_instance(printed, instance_id)
