"""What a file says of a load beside fio's report of it: the command line above the results, in a
log of a terminal, or a job file in the same folder.

fio's text and terse lines leave out whether I/O was direct, among others. A command is of the jobs
that it names, where what is known of them agrees: pattern, block, depth, engine. Of several
commands with one name the first is of the first report, if there are as many reports.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from diskbench.errors import ProfileError
from diskbench.fio import declared
from diskbench.fio.command_line import job_file
from diskbench.fio.reported import FioJob, FioOutput, JobFile
from diskbench.fio.rows import whole_block

_COMMAND: Final = re.compile(
    r"^[^\n]{0,200}?(?<![\w.-])fio[ \t](?=[^\n]{0,4000}-name\b)"
    r"(?P<options>[^\n]{1,4000})$",
    re.MULTILINE,
)
_CONTINUED: Final = re.compile(r"\\[ \t]*\r?\n[ \t]*>?")
_SHELL: Final = re.compile(r"[ \t](?:\||\d?>|&|;).*$")
_MOST: Final = 2_000

Sections = Mapping[str, declared.Options]


def commands_in(text: str) -> list[Sections]:
    """The jobs of each command of fio in a text, in order: name → options."""
    if "-name" not in text:
        return []
    found: list[Sections] = []
    for match in _COMMAND.finditer(_CONTINUED.sub(" ", text)):
        try:
            sections = declared.declared(job_file("fio " + _SHELL.sub("", match["options"])))
        except ProfileError:
            continue
        if sections:
            found.append(sections)
        if len(found) >= _MOST:
            break
    return found


def with_told(outputs: Sequence[FioOutput], told: Sequence[Sections]) -> tuple[FioOutput, ...]:
    """The reports with what commands or job files say of their jobs."""
    if not told:
        return tuple(outputs)
    return tuple(_with(one, list(_for(one, at, outputs, told))) for at, one in enumerate(outputs))


def with_job_file(outputs: Sequence[FioOutput], job_file: JobFile) -> tuple[FioOutput, ...]:
    """The reports with what a job file beside them says of their jobs, where a report does not say
    it. Where both say something else, the report counts, and a note says so."""
    name, text = job_file
    sections = declared.declared(text)
    if not sections:
        return tuple(outputs)
    return tuple(_beside(output, sections, name) for output in outputs)


def _beside(output: FioOutput, sections: Sections, name: str) -> FioOutput:
    ours = [job for job in output.jobs if job.name in sections]
    given = {job.name: declared.options_of(job, output, sections) for job in ours}
    unlike = [job.name for job in ours if not _agrees(job, output, given[job.name])]
    if unlike:
        words = f"{name} beside it has other options of job {unlike[0]}: the report counts"
        reports = "; ".join(filter(None, (output.reports, words)))
        return replace(output, notes=(*output.notes, words), reports=reports)
    if len(ours) < len(output.jobs) or not ours:
        return output
    if output.lists_options and all(declared.options_known(job, output) for job in output.jobs):
        return output
    reports = "; ".join(filter(None, (output.reports, f"options are from {name} beside it")))
    return replace(_with(output, [given[job.name] for job in output.jobs]), reports=reports)


def _for(
    output: FioOutput, at: int, outputs: Sequence[FioOutput], told: Sequence[Sections]
) -> Iterator[declared.Options | None]:
    """The options that were given to each job of a report; None where that is not known."""
    for job in output.jobs:
        if declared.is_direct(job, output, {}) is not None:
            yield None
            continue
        of_name = [sections[job.name] for sections in told if job.name in sections]
        reports = [
            place
            for place, other in enumerate(outputs)
            if any(theirs.name == job.name for theirs in other.jobs)
        ]
        if len(of_name) == len(reports) and len(reports) > 1:
            of_name = [of_name[reports.index(at)]]
        fitting = [options for options in of_name if _agrees(job, output, options)]
        alike = all(options == fitting[0] for options in fitting)
        yield fitting[0] if fitting and alike else None


def _with(output: FioOutput, given: Sequence[declared.Options | None]) -> FioOutput:
    jobs = tuple(
        job if options is None else replace(job, options={**options, **job.options})
        for job, options in zip(output.jobs, given, strict=True)
    )
    every = all(options is not None for options in given)
    return replace(output, jobs=jobs, lists_options=output.lists_options or every)


def _agrees(job: FioJob, output: FioOutput, given: declared.Options) -> bool:
    """Whether a report can be of a job with these options: what it states is the same, and its
    counts are of their directions and block."""
    stated = declared.first_names((*output.options.items(), *job.options.items()))
    if declared.rw_of(stated) and declared.rw_of(stated) != (declared.rw_of(given) or "read"):
        return False
    if stated.get("iodepth") and declared.iodepth(stated) != (declared.iodepth(given) or 1):
        return False
    if len({options["ioengine"] for options in (stated, given) if "ioengine" in options}) > 1:
        return False
    asked = declared.directions_of(given) or ("read",)
    for direction, stats in job.directions.items():
        if direction == "sync" or not stats.ios:
            continue
        block = declared.block_bytes({"rw": "read", **given}, direction)
        unlike = block is not None and whole_block(stats) not in (block, None)
        if direction not in asked or unlike:
            return False
    return True
