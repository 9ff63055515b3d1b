"""Whether the load generator set the pace: its processor, by samples and by fio's own account."""

from __future__ import annotations

from dataclasses import dataclass

from diskbench.model.samples import BUSY_CORE, LITTLE_CPU, STEAL


@dataclass(frozen=True, slots=True)
class Client:
    """What the load generator used of the machine; None where nobody counted.

    `busiest_job` is one process of fio by its own account, and `all_jobs` all of them together, in
    cores.
    """

    busiest_core: float | None = None
    steal: float | None = None
    busiest_job: float | None = None
    all_jobs: float | None = None


def is_client_bound(client: Client) -> bool:
    """MR-12: whether the load generator may have set the pace."""
    return (
        (client.busiest_core or 0) >= BUSY_CORE
        or (client.busiest_job or 0) >= BUSY_CORE
        or (client.steal or 0) >= STEAL
    )


def is_busy_itself(client: Client) -> bool:
    """Whether fio itself filled a core; what others did explains less than a shallow queue does."""
    by_core = (client.busiest_core or 0) >= BUSY_CORE and not is_other_work(client)
    return by_core or (client.busiest_job or 0) >= BUSY_CORE


def is_other_work(client: Client) -> bool:
    """Whether a busy core was busy with something else than fio, and fio itself was not."""
    return (
        (client.busiest_core or 0) >= BUSY_CORE
        and (client.busiest_job or 0) < BUSY_CORE
        and client.all_jobs is not None
        and client.all_jobs < LITTLE_CPU
    )


def client_words(client: Client) -> tuple[str, ...]:
    """What was at its limit, each with its figure."""
    told = []
    if client.busiest_core is not None and client.busiest_core >= BUSY_CORE:
        told.append(f"the busiest core was {client.busiest_core:.0%} busy")
        if is_other_work(client):
            told.append(f"but fio used {client.all_jobs:.0%} of a core: something else was busy")
    if client.busiest_job is not None and client.busiest_job >= BUSY_CORE:
        told.append(f"one job of fio used {client.busiest_job:.0%} of a core")
    if client.steal is not None and client.steal >= STEAL:
        told.append(f"the hypervisor took {client.steal:.1%} of the processor time")
    return tuple(told)
