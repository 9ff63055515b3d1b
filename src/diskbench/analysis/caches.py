"""Whether a cache served the I/O: the guest's, its host's, or a controller's (MR-12)."""

from diskbench.analysis.caps import at_machine
from diskbench.analysis.setting import ABOVE, Setting, Stretch, is_above, rate, shown_rate
from diskbench.analysis.trust import MOSTLY
from diskbench.model.verdict import Limiter
from diskbench.units import KIB, format_iops, format_mb_per_s

DEVICE_SHARE = 0.95
FASTEST_S = 8e-6
"""A read at random: no flash answers sooner, let alone a network; memory takes 1 to 5 µs. Our
choice."""


ROUND_TRIP_S = 20e-6
"""A read at random over a network: a TCP round trip between two machines takes 25 µs and more at
10 Gbit/s, and the server's answer comes on top. Our choice."""
LINKS = {"sata": 600e6, "sas": 1200e6}
"""The bytes a second that a link carries, by its name in lsblk's TRAN: 6 Gbit/s (SATA revision 3.0,
SATA-IO 2009) or 12 Gbit/s (SAS-3, T10 2013) in 8b/10b."""
TURNING_IOPS = 1000.0
"""Random I/Os of a turning disk: half a turn at 15,000 rpm takes 2 ms, and a deep queue at best
halves it twice (our choice)."""
_LEAST_BLOCK = 4 * KIB
"""The least that a filesystem reads: what blocks count as that are not known."""


def impossible(stretch: Stretch, setting: Setting) -> str:
    """Return why the medium cannot reach the rate; empty if it can or is not known."""
    if sooner := _sooner_than_a_network(stretch, setting):
        return sooner
    carries, load = LINKS.get(setting.link), setting.load
    if carries is None:
        return ""
    iops, moved = stretch.iops or 0.0, stretch.bytes_per_s or 0.0
    block = load.block_bytes if load and load.block_bytes else _LEAST_BLOCK
    most, by_link = carries / block, f"is more than the {setting.link.upper()} link carries"
    if moved > carries:
        return f"{format_mb_per_s(moved)} MB/s {by_link} ({format_mb_per_s(carries)} MB/s)"
    if iops > most:
        kib = f"{format_iops(most)} IOPS of {block / KIB:g} KiB"
        return f"{format_iops(iops)} IOPS {by_link} ({kib})"
    if setting.turns and load is not None and load.random and iops > TURNING_IOPS:
        turning = f"any rotating disk does ({format_iops(TURNING_IOPS)} IOPS)"
        return f"{format_iops(iops)} random IOPS is more than {turning}"
    return ""


def _sooner_than_a_network(stretch: Stretch, setting: Setting) -> str:
    """Return why no server answered: random reads that take less than a round trip."""
    load = setting.load
    if setting.network is None or load is None or not load.random or load.read_share < 1:
        return ""
    if not load.depth or not stretch.iops or load.depth / stretch.iops >= ROUND_TRIP_S:
        return ""
    each_us = load.depth / stretch.iops * 1e6
    return (
        f"each random read took {each_us:.1f} µs, and a round trip over {setting.network} takes at "
        f"least {ROUND_TRIP_S * 1e6:.0f} µs"
    )


def beyond_medium(stretch: Stretch, setting: Setting) -> Limiter | None:
    """Return a cache as the limiter if the rate is beyond a disk of its kind."""
    evidence = impossible(stretch, setting)
    if not evidence:
        return None
    direct = setting.load is not None and setting.load.direct
    return Limiter(name="host-cache" if direct else "page-cache", evidence=(evidence,))


def too_fast(stretch: Stretch, setting: Setting) -> str:
    """Return why memory must have served buffered random reads if the device's I/O was not counted;
    empty if a disk may have served them."""
    load, measured = setting.load, rate(stretch, setting)
    if load is None or load.direct is not False or not load.random or load.read_share < 1:
        return ""
    if setting.device_share is not None or setting.keeps_cache or not measured or not load.depth:
        return ""
    took = f"each buffered random read took {load.depth / measured * 1e6:.1f} µs"
    return f"{took}, faster than any disk" if load.depth / measured < FASTEST_S else ""


def page_cache(stretch: Stretch, setting: Setting) -> Limiter | None:
    """Return the guest's page cache as the limiter, from the device's I/O or from a rate above
    every promise."""
    load, share = setting.load, setting.device_share
    if load is None or load.direct:
        return None
    if share is not None:
        if share >= DEVICE_SHARE or (load.direct is None and share >= MOSTLY):
            return None
        how = "the device did" if load.direct is None else "buffered I/O: the device moved"
        of = "I/O" if load.direct is None else "bytes"
        itself = device_words(stretch, setting)
        evidence = f"{how} only {share:.0%} of fio's {of}" + (f", {itself}" if itself else "")
        return Limiter(name="page-cache", evidence=(evidence,))
    if load.direct is None:
        return None
    if setting.keeps_cache:
        on_purpose = "this step measures the page cache on purpose"
        return Limiter(name="page-cache", evidence=(on_purpose,))
    if sooner := too_fast(stretch, setting):
        return Limiter(name="page-cache", evidence=(sooner,))
    measured = rate(stretch, setting)
    if load.read_share > 0 or measured is None or stretch.level is None:
        return None
    # Writes that exceed the memory have reached the device by the end.
    share = 1.0 if setting.memory_share is None else min(setting.memory_share, 1.0)
    if share < 1 and at_machine(stretch, setting):
        return None
    device = measured * (1 - share)
    if is_above(stretch, setting) and device <= ABOVE * stretch.level.high_iops:
        most = shown_rate(stretch.level.high_iops, setting)
        evidence = f"memory absorbed the writes: the disk allows {most}"
        return Limiter(name="page-cache", evidence=(evidence,))
    return None


def device_words(stretch: Stretch, setting: Setting) -> str:
    """Return the rate of the device where memory answered the rest, beside what it promises: `3,005
    IOPS (100% of the 3,000 IOPS that it allows)`; empty where it is not known or did nothing."""
    share, measured = setting.device_share, rate(stretch, setting)
    if share is None or not 0 < share < DEVICE_SHARE or not measured:
        return ""
    words = shown_rate(share * measured, setting)
    if setting.device_at_most:
        return f"at most {words}"
    level = stretch.level
    if level is None or level.limited_by is None or not level.iops:
        return words
    allowed = shown_rate(level.iops, setting)
    return f"{words} ({share * measured / level.iops:.0%} of the {allowed} that it allows)"


def cached_below(stretch: Stretch, setting: Setting) -> Limiter | None:
    """Return the host cache as the limiter if the disk has one and the rate is above every
    promise."""
    if not setting.host_cache or not is_above(stretch, setting) or stretch.level is None:
        return None
    most = shown_rate(stretch.level.high_iops, setting)
    evidence = f"host caching is on, and the disk itself allows at most {most}"
    return Limiter(name="host-cache", evidence=(evidence,))
