"""Passwords and keys in URLs of stores and services: never taken for a path, never told."""

import json
import secrets
import subprocess
import time
from pathlib import Path
from urllib.parse import quote

import pytest

SECRET = "Hunter2"  # noqa: S105 - what must not be told
PASSWORDS = ["Hunter2#x", "Hunter2?x=1", "Hunter2/x", "x@Hunter2", "Hunter2:x", "100%Hunter2",
             "Hunter2 x", "Hunter2é密"]  # fmt: skip


def all_text(done: subprocess.CompletedProcess[str], place: Path) -> str:
    """All that a command said, and all that it wrote."""
    written = [
        path.read_bytes().decode(errors="replace") for path in place.rglob("*") if path.is_file()
    ]
    return "\n".join([done.stdout, done.stderr, *written, *map(str, place.rglob("*"))])


@pytest.mark.parametrize("password", PASSWORDS)
def test_a_password_of_any_letters_is_never_printed(user, password):
    """The URL's password has # ? / @ : % a blank or unicode: plain, with --debug, as JSON."""
    user.extra_env["DISKBENCH_DATABASE_URL"] = f"postgresql://me:{password}@127.0.0.1:1/d"
    for arguments in (("config", "--output", "json"), ("--debug", "results", "list")):
        assert SECRET not in all_text(user.call(*arguments), user.home)


@pytest.mark.parametrize("way", ["flag", "environment", "diskbench.toml", "config.toml"])
def test_an_invalid_url_is_never_a_file(user, way):
    """postgresql:/u:p@h/d, host=h password=p and the like, by flag, environment and file."""
    urls = [f"postgresql:/u:{SECRET}@h/d", f"host=h password={SECRET}"]
    if way == "flag":
        urls += [f"u:{SECRET}@h/d", f"sqlite://u:{SECRET}@h/d", f"mysql://u:{SECRET}@h/d",
                 f"{SECRET}://u@h/d", f"postgresql://h/d?pasword={SECRET}"]  # fmt: skip
    for url in urls:
        arguments = ["results", "list"]
        settings = user.home / ".config" / "diskbench"
        settings.mkdir(parents=True, exist_ok=True)
        if way == "flag":
            arguments += ["--database-url", url]
        elif way == "environment":
            user.extra_env["DISKBENCH_DATABASE_URL"] = url
        else:
            folder = user.home if way == "diskbench.toml" else settings
            (folder / way).write_text(f"database_url = {json.dumps(url)}\n")
        before = set(user.home.rglob("*"))
        done = user.call(*arguments)
        assert done.returncode == 2
        assert SECRET not in done.stdout + done.stderr
        assert "postgresql://user:password@host" in done.stderr or "libpq" in done.stderr
        assert set(user.home.rglob("*")) == before, "nothing was made"


@pytest.mark.parametrize(
    "url",
    [
        f"s3://AKIA:{SECRET}@bucket/x",
        f"s3:/AKIA:{SECRET}@bucket/x",
        f"https://a.blob.core.windows.net/c?sv=1&sig={SECRET}",
        f"az://container/x?sas_token={SECRET}",
        f"file:///tmp/x#{SECRET}",
    ],
)
def test_an_evidence_url_with_a_secret_is_refused_unseen(user, url):
    """The evidence store is given with a key, a SAS token or a secret in its URL: exit 2."""
    user.extra_env["DISKBENCH_EVIDENCE_URL"] = url
    done = user.call("--debug", "results", "rebuild")
    assert done.returncode == 2
    assert SECRET not in all_text(done, user.home)


@pytest.mark.parametrize("provider", ["aws", "azure", "gcp", "vsphere"])
def test_an_endpoint_with_a_secret_is_refused_unseen(user, provider):
    """An API endpoint has a user and a password, or a token in its query: nothing is planned."""
    for url in (f"https://u:{SECRET}@127.0.0.1:1", f"https://127.0.0.1:1/?token={SECRET}"):
        for command in (
            ("plan", "--provider", provider, "--profile", "quick", "--endpoint-url", url),
            *([("doctor", "--provider", provider, "--endpoint-url", url)] if "@" in url else []),
        ):
            done = user.call("--debug", *command)
            assert done.returncode == 2
            assert SECRET not in all_text(done, user.home)


def test_a_run_on_postgresql_leaves_its_password_nowhere(user, postgres):
    """A run is measured, shown, exported, reported, and then given a wrong password."""
    # Of this test alone: among the arguments of all processes are those of other tests, too.
    secret = f"{SECRET}{secrets.token_hex(8)}"
    password = f"{secret}#/?@:%é"
    url = postgres.replace("bench@", f"bench:{quote(password, safe='')}@")
    kept = (user.home / "kept").as_uri()
    user.extra_env |= {"DISKBENCH_DATABASE_URL": url, "DISKBENCH_EVIDENCE_URL": kept}
    (user.home / "disk").mkdir()
    job = user.job("[w]\nrw=write\nsize=1m\nioengine=psync\nbs=64k\n")
    process = user.start("--debug", "run", "--path", "disk", "--profile", job, executed=True)
    seen: set[str] = set()
    while process.poll() is None:
        seen |= command_lines()
        time.sleep(0.02)  # between two looks at all processes
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    assert not (user.home / ".local/share/diskbench/diskbench.db").exists(), "nor SQLite beside it"
    told = [all_text(subprocess.CompletedProcess([], 0, out, err), user.home), *seen]
    for line in (
        *("results show", "results export --format json", "config", "status", "doctor"),
        *("report last -o r.html", "--debug results show nothing"),
    ):
        told += [all_text(user.call(*line.split()), user.home)]
    forms = {secret, password, quote(password, safe=""), quote(password)}
    assert not [form for form in forms if any(form in text for text in told)]


def command_lines() -> set[str]:
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.add(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:  # it ended
            continue
    return found
