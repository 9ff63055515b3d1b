"""The reports in a text of fio: one job of each as its lines come, and which report is the last."""

from dataclasses import dataclass, field

from diskbench.errors import FioOutputUnreadable
from diskbench.fio.clients import ALL_CLIENTS
from diskbench.fio.reported import MOST_RUNS, DirectionStats, FioJob
from diskbench.model.result import Direction


@dataclass
class TextBlock:
    """What the lines of one job say, as they come."""

    job: FioJob
    pid: str
    where: str
    stats: dict[Direction, DirectionStats] = field(default_factory=dict)
    now: Direction | None = None
    percentiles: tuple[str, float] | None = None


@dataclass
class TextReports:
    """What each fio reported last, and how often it reported; `now` is the report being read.

    With --status-interval fio repeats the whole report, of what has begun so far; then the jobs are
    the same processes. Of several servers each report is of another one.
    """

    now: list[TextBlock] = field(default_factory=list)
    closed: list[tuple[int, list[TextBlock]]] = field(default_factory=list)
    greeted: int = 0
    """Servers that the client named at its begin."""
    summed: bool = False
    """Whether the sum of all clients is among them."""

    @property
    def servers(self) -> bool:
        """Whether several servers may have printed them."""
        return self.summed or self.greeted > 0

    def close(self, where: str) -> None:
        """End the report being read. Raises FioOutputUnreadable for too many of other processes."""
        if not self.now:
            return
        if self._repeats():
            self.closed[-1] = (self.closed[-1][0] + 1, self.now)
        else:
            self.closed.append((1, self.now))
        self.now = []
        if len(self.closed) > MOST_RUNS:
            raise text_unreadable(where, f"it holds more than {MOST_RUNS:,} runs")

    def all(self, where: str) -> list[tuple[int, list[TextBlock]]]:
        """The last report of each, at the end of the text. An interim report that was cut off is
        left out."""
        if not self._repeats():
            self.close(where)
        if self.servers:
            return [(1, [block for _, blocks in self.closed for block in blocks])]
        return self.closed

    def notes(self, passes: int) -> tuple[str, ...]:
        """What was unusual, of an fio that reported `passes` times."""
        notes = []
        if passes > 1:
            notes.append(f"{passes} reports (--status-interval): the last one is used")
        if self.greeted > 1 and not self.summed:
            notes.append(
                f"it names {self.greeted} servers and has no sum of them ({ALL_CLIENTS}): what it "
                "holds may be of some of them"
            )
        return tuple(notes)

    def _repeats(self) -> bool:
        if self.servers or not self.closed:
            return False
        before = {(block.job.name, block.pid) for block in self.closed[-1][1]}
        return any((block.job.name, block.pid) in before for block in self.now)


def text_unreadable(where: str, cause: str) -> FioOutputUnreadable:
    """The error for a text that cannot be read."""
    return FioOutputUnreadable(
        f"{where}: not readable as text of fio: {cause}",
        advice="it may have been cut while it was copied; JSON (--output-format=json+) holds most",
    )
