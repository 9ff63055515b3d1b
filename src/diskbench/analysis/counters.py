"""The cloud's own counters beside the limit that was found for a stretch of a step: of the log page
of its volumes (fio/recorded.py), or of the cloud's monitoring (model/metrics.py).

Both count the whole step. Of the seconds beyond a limit at least those belong to a stretch that
find no room in the others, and at most all that the stretch has, with those that nobody counted:

    confirmed    more was asked than this limit for half of the stretch's seconds or more
    named        no limit, or an undocumented one, was found, and one was passed for so long
    contradicted this limit was passed for less than 5 % of the seconds, or another cause was found
                 and a limit was passed for half of them: a note, since the rate itself is right

Both shares are our choice. What the disk is promised is not asked: a counter knows the real limit.
"""

from diskbench.analysis.setting import Setting
from diskbench.model.doubts import COUNTERS_DIFFER, Reason
from diskbench.model.expectation import LimitName
from diskbench.model.verdict import CONFIRMED, Judged, LimiterName

_MOSTLY = 0.5
_HARDLY = 0.05
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
    exceeded, whole_s = setting.exceeded, setting.seconds
    if exceeded is None or not exceeded.seconds or not whole_s:
        return judged, ()
    seconds = whole_s
    if judged.start_s is not None and judged.end_s is not None:
        seconds = min(judged.end_s - judged.start_s, whole_s)
    found = judged.limiter
    own: tuple[LimiterName, ...] = _OF_CREDIT if found.name == "credit" else (found.name,)
    asked = [limit for limit in exceeded.seconds if limit in own]
    limit = max(asked or exceeded.seconds, key=lambda name: exceeded.seconds[name])
    beyond_s = min(exceeded.seconds[limit], whole_s)
    unseen_s = whole_s - min(exceeded.counted_s, whole_s) if exceeded.counted_s is not None else 0.0
    least_s = max(0.0, beyond_s - (whole_s - seconds))
    most_s = min(seconds, beyond_s + unseen_s)
    words = f"{least_s:,.0f} of {seconds:,.0f} s above {_LIMITS[limit]}"
    if round(least_s) < round(most_s):
        words = f"at least {words}"
    is_mostly = least_s >= _MOSTLY * seconds
    if is_mostly and (asked or found.is_unexplained):
        name = found.name if asked else limit
        evidence = (*found.evidence, f"{CONFIRMED}: {words}")
        limiter = found.model_copy(update={"name": name, "evidence": evidence})
        return judged.model_copy(update={"limiter": limiter}), ()
    if (asked and most_s < _HARDLY * seconds) or (found.name in _OTHER_CAUSES and is_mostly):
        return judged, (COUNTERS_DIFFER.reason(f"the volume's own counters show {words}"),)
    return judged, ()
