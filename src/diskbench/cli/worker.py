"""`diskbench worker`: a process that measures the cells of matrices."""

import logging
from typing import Annotated

from diskbench.cli.sessions import opened
from diskbench.cli.stores import DatabaseUrl, EvidenceUrl
from diskbench.cli.terminal import option
from diskbench.engine.matrix.worker import Worker, serve
from diskbench.engine.processes import check_shared, fingerprint
from diskbench.errors import Suspended
from diskbench.model.outcome import Swept
from diskbench.plan.admit import read_patterns
from diskbench.providers.registry import provider_names
from diskbench.store.executors import describe_executor

log = logging.getLogger("diskbench.worker")


def worker(
    queues: Annotated[
        str, option("LIST", "Providers and sites to serve (PROVIDER/*,PROVIDER/SITE).")
    ] = "*",
    concurrency: Annotated[
        int | None,
        option(
            "N",
            "Take no new cell while this process has N cells (default: what the matrices allow).",
            min=1,
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str | None, option("NAME", "Its name in 'diskbench status' (default: its host).")
    ] = None,
    drain: Annotated[
        bool, option("--drain", "On SIGTERM, finish the worker's own cells before it ends.")
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
    # Events at level INFO, since a worker has no table to show.
    every = logging.getLogger("diskbench")
    every.setLevel(min(every.getEffectiveLevel(), logging.INFO))
    session = opened(database_url, evidence_url, gives_back=False)
    secret_id = fingerprint(session.secret())
    check_shared(session.database, secret_id)
    called = name or socket.gethostname()
    ours = {"name": called, "queues": list(patterns), "concurrency": concurrency}
    known = {"draining": False, "secret_id": secret_id}
    describe_executor(session.database, session.executor_id, **ours, **known)
    own_worker = Worker(
        session,
        serves=patterns,
        room=concurrency,
        note=lambda trial_id, text: log.info("%s", text, extra={"trial": trial_id}),
        swept=_tell_swept,
    )
    own_worker.launch(schedules=True)
    own: dict[str, object] = {"executor": session.executor_id}
    own |= {} if concurrency is None else {"concurrency": concurrency}
    log.info("worker %s serves %s", called, ", ".join(patterns), extra=own)

    try:
        serve(own_worker, drains=drain)
    except Suspended:
        log.info("worker %s stops; other workers resume its cells", called)
    else:
        log.info("worker %s ends: it has no cells left", called)
    finally:
        own_worker.stop.leave()  # also after an error: a worker that beats must be one that works


def _tell_swept(swept: list[Swept]) -> None:
    for item in swept:
        if item.outcome == "kept":  # checked again in half a minute
            continue
        level = logging.WARNING if item.problem else logging.INFO
        text = item.problem.message if item.problem else f"{item.outcome.replace('-', ' ')}"
        log.log(level, "%s: %s", text, item.reason, extra={"lease": item.lease_id})
