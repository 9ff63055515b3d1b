"""Who calls, and where: a token goes to Google, or to whom its owner sends it over TLS."""

import json
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from unittest.mock import Mock

import pytest
from emulators.gcp.server import write_credentials
from google.auth.credentials import AnonymousCredentials

from diskbench.errors import AccessDenied, InvalidValue
from diskbench.providers.gcp.client import is_google, log_in

EMULATOR = "http://127.0.0.1:8080"


@pytest.fixture(autouse=True)
def nobody(monkeypatch, tmp_path):
    """No credentials of whoever runs the tests."""
    for name in (
        "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT",
        "GOOGLE_CLOUD_UNIVERSE_DOMAIN",
    ):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path / "gcloud"))
    monkeypatch.setenv("NO_GCE_CHECK", "true")


@pytest.fixture
def key_file(tmp_path, monkeypatch):
    """A service account's key, whose tokens `EMULATOR` gives; in use."""
    file = tmp_path / "key.json"
    write_credentials(file, EMULATOR, "somebody")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    return file


def googles(file, **more):
    told = json.loads(file.read_text()) | {"token_uri": "https://oauth2.googleapis.com/token"}
    file.write_text(json.dumps(told | more))


@pytest.mark.parametrize("endpoint", [None, "https://compute-mine.p.googleapis.com"])
def test_google_is_never_called_without_credentials_that_are_there(endpoint, tmp_path, monkeypatch):
    with pytest.raises(AccessDenied, match=r"^there are no Google credentials\n") as refused:
        log_in("my-project", endpoint)
    assert "gcloud auth application-default login" in refused.value.advice
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "gone.json"))
    with pytest.raises(AccessDenied, match=r"cannot be used: .*gone\.json"):
        log_in("my-project", endpoint)


def test_the_project_is_that_typed_or_of_credentials_which_never_go_out_in_the_clear(key_file):
    googles(key_file)
    assert log_in(None, None).project == "diskbench-emulated"
    assert log_in("my-project", None).project == "my-project"
    # Google's token never goes out in the clear.
    assert isinstance(log_in("my-project", EMULATOR).credentials, AnonymousCredentials)


def test_an_emulator_on_this_machine_needs_a_project_and_no_credentials(monkeypatch):
    login = log_in("my-project", EMULATOR)
    assert isinstance(login.credentials, AnonymousCredentials)
    assert login.emulated
    with pytest.raises(InvalidValue, match="no Google Cloud project"):
        log_in(None, EMULATOR)
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "told")
    assert log_in(None, EMULATOR).project == "told"


def test_a_token_goes_back_to_whoever_issued_it_and_google_is_not_asked_about_it(key_file):
    login = log_in(None, EMULATOR)
    assert not isinstance(login.credentials, AnonymousCredentials)
    assert login.credentials.universe_domain == login.universe == "127.0.0.1:8080"
    assert login.emulated
    assert "redentials" not in repr(login), "they are never shown"
    # A sovereign cloud is known by its credentials.
    googles(key_file, universe_domain="s3nsapis.fr")
    login = log_in("my-project", "https://compute.s3nsapis.fr")
    assert (login.universe, login.emulated) == ("s3nsapis.fr", False)
    assert log_in("my-project", "https://compute.example.com").emulated


def test_googles_endpoints_are_known_by_their_host():
    for url in ("https://compute.googleapis.com", "https://compute-mine.p.googleapis.com"):
        assert is_google(url)
    for url in ("https://googleapis.com.example.com", "https://notgoogleapis.com", EMULATOR):
        assert not is_google(url)


def test_threads_that_share_a_login_share_its_connections(monkeypatch):
    login, made, second_asks = log_in("my-project", EMULATOR), [], Event()

    def make(*_, **__):
        made.append(Mock())
        second_asks.wait(30)
        return made[-1]

    monkeypatch.setattr("google.auth.transport.requests.AuthorizedSession", make)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(lambda: login.session)
        second = pool.submit(lambda: (second_asks.set(), login.session)[1])
    assert [first.result(), second.result()] == [made[0]] * 2
