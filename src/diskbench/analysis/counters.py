"""The cloud's own counters beside the limit that was found for a step (fio/volume.py).

The counters are of a whole step, so they are compared only where it has one stretch:

    confirmed    more was asked than this limit for half of the step's seconds or more
    named        no limit, or an undocumented one, was found, and one was passed for so long
    contradicted this limit was passed for less than 5 % of the seconds, or another cause was found
                 and a limit was passed for half of them: a note, since the rate itself is right

Both shares are our choice. What the disk is promised is not asked: a counter knows the real limit.
"""

from __future__ import annotations

from diskbench.analysis.setting import Setting
from diskbench.model.doubts import COUNTERS_DIFFER, Reason
from diskbench.model.expectation import LimitName
from diskbench.model.verdict import CONFIRMED, Judged, LimiterName

_MOSTLY = 0.5
_HARDLY = 0.05
_UNEXPLAINED = frozenset({"unknown", "fixed-limit"})
_OTHER_CAUSES = frozenset({"queue-depth", "network"})
_OF_CREDIT: tuple[LimitName, ...] = ("disk-iops", "disk-throughput")
_LIMITS: dict[LimitName, str] = {
    "disk-iops": "its IOPS",
    "disk-throughput": "its throughput",
    "vm-iops": "the IOPS of its machine",
    "vm-throughput": "the throughput of its machine",
}


def by_counters(judged: Judged, setting: Setting) -> tuple[Judged, tuple[Reason, ...]]:
    """The stretch with what the counters say of its limit, and a note where they contradict it;
    unchanged where they were not read."""
    exceeded, seconds = setting.exceeded, setting.seconds
    if not exceeded or not seconds:
        return judged, ()
    found = judged.limiter
    own: tuple[LimiterName, ...] = _OF_CREDIT if found.name == "credit" else (found.name,)
    asked = [limit for limit in exceeded if limit in own]
    limit = max(asked or exceeded, key=lambda name: exceeded[name])
    beyond_s = min(exceeded[limit], seconds)
    words = f"{beyond_s:,.0f} of {seconds:,.0f} s above {_LIMITS[limit]}"
    share = beyond_s / seconds
    if share >= _MOSTLY and (asked or found.name in _UNEXPLAINED):
        name = found.name if asked else limit
        evidence = (*found.evidence, f"{CONFIRMED}: {words}")
        limiter = found.model_copy(update={"name": name, "evidence": evidence})
        return judged.model_copy(update={"limiter": limiter}), ()
    if (asked and share < _HARDLY) or (found.name in _OTHER_CAUSES and share >= _MOSTLY):
        return judged, (COUNTERS_DIFFER.reason(f"the volume's own counters say {words}"),)
    return judged, ()
