"""Figures that a post published (the form of data/published/*.yaml, catalog/published.py) as runs.

A disk in a table is a trial, of each profile and its parameters, since these are a run's; a printed
sample of its figures is a run, and what has none is of the first. A figure is what the post prints:
no count of I/Os, and no time that it does not say; of IOPS and bytes the one follows from the other
where the block is known. `Published.labels` say what disk and machine it was, as a user says it of
other imports; the day is that of the post.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from diskbench.catalog.published import LOADS, RATES, Published, both_rates, parse_post
from diskbench.errors import InvalidValue
from diskbench.importers import form
from diskbench.parallel import grouped
from diskbench.units import GIB
from diskbench.yaml_lines import read_yaml

_MOST_RUNS = 1000


@lru_cache(maxsize=8)  # each run of a post asks for the whole file
def read_post(data: bytes, name: str) -> form.Imported:
    """The trials of a post, in the order of its tables. Raises InvalidValue naming the line."""
    document = read_yaml(form.text_of(data, name))
    if document.mistakes:
        raise InvalidValue(min(document.mistakes).text_in(name))
    figures = parse_post(document, name)
    trials = grouped(
        figures, lambda of: (of.group, of.machine, of.profile, *sorted(of.parameters.items()))
    )
    runs = form.some(_runs(trials.values(), name), name, "figure", _MOST_RUNS)
    return form.Imported("published", "", runs, figures=figures)


def _runs(trials: Iterable[Sequence[Published]], name: str) -> Iterator[form.ImportedRun]:
    first = 0
    for trial in trials:
        count = max(1, *(len(figure.samples) for figure in trial))
        yield from (_run(trial, number, first, name) for number in range(count))
        first += count


def _run(trial: Sequence[Published], number: int, first: int, name: str) -> form.ImportedRun:
    one = trial[0]
    taken = tuple(
        of.model_copy(update={"value": of.samples[number]}) if of.samples else of
        for of in trial
        if of.samples[number:] or number == 0
    )
    notes = tuple(dict.fromkeys(note for figure in trial for note in figure.notes))
    steps = list(dict.fromkeys(figure.step for figure in trial))
    row = {
        "profile": one.profile,
        "parameters": {
            key: int(value) if value.is_integer() else value
            for key, value in one.parameters.items()
        },
        "cloud": one.provider,
        "region": one.region,
        "instance_type": one.instance_type,
        "cpu_count": one.cores,
        "memory_bytes": round((one.memory_gib or 0) * GIB) or None,
        "disk_cloud": one.provider,
        "disk_type": one.disk_type,
        "disk_gib": round(one.size_gib or 0) or None,
        "provisioned_iops": round(one.provisioned_iops or 0) or None,
        "host_cache": one.cache,
    }
    return form.ImportedRun(
        tuple(
            _step(steps.index(step), of, name)
            for step, of in grouped(taken, lambda figure: figure.step).items()
        ),
        notes=notes if number == 0 else (),
        first=first,
        row=row,
        labels=one.labels,
        figures=taken,
    )


def _step(index: int, figures: Sequence[Published], name: str) -> form.ImportedStep:
    step, load = form.step_of(index, figures[0].step), LOADS.get(figures[0].step)
    block, depth, pattern = None, None, None
    if load is not None:
        way = {1.0: "read", 0.0: "write"}.get(load.read_share, "rw")
        block, depth, pattern = load.block_bytes, load.depth, f"{'rand' * load.random}{way}"
    rows = []
    for direction, of in grouped(figures, lambda figure: figure.direction).items():
        values = {figure.metric: figure.value for figure in of}
        iops, moved = both_rates(values, load)
        rows.append(
            form.row(
                step=step,
                direction="mixed" if direction == "total" else direction,
                where=f"{name}: {of[0].id}",
                seconds=of[0].runtime_s,
                iops=iops,
                bytes_per_s=moved,
                rw=pattern,
                block=block,
                depth=depth,
                latency={name: value for name, value in values.items() if name not in RATES},
            )
        )
    return form.ImportedStep(step, tuple(rows))


_IS_POST = form.shows(r"^source:", r"^workloads:", r"^tables:")
POST = form.Format("published", "tables of published figures (YAML)", _IS_POST, read_post)
