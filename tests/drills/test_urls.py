"""Passwords and keys in URLs of stores and services: never taken for a path, never told."""

import json
import os
import secrets
import signal
import subprocess
import time
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from tests.rigs.cli import Cli

SECRET = "Hunter2"  # noqa: S105 - what must not be told
PASSWORDS = ["Hunter2#x", "Hunter2?x=1", "Hunter2/x", "x@Hunter2", "Hunter2:x", "100%Hunter2",
             "Hunter2 x", "Hunter2é密"]  # fmt: skip


@pytest.fixture
def cli(tmp_path):
    return Cli(tmp_path)


def all_text(done: subprocess.CompletedProcess[str], place: Path) -> str:
    """All that a command said, and all that it wrote."""
    written = [
        path.read_bytes().decode(errors="replace") for path in place.rglob("*") if path.is_file()
    ]
    return "\n".join([done.stdout, done.stderr, *written, *map(str, place.rglob("*"))])


@pytest.mark.parametrize("password", PASSWORDS)
def test_a_password_of_any_letters_is_never_printed(cli, password):
    """The URL's password has # ? / @ : % a blank or unicode: plain, with --debug, as JSON."""
    cli.extra_env["DISKBENCH_DATABASE_URL"] = f"postgresql://me:{password}@127.0.0.1:1/d"
    for arguments in (("config", "--output", "json"), ("--debug", "results", "list")):
        assert SECRET not in all_text(cli.call(*arguments), cli.home)


@pytest.mark.parametrize("way", ["flag", "environment", "diskbench.toml", "config.toml"])
def test_an_invalid_url_is_never_a_file(cli, way):
    """postgresql:/u:p@h/d, host=h password=p and the like, by flag, environment and file."""
    urls = [f"postgresql:/u:{SECRET}@h/d", f"host=h password={SECRET}"]
    if way == "flag":
        urls += [f"u:{SECRET}@h/d", f"sqlite://u:{SECRET}@h/d", f"mysql://u:{SECRET}@h/d",
                 f"{SECRET}://u@h/d", f"postgresql://h/d?pasword={SECRET}"]  # fmt: skip
    for url in urls:
        arguments = ["results", "list"]
        user = cli.home / ".config" / "diskbench"
        user.mkdir(parents=True, exist_ok=True)
        if way == "flag":
            arguments += ["--database-url", url]
        elif way == "environment":
            cli.extra_env["DISKBENCH_DATABASE_URL"] = url
        else:
            folder = cli.home if way == "diskbench.toml" else user
            (folder / way).write_text(f"database_url = {json.dumps(url)}\n")
        before = set(cli.home.rglob("*"))
        done = cli.call(*arguments)
        assert done.returncode == 2
        assert SECRET not in done.stdout + done.stderr
        assert "postgresql://user:password@host" in done.stderr or "libpq" in done.stderr
        assert set(cli.home.rglob("*")) == before, "nothing was made"


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
def test_an_evidence_url_with_a_secret_is_refused_unseen(cli, url):
    """The evidence store is given with a key, a SAS token or a secret in its URL: exit 2."""
    cli.extra_env["DISKBENCH_EVIDENCE_URL"] = url
    done = cli.call("--debug", "results", "rebuild")
    assert done.returncode == 2
    assert SECRET not in all_text(done, cli.home)


@pytest.mark.parametrize("provider", ["aws", "azure", "gcp", "vsphere"])
def test_an_endpoint_with_a_secret_is_refused_unseen(cli, provider):
    """An API endpoint has a user and a password, or a token in its query: nothing is planned."""
    for url in (f"https://u:{SECRET}@127.0.0.1:1", f"https://127.0.0.1:1/?token={SECRET}"):
        for command in (
            ("plan", "--provider", provider, "--profile", "quick", "--endpoint-url", url),
            *([("doctor", "--provider", provider, "--endpoint-url", url)] if "@" in url else []),
        ):
            done = cli.call("--debug", *command)
            assert done.returncode == 2
            assert SECRET not in all_text(done, cli.home)


def test_a_run_on_postgresql_leaves_its_password_nowhere(cli, postgres):
    """A run is measured, shown, exported, reported, and then given a wrong password."""
    # Of this test alone: among the arguments of all processes are those of other tests, too.
    secret = f"{SECRET}{secrets.token_hex(8)}"
    password = f"{secret}#/?@:%é"
    user = urlsplit(postgres).username or ""
    url = postgres.replace(f"{user}@", f"{user}:{quote(password, safe='')}@")
    cli.extra_env |= {
        "DISKBENCH_DATABASE_URL": url,
        "DISKBENCH_EVIDENCE_URL": (cli.home / "kept").as_uri(),
    }
    (cli.home / "disk").mkdir()
    job = cli.home / "small.fio"
    job.write_text("[w]\nrw=write\nsize=1m\nioengine=psync\nbs=64k\n")
    process = cli.start("--debug", "run", "--path", "disk", "--profile", str(job))
    seen: set[str] = set()
    try:
        while process.poll() is None:
            seen |= command_lines()
            time.sleep(0.02)  # between two looks at all processes
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    assert not (cli.home / ".local/share/diskbench/diskbench.db").exists(), "nor SQLite beside it"
    told = [all_text(subprocess.CompletedProcess([], 0, out, err), cli.home), *seen]
    for arguments in (
        ("results", "show"), ("results", "export", "--format", "json"), ("config",), ("status",),
        ("report", "last", "-o", "r.html"), ("doctor",), ("--debug", "results", "show", "nothing"),
    ):  # fmt: skip
        told += [all_text(cli.call(*arguments), cli.home)]
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
