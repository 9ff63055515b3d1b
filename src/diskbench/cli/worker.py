"""`diskbench worker`: a process that measures the cells of matrices."""

from __future__ import annotations

import logging
from typing import Annotated

import typer

from diskbench.cli.sessions import opened
from diskbench.cli.stores import DatabaseUrl, EvidenceUrl
from diskbench.engine.matrix.worker import Worker, serve
from diskbench.engine.processes import check_shared, fingerprint
from diskbench.engine.session import Session
from diskbench.errors import Suspended
from diskbench.model.outcome import Swept
from diskbench.plan.admit import read_patterns
from diskbench.providers.registry import provider_names
from diskbench.store.executors import describe_executor

log = logging.getLogger("diskbench.worker")


def worker(
    queues: Annotated[
        str,
        typer.Option(
            metavar="LIST", help="Providers and sites to serve (PROVIDER/*,PROVIDER/SITE)."
        ),
    ] = "*",
    concurrency: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Take no new cell while this process has N cells "
            "(default: as many as the matrices allow).",
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Its name in 'diskbench status' (default: its host)."),
    ] = None,
    drain: Annotated[
        bool, typer.Option("--drain", help="On SIGTERM, finish its own cells before it ends.")
    ] = False,
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
) -> None:
    """Measure cells of matrices until SIGTERM or Ctrl-C, and resume those of dead workers.

    On SIGTERM it ends at once: fio continues, and another worker resumes its cells. With --drain
    it takes no new cells and ends after its last one; a second signal ends it at once.
    """
    import socket

    patterns = read_patterns(queues, provider_names())
    _tell_events()
    session = opened(database_url, evidence_url, gives_back=False)
    secret_id = fingerprint(session.secret())
    check_shared(session.database, secret_id)
    called = name or socket.gethostname()
    describe_executor(
        session.database,
        session.executor_id,
        name=called,
        queues=list(patterns),
        concurrency=concurrency,
        draining=False,
        secret_id=secret_id,
    )
    own_worker = Worker(
        session, serves=patterns, room=concurrency, note=_tell_note, swept=_tell_swept
    )
    own_worker.launch(schedules=True)
    log.info("worker %s serves %s", called, ", ".join(patterns), extra=_of(session, concurrency))

    try:
        serve(own_worker, drains=drain)
    except Suspended:
        log.info("worker %s stops; other workers resume its cells", called)
    else:
        log.info("worker %s ends: it has no cells left", called)
    finally:
        own_worker.stop.leave()  # also after an error: a worker that beats must be one that works


def _tell_events() -> None:
    """Log events at level INFO, since a worker has no table to show."""
    ours = logging.getLogger("diskbench")
    ours.setLevel(min(ours.getEffectiveLevel(), logging.INFO))


def _of(session: Session, concurrency: int | None) -> dict[str, object]:
    document = {"executor": session.executor_id, "concurrency": concurrency}
    return {key: value for key, value in document.items() if value is not None}


def _tell_note(trial_id: str, text: str) -> None:
    log.info("%s", text, extra={"trial": trial_id})


def _tell_swept(swept: list[Swept]) -> None:
    for item in swept:
        if item.outcome == "kept":  # checked again in half a minute
            continue
        level = logging.WARNING if item.problem else logging.INFO
        text = item.problem.message if item.problem else f"{item.outcome.replace('-', ' ')}"
        log.log(level, "%s: %s", text, item.reason, extra={"lease": item.lease_id})
