"""The registry of addresses while several lab hosts come and go at once."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from diskbench.providers.lab import machines
from diskbench.providers.lab import places as registry
from diskbench.providers.lab.places import ADDRESSES, LeaseFolder, claim_address, give_up_address


def places(base, number):
    found = [LeaseFolder(f"lease{n}", base / f"lease{n}") for n in range(number)]
    for place in found:
        place.path.mkdir(parents=True)
    return found


def first_time(patched, name, before):
    """Do something just before the first call of this method of Path: what another process does."""
    method, done = getattr(Path, name), []

    def called(self, *args, **kwargs):
        if not done:
            done.append(True)
            before(self)
        return method(self, *args, **kwargs)

    patched.setattr(Path, name, called)


def test_a_mark_that_goes_while_it_is_read_keeps_no_other(tmp_path, monkeypatch):
    ours, *others = places(tmp_path, 4)
    for place in (ours, *others):
        claim_address(place)
    first_time(monkeypatch, "readlink", lambda _: [give_up_address(place) for place in others])
    give_up_address(ours)
    assert list((tmp_path / ADDRESSES).iterdir()) == []


def test_a_registry_that_its_last_host_takes_along_is_made_again(tmp_path, monkeypatch):
    [ours] = places(tmp_path, 1)
    first_time(monkeypatch, "symlink_to", lambda link: link.parent.rmdir())
    claim_address(ours)
    assert [str(link.readlink()) for link in (tmp_path / ADDRESSES).iterdir()] == ["lease0"]


def test_an_address_that_is_given_up_while_it_is_asked_for_is_taken(tmp_path, monkeypatch):
    [ours] = places(tmp_path, 1)
    taken = tmp_path / ADDRESSES / next(registry.candidates(ours))
    taken.parent.mkdir()
    taken.symlink_to("another")
    first_time(monkeypatch, "readlink", lambda link: link.unlink())
    assert claim_address(ours)[0] == taken.name


def test_hosts_that_are_released_at_once_leave_no_registry(tmp_path):
    for _ in range(20):
        found = places(tmp_path, 8)
        for place in found:
            claim_address(place)
        together = threading.Barrier(len(found))

        def release(place, together=together):
            together.wait()
            give_up_address(place)

        with ThreadPoolExecutor(len(found)) as pool:
            list(pool.map(release, found))
        assert list((tmp_path / ADDRESSES).iterdir()) == []
        for place in found:
            place.path.rmdir()


def test_a_release_of_nothing_removes_what_the_last_one_left(tmp_path, monkeypatch):
    monkeypatch.setenv(registry.VARIABLE, str(tmp_path / "lab"))
    (tmp_path / "lab" / ADDRESSES).mkdir(parents=True)
    machines.release("never")
    assert not (tmp_path / "lab").exists()
