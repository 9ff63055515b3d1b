"""What the index of the published site says of a page, as its manifest keeps it."""

from diskbench.model.base import Frozen
from diskbench.model.comparison import Metric
from diskbench.model.verdict import Trust


class Best(Frozen):
    """The highest figure of a direction, and the step that gave it. `n` independent machines.
    `on_credit`: the disk served it from burst credit and ended before the credit did, so it says
    nothing about the rate that lasts."""

    value: float
    step: str
    n: int = 1
    on_credit: bool = False


class NewLevel(Frozen):
    """A change of level: the median before, the one after, and whether that is worse. The run is
    the first one at the new level."""

    at: str
    trial_id: str
    run_id: str
    step: str
    direction: str
    metric: Metric
    before: float
    after: float
    change: float
    worse: bool

    @property
    def words(self) -> str:
        """`rand-read-4k read`."""
        return self.step if self.step == self.direction else f"{self.step} {self.direction}"


class SiteRunLine(Frozen):
    """One run in a table. `at` is empty where the time of measurement is not known. `trust` and
    `limiter` are of its verdicts: the worst, and what the most steps ran into; None and empty where
    there is no verdict. `on_credit` are the steps that ended before the disk's burst credit did,
    `lasting` those that reached the level behind it. `usd_a_month` is the price of its disk when it
    was measured (None: not known)."""

    run_id: str
    trial_id: str
    key: str
    at: str
    state: str
    provider: str
    region: str = ""
    disk: str = ""
    machine: str = ""
    profile: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    marks: tuple[str, ...] = ()
    trust: Trust | None = None
    limiter: str = ""
    on_credit: tuple[str, ...] = ()
    lasting: tuple[str, ...] = ()
    read: Best | None = None
    write: Best | None = None
    usd_a_month: float | None = None


class ConfigurationLine(Frozen):
    """One configuration in a table: figures are medians over the machines of its present level.

    `rest` are fields of its subject that have no column. `followed`: it was measured often enough
    for a change to be found. `trust` is the worst of its runs' verdicts, `doubted` how many runs
    have it where it is not yes. `usd_a_month` is the price of its disk at the newest measurement
    (None: not known).
    """

    key: str
    words: str
    provider: str
    region: str = ""
    disk: str = ""
    machine: str = ""
    profile: str = ""
    target: str = ""
    rest: tuple[tuple[str, str], ...] = ()
    marks: tuple[str, ...] = ()
    runs: int
    times: int
    machines: int
    first: str
    last: str
    read: Best | None = None
    write: Best | None = None
    trust: Trust | None = None
    doubted: int = 0
    followed: bool = False
    levels: tuple[NewLevel, ...] = ()
    usd_a_month: float | None = None

    @property
    def most(self) -> tuple[str, Best] | None:
        """The direction with the most lasting IOPS, and those IOPS; None where none are known."""
        known = [
            (name, best)
            for name, best in (("read", self.read), ("write", self.write))
            if best is not None and not best.on_credit
        ]
        return max(known, key=lambda pair: pair[1].value, default=None)

    @property
    def usd_per_1000_iops(self) -> float | None:
        """The monthly price over 1,000 of the lasting IOPS in the faster direction, in US dollars;
        None where price or IOPS are not known."""
        if self.most is None or not self.usd_a_month or not self.most[1].value:
            return None
        return self.usd_a_month / self.most[1].value * 1000
