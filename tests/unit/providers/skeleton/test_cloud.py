"""A session is opened once for all threads, and anew only after the cloud refused it. The details
of a rental are stored in plans: what they are called there does not change."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.providers.vsphere.made import resolved

from diskbench.providers.aws.disk_request import AwsResolved
from diskbench.providers.azure.disk_request import AzureResolved
from diskbench.providers.gcp.disk_request import GcpResolved
from diskbench.providers.skeleton.cloud import Sessions
from diskbench.providers.vsphere.disk_request import VsphereResolved


@dataclass
class Opened:
    refused: threading.Event = field(default_factory=threading.Event)
    closed: int = 0

    def close(self) -> None:
        self.closed += 1


def test_threads_that_ask_at_the_same_time_share_one_session():
    sessions: Sessions[Opened] = Sessions()
    all_asked, made = threading.Barrier(4), list[Opened]()

    def open_new() -> Opened:
        made.append(Opened())
        return made[-1]

    def ask(_: int) -> Opened:
        all_asked.wait(60)
        return sessions.of("eu", open_new)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(ask, range(4)))
    assert len(made) == 1
    assert all(session is made[0] for session in found)
    assert sessions.of("us", open_new) is not made[0]


def fail(*_: object) -> Opened:
    raise OSError("nobody answers")


def test_a_session_that_was_refused_or_could_not_be_opened_is_opened_anew():
    sessions: Sessions[Opened] = Sessions()
    with pytest.raises(OSError, match="nobody"):
        sessions.of("eu", fail)
    first = sessions.of("eu", Opened)
    first.refused.set()
    second = sessions.of("eu", Opened)
    assert second is not first
    assert sessions.of("eu", Opened) is second
    assert first.closed == 0, "others may use it"


def test_closing_ends_every_session_also_after_one_that_fails():
    sessions: Sessions[Any] = Sessions()
    sessions.of("us", lambda: SimpleNamespace(close=fail, refused=threading.Event()))
    second = sessions.of("eu", Opened)
    sessions.close()
    sessions.close()
    assert second.closed == 1
    assert sessions.of("eu", Opened) is not second


def test_details_are_stored_under_their_old_names_and_read_as_they_were_written():
    for kind in (AwsResolved, AzureResolved, GcpResolved, VsphereResolved):
        assert kind.model_fields["requested"].serialization_alias == "wanted"
    details = resolved()
    stored = details.model_dump(mode="json")
    assert stored["wanted"]["size_gib"] == details.requested.size_gib
    assert "requested" not in stored
    assert VsphereResolved.model_validate(stored) == details
