"""Why an engine or an option of fio may not be used: what it reaches beside the target.

Every engine and option that fio 3.16 to 3.42 documents (HOWTO.rst, engines/) is either allowed
(fio/guard.py), set by diskbench, or named here with its reason.
"""

from __future__ import annotations

from typing import Final

_NETWORK = "it sends traffic to another host"
_OBJECTS = "it stores objects on servers, not on a disk of this machine"
_MEMORY = "it maps persistent memory, which no target of diskbench is"
_RAW = "it sends SCSI or NVMe commands past the block layer, which no guard can read"

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
    "mtd": "it writes flash chips by their own commands",
    "libcufile": "it needs a GPU of NVIDIA",
    "cpuio": "it does no I/O, it only uses the processor",
    "exec": "it starts programs",
    "external": "it loads a library into fio",
    "cpp_null": "it is an external engine, a library loaded into fio",
    "guasi": "fio dropped it; use libaio",
    "binject": "fio dropped it; use libaio",
    "windowsaio": "it is for Windows",
    "solarisaio": "it is for Solaris",
    "splice": "it moves data through pipes and cannot do direct I/O; use psync",
    "e4defrag": "it moves the extents of other files of an ext4 filesystem",
    "filexattr": "the oldest fio that diskbench drives does not know it",
}  # fmt: skip
"""Engines of fio by name (`fio --enghelp`, and engines/*.c of axboe/fio, 2026)."""

_PROGRAM = "it starts a program"
_READS = "it replays I/O from a file, whose offsets and devices no guard has checked"
_MACHINE = "it changes a setting of the machine"
_USER = "it changes the user that fio runs as"

OPTION_REASONS: Final[dict[str, str]] = {
    **dict.fromkeys(("exec_prerun", "exec_postrun", "trigger"), _PROGRAM),
    **dict.fromkeys(
        ("read_iolog", "replay_redirect", "replay_no_stall", "replay_align", "replay_scale",
         "replay_time_scale", "replay_skip", "merge_blktrace_file", "merge_blktrace_scalars",
         "merge_blktrace_iters", "read_iolog_chunked"),
        _READS,
    ),
    "write_iolog": "it writes a file outside the target; diskbench keeps its own logs",
    "opendir": "it uses whatever files are in that directory; name the files with filename=",
    **dict.fromkeys(
        ("ioscheduler", "cgroup", "cgroup_weight", "cgroup_nodelete", "allow_mounted_write"),
        _MACHINE,
    ),
    **dict.fromkeys(("uid", "gid"), _USER),
    "profile": "it replaces the whole job by one of fio's own; write the job out",
    "hugepage-size": "huge pages are a setting of the machine",
    "verify_state_load": "it reads a file that an earlier run of fio left",
    **dict.fromkeys(
        ("comm", "filetype", "dataplacement", "dp_scheme", "fdp", "fdp_pli", "fdp_pli_select",
         "plids", "plid_select"),
        "it is meant for engines or placements that reach past the block layer",
    ),
}  # fmt: skip


ENGINE_OPTIONS: Final = frozenset({
    "program", "arguments", "grace_time", "std_redirect", "hostname", "port", "protocol", "listen",
    "nfs_url", "uri", "donorname", "inplace", "gpu_dev_ids", "cuda_io", "pool", "rbdname",
    "clientname", "sg_write_mode", "cpuload", "cpumode", "cpuchunks",
})  # fmt: skip
"""Options of engines that are refused; each has a meaning with its engine alone."""


def engine_reason(engine: str, allowed: str) -> str:
    """Why an engine is refused, in one clause, with those that are allowed."""
    kind = "external" if "/" in engine or engine.startswith("external") else engine
    reason = ENGINE_REASONS.get(kind, "diskbench does not know it")
    return f"engine {engine!r}: {reason}; allowed: {allowed}"


def option_reason(name: str) -> str:
    """Why an option is refused."""
    if name in ENGINE_OPTIONS:
        return "it belongs to an engine that is refused"
    return OPTION_REASONS.get(
        name, "fio does not document this option up to 3.42, so it may reach beside the target"
    )
