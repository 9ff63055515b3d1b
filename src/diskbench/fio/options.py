"""fio's options: which version knows which, and why an engine or an option may not be used.

Every engine and option that fio 3.16 to 3.42 documents (HOWTO.rst, engines/) is either allowed
(fio/guard.py), set by diskbench, or named here with what it reaches beside the target.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Final

from diskbench.errors import ProfileError
from diskbench.fio.jobfile import Section
from diskbench.model.base import Frozen

OLDEST: Final = (3, 16)
"""The oldest fio that diskbench drives (Ubuntu 20.04)."""

_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")


class OptionVersions(Frozen):
    """First fio version of each option and of `option=value`; those before 3.0 are left out."""

    source: str
    newest: str
    options: dict[str, str]
    values: dict[str, str]


@cache
def option_versions() -> OptionVersions:
    """The table that ships with diskbench."""
    data = files("diskbench.fio").joinpath("data", "option_versions.json").read_text("utf-8")
    return OptionVersions.model_validate(json.loads(data))


def parse_version(text: str) -> tuple[int, ...]:
    """`fio-3.33` and `3.33-12-gabc` as (3, 33). Raises ValueError for anything without a number."""
    match = _VERSION.search(text)
    if not match:
        raise ValueError(f"{text!r} is not a fio version")
    return tuple(int(part) for part in match.groups() if part is not None)


def _too_new(sections: Sequence[Section], fio_version: str) -> Iterator[tuple[str, str]]:
    """Each option or value that this version of fio does not know, in order, and what it needs."""
    have, table = parse_version(fio_version), option_versions()
    for section in sections:
        for option in section.options:
            value = (option.value or "").split(":")[0].split(",")[0].strip()
            pair = f"{option.name}={value}"
            for setting, needs in (
                (option.key, table.options.get(option.name)),
                (pair, table.values.get(pair)),
            ):
                if needs and parse_version(needs) > have:
                    yield f"[{section.name}] {setting}", needs


def check_version(sections: Sequence[Section], fio_version: str | None, *, where: str) -> None:
    """Raise ProfileError naming every option that the target's fio does not know.

    An unknown version (None) passes: fio checks the job file itself with --parse-only.
    """
    if fio_version is None:
        return
    if parse_version(fio_version) < OLDEST:
        oldest = ".".join(str(part) for part in OLDEST)
        raise ProfileError(
            f"fio {fio_version} on the target is older than {oldest}",
            advice="install a newer fio there (--install-fio takes the distribution's)",
        )
    if news := list(_too_new(sections, fio_version)):
        named = ", ".join(f"{option} needs fio {needs}" for option, needs in news)
        newest = max((needs for _, needs in news), key=parse_version)
        raise ProfileError(
            f"{where}: {named}; the target has {fio_version}",
            advice=f"install fio {newest} or newer on the target, or leave these options out",
        )


_NETWORK = "it sends traffic to another host"
_OBJECTS = "it stores objects on servers, not on a disk of this machine"
_MEMORY = "it maps persistent memory, which diskbench does not measure"
_RAW = "it sends SCSI or NVMe commands that bypass the block layer"

ENGINE_REASONS: Final[dict[str, str]] = {
    **dict.fromkeys(("net", "netsplice", "rdma"), _NETWORK),
    **dict.fromkeys(
        ("librpma_apm_client", "librpma_apm_server", "librpma_gpspm_client",
         "librpma_gpspm_server"),
        _NETWORK,
    ),
    **dict.fromkeys(
        ("rados", "rbd", "gfapi", "gfapi_async", "libhdfs", "http", "nbd", "libiscsi", "nfs",
         "dfs", "ime_psync", "ime_psyncv", "ime_aio"),
        _OBJECTS,
    ),
    **dict.fromkeys(("pmemblk", "libpmem", "dev-dax"), _MEMORY),
    **dict.fromkeys(("sg", "io_uring_cmd", "libzbc", "xnvme", "libblkio"), _RAW),
    "mtd": "it writes flash chips with their own commands",
    "libcufile": "it needs an NVIDIA GPU",
    "cpuio": "it does no I/O, it only uses the processor",
    "exec": "it starts programs",
    "external": "it loads a library into fio",
    "cpp_null": "it is an external engine: a library that fio loads",
    "guasi": "fio removed it; use libaio",
    "binject": "fio removed it; use libaio",
    "windowsaio": "it is for Windows",
    "solarisaio": "it is for Solaris",
    "splice": "it moves data through pipes and cannot do direct I/O; use psync",
    "e4defrag": "it moves the extents of other files of an ext4 filesystem",
    "filexattr": "the oldest fio that diskbench supports does not know it",
}  # fmt: skip
"""Engines of fio by name (`fio --enghelp`, and engines/*.c of axboe/fio, 2026)."""

_PROGRAM = "it starts a program"
_READS = "it replays I/O from a file, whose offsets and devices are not checked"
_MACHINE = "it changes a setting of the machine"
_USER = "it changes the user that fio runs as"

OPTION_REASONS: Final[dict[str, str]] = {
    **dict.fromkeys(
        ("exec_prerun", "exec_postrun", "trigger", "trigger-file", "trigger-remote",
         "trigger-timeout"),
        _PROGRAM,
    ),
    **dict.fromkeys(
        ("client", "server", "server-internal", "daemonize", "remote-config"),
        "it makes fio a server or sends the job to one; diskbench starts fio itself",
    ),
    **dict.fromkeys(
        ("cmdhelp", "cpuclock-test", "crctest", "enghelp", "help", "inflate-log", "memcpytest",
         "merge-blktrace-only", "parse-only", "showcmd", "version"),
        "it queries fio and is not part of a job",
    ),
    "section": "it omits jobs of the file; remove them from a copy instead",
    **dict.fromkeys(
        ("read_iolog", "replay_redirect", "replay_no_stall", "replay_align", "replay_scale",
         "replay_time_scale", "replay_skip", "merge_blktrace_file", "merge_blktrace_scalars",
         "merge_blktrace_iters", "read_iolog_chunked"),
        _READS,
    ),
    "write_iolog": "it writes a file outside the target; diskbench keeps its own logs",
    "opendir": "it uses any files in that directory; name the files with filename=",
    **dict.fromkeys(
        ("ioscheduler", "cgroup", "cgroup_weight", "cgroup_nodelete", "allow_mounted_write"),
        _MACHINE,
    ),
    **dict.fromkeys(("uid", "gid"), _USER),
    "profile": "it replaces the whole job with one of fio's own; write its options into the job",
    "hugepage-size": "huge pages are a setting of the machine",
    "verify_state_load": "it reads a file that an earlier run of fio left",
    **dict.fromkeys(
        ("comm", "filetype", "dataplacement", "dp_scheme", "fdp", "fdp_pli", "fdp_pli_select",
         "plids", "plid_select"),
        "it is for engines or placements that bypass the block layer",
    ),
}  # fmt: skip


ALLOWABLE: Final = frozenset({
    "exec_prerun", "exec_postrun", "ioscheduler", "cgroup", "cgroup_weight", "cgroup_nodelete",
    "uid", "gid", "hugepage-size",
})  # fmt: skip
"""What the owner of a machine may allow on it (`--allow`): programs of his own and settings of the
machine. What reaches another disk or another host is not among them."""

ENGINE_OPTIONS: Final = frozenset({
    "apptag", "apptag_mask", "arguments", "bindname", "brick", "busy_poll", "busy_wait_polling",
    "chunk_size", "clientname", "clustername", "cmd_type", "conf", "cont", "cpuchunks", "cpuload",
    "cpumode", "cuda_io", "deac", "direct_write_to_pmem", "donorname", "exit_on_io_done",
    "gpu_dev_id", "gpu_dev_ids", "grace_time", "hdfsdirectory", "hostname", "http_host",
    "http_mode", "http_object_mode", "http_pass", "http_s3_key", "http_s3_keyid",
    "http_s3_region", "http_s3_sse_customer_algorithm", "http_s3_sse_customer_key",
    "http_s3_storage_class", "http_swift_auth_token", "http_user", "http_verbose", "https",
    "inplace", "interface", "libblkio_driver", "libblkio_force_enable_completion_eventfd",
    "libblkio_num_entries", "libblkio_path", "libblkio_pre_connect_props",
    "libblkio_pre_start_props", "libblkio_queue_size", "libblkio_vectored", "libblkio_wait_mode",
    "libblkio_write_zeroes_on_trim", "listen", "md_per_io_size", "mss", "namenode", "nfs_url",
    "nodelay", "object_class", "pi_act", "pi_chk", "pingpong", "pool", "port", "program",
    "protocol", "rbdname", "readfua", "serverip", "sg_write_mode", "single-instance",
    "std_redirect", "stream_id", "touch_objects", "ttl", "uri", "verb", "verify_mode", "volume",
    "window_size", "write_mode", "writefua", "xnvme_admin", "xnvme_async", "xnvme_dev_nsid",
    "xnvme_dev_subnqn", "xnvme_iovec", "xnvme_mem", "xnvme_sync",
})  # fmt: skip
"""Options of engines that are refused; each has a meaning with its engine alone (HOWTO.rst, 2026,
and `fio --enghelp=ENGINE`, 3.33)."""


def engine_reason(engine: str, allowed: str) -> str:
    """Why an engine is refused, in one clause, with those that are allowed."""
    kind = "external" if "/" in engine or engine.startswith("external") else engine
    reason = ENGINE_REASONS.get(kind, "diskbench does not know it")
    return f"engine {engine!r}: {reason}; allowed: {allowed}"


def option_reason(name: str) -> str:
    """Why an option is refused."""
    if name in ENGINE_OPTIONS:
        return "it belongs to an engine that is refused"
    if name in ALLOWABLE:
        return f"{OPTION_REASONS[name]}; on your own machine, add --allow {name}"
    return OPTION_REASONS.get(
        name,
        "fio up to 3.42 has no such option, and a newer option may affect more than the target",
    )
