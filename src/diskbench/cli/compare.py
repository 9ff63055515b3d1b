"""`diskbench compare`: runs beside other runs, or beside what others published of the same disk."""

import sys
from typing import Annotated, Literal

from diskbench.cli.selecting import Pool, selecting_by
from diskbench.cli.stores import DatabaseUrl, database, evidence
from diskbench.cli.terminal import TableOrJson, option, print_json, terminal_width
from diskbench.errors import InvalidValue
from diskbench.model.comparison import Comparison, Metric
from diskbench.model.run import SELECTION_HELP
from diskbench.report.published.beside import compared
from diskbench.report.published.text import beside_lines
from diskbench.report.terminal.compare_text import compare_lines
from diskbench.results.compare_runs import compare_metrics
from diskbench.results.pool import facts_to_pool
from diskbench.results.run_evidence import EvidenceOfRuns
from diskbench.results.selection import Selection, conditions

MoreFigures = Annotated[
    bool, option("--verbose", "-v", "Also mean and p99.9 latency, replicates and conclusions.")
]


@selecting_by(
    "A B",
    f"Which runs: {SELECTION_HELP}. With --published any number of them, and published figures by "
    "id.",
)
def compare(
    asked: Selection,
    published: Annotated[
        bool, option("--published", "Compare with figures that others published of the same disk.")
    ] = False,
    alone: Annotated[
        bool, option("--alone", "Only these runs, without the other runs of their trials.")
    ] = False,
    include_emulated: Annotated[
        bool,
        option("--include-emulated", "Include emulated, imported and unverified runs, marked."),
    ] = False,
    metric: Annotated[
        Metric | None, option("The only figure to compare (default: IOPS, MB/s and p99 latency).")
    ] = None,
    pool: Pool = None,
    output: TableOrJson = "table",
    verbose: MoreFigures = False,
    database_url: DatabaseUrl = None,
) -> None:
    """Compare B with A, or runs with published figures of the same disk and workload.

    Only replicates count: trials on different machines. Differences below the noise are marked.
    """
    if published:
        document = compared(
            database(database_url),
            asked,
            EvidenceOfRuns(evidence),
            alone=alone,
            include_emulated=include_emulated,
        )
        if document.left_out:
            names = ", ".join(document.left_out)
            print(f"left out, because no cloud sells them: {names}", file=sys.stderr)
        if output == "json":
            print_json(document.model_dump_json())
            return
        for line in beside_lines(document):
            print(line)
        return
    if len(asked.names) != 2:
        raise InvalidValue(
            f"compare takes two selections, not {len(asked.names)}",
            advice="name A and B, such as disk=gp2 disk=gp3, or 2 1 for two lines of 'diskbench "
            "results list'; or add --published",
        )
    engine = database(database_url)
    comparison = compare_metrics(
        engine,
        *asked.names,
        metrics=(metric,) if metric else ALL_METRICS if verbose else METRICS,
        pool=facts_to_pool(pool or ()),
        within=conditions(engine, asked.filters, since=asked.since, until=asked.until),
    )
    print_comparison(comparison, output=output, verbose=verbose)


METRICS: tuple[Metric, ...] = ("iops", "bytes_per_s", "p99_ns")
ALL_METRICS: tuple[Metric, ...] = ("iops", "bytes_per_s", "lat_mean_ns", "p99_ns", "p99_9_ns")


def print_comparison(
    comparison: Comparison, *, output: Literal["table", "json"], verbose: bool
) -> None:
    """Print a comparison as tables or as one document."""
    if output == "json":
        print_json(comparison.model_dump_json(indent=2))
        return
    print(*compare_lines(comparison, width=terminal_width(), verbose=verbose), sep="\n")
