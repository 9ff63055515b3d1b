"""URLs of stores: which are taken, and that none is ever shown with its password."""

from pathlib import Path
from urllib.parse import quote, unquote

import pytest
import sqlalchemy as sa
from hypothesis import example, given
from hypothesis import strategies as st

from diskbench.errors import DiskbenchError, InvalidValue
from diskbench.settings import load_settings
from diskbench.store import urls
from diskbench.store.database import engine_options, parse_url
from diskbench.store.database_errors import shown_url
from diskbench.store.evidence import open_evidence
from diskbench.store.urls import database_file, database_url, printable

SECRETS = st.text(
    st.sampled_from("hunter2#?/@:%&=+[]! é密\u202e\n\x1b")
    | st.characters(exclude_categories=["Cs"]),
    min_size=6,
    max_size=20,
)
"""Passwords of every kind of letter; long enough not to be part of what is printed by chance."""
WORD = st.text(st.sampled_from("abcdefgh0123-_."), min_size=1, max_size=5)


def parts_of(secret):
    """What would give a password away: itself, its quoted form, and every run of six letters."""
    found = {secret, quote(secret, safe=""), unquote(secret)}
    found |= {secret[i : i + 6] for i in range(len(secret) - 5)}
    return {one for one in found if len(one) >= 6}


def told_about(url):
    """All that diskbench says of a database URL, however it is refused or taken."""
    told = [printable(url)]
    try:
        parsed = parse_url(url)
    except DiskbenchError as error:
        return [*told, str(error), repr(error), repr(error.__cause__), repr(error.args)]
    engine = sa.create_engine(parsed, **engine_options(parsed))
    told += [shown_url(engine), repr(engine), str(parsed)]
    settings = load_settings({"database_url": url})
    return [*told, settings.shown("database_url"), repr(settings), settings.model_dump_json()]


@given(SECRETS, WORD, WORD)
@example("pass#word", "u", "h")
@example("p?ass@word", "u", "h")
@example("pass/word@x", "u", "h")
@example("100%secret", "u", "h")
@example("diskbe", "u", "h")
def test_a_password_as_it_is_typed_is_never_shown(secret, user, host):
    url = f"postgresql://{user}:{secret}@{host}/d"
    # What is said of another password, taken or refused, are the program's own words.
    others = (f"postgresql://{user}:{other}@{host}/d" for other in ("-", "#"))
    own = "\n".join(text for other in others for text in told_about(other))
    for text in told_about(url):
        for part in parts_of(secret) - parts_of("postgresql://d"):
            assert part not in text or part in own


@given(SECRETS, WORD)
def test_a_percent_encoded_password_is_taken_and_never_shown(secret, user):
    url = f"postgresql://{user}:{quote(secret, safe='')}@host.example:5432/d"
    assert parse_url(url).password == secret
    with_another = told_about(f"postgresql://{user}:-@host.example:5432/d")
    for text, other in zip(told_about(url), with_another, strict=True):
        for form in {secret, quote(secret, safe="")}:
            assert text.count(form) == other.count(form), "as a word of the program's own"


@given(SECRETS)
def test_a_url_that_another_process_is_given_is_taken_there(secret):
    """cli/foreground.py renders the URL; the process that it starts reads the same password."""
    url = parse_url(f"postgresql://me:{quote(secret, safe='')}@h/d")
    assert parse_url(url.render_as_string(hide_password=False)) == url


@given(SECRETS, st.sampled_from(["password", "sslpassword", "options", "passfile"]))
def test_a_secret_in_a_parameter_is_never_shown(secret, name):
    url = f"postgresql://h/d?{name}={quote(secret, safe='')}"
    for text in (printable(url), shown_url(sa.create_engine(parse_url(url)))):
        assert secret not in text
        assert quote(secret, safe="") not in text


@pytest.mark.parametrize(
    "url",
    [
        "postgresql:/u:hunter2@h/d", "postgresql:u:hunter2@h/d", "postgres//u:hunter2@h/d",
        "host=h password=hunter2", "host=h", "dbname=d user=u password=hunter2", "u:hunter2@h/d",
        "u:hunter2@h:5432", "postgresql://u:hunter2/d", "postgresql://u:hunter2@h:port/d",
        "postgresql://u:hunter2@h/d/e", "postgresql://u:hunter2@h/d#x",
        "postgresql://u:hunter2@h/d?passwort=hunter2", "postgresql://u:hunter2@h1,h2/d",
        "postgresql://u:hunter2%@h/d", "sqlite://u:hunter2@h/d", "sqlite:rows.db",
        "sqlite:/rows.db", "mysql://u:hunter2@h/d", "hunter2://u@h/d",
        "jdbc:postgresql://h/d?password=hunter2", "rows.db?password=hunter2", "postgresql",
        "rows\n.db", "  ", "",
    ],
)  # fmt: skip
def test_a_database_of_no_known_form_is_refused_with_the_forms_that_are(url):
    with pytest.raises(InvalidValue) as caught:
        database_url(url)
    assert "hunter2" not in str(caught.value)
    assert any(words in caught.value.advice for words in ("postgresql://", "%40", "libpq"))
    assert "hunter2" not in printable(url)


@pytest.mark.parametrize(
    "url",
    [
        "s3://AKIA:hunter2@bucket/x", "s3:/AKIA:hunter2@bucket/x", "s3://bucket/x?secret=hunter2",
        "s3://bucket/x#hunter2", "s3://bucket:hunter2/x",
        "https://account.blob.core.windows.net/c?sv=1&sig=hunter2",
        "az://account:hunter2@container", "file://hunter2:x@host/x", "file:///x?hunter2",
        "file:///x#hunter2", "file:/x", "hunter2://x", "s3://", "",
    ],
)  # fmt: skip
def test_evidence_of_no_known_form_is_refused_with_the_forms_that_are(url):
    with pytest.raises(InvalidValue) as caught:
        open_evidence(url)
    assert "hunter2" not in str(caught.value)
    assert "s3://bucket/prefix" in caught.value.advice
    assert "hunter2" not in printable(url)


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:////var/lib/rows.db", "sqlite:///rows.db",
        "sqlite:///file:/x/rows.db?mode=ro&uri=true", "sqlite://", "postgresql://h/d",
        "postgresql://u@h:5432/d", "postgres://u:p@[::1]:5432/d",
        "postgresql+psycopg://bench@/d?host=/run/postgresql",
        "postgresql://u:p%40ss@h/d?sslmode=require",
    ],
)  # fmt: skip
def test_a_known_form_is_taken_as_it_is(url):
    assert database_url(url) == url


@pytest.mark.parametrize(
    "text", ["/x/rows.db", "rows.db", "./a=b.db", "my data/rows.db", "/home/a@b/rows#1.db"]
)
def test_a_path_is_a_sqlite_file(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert database_file(database_url(text)) == tmp_path / text
    assert urls.evidence_directory(urls.evidence_url(text)) == tmp_path / text


def test_the_file_of_a_url_is_found_without_its_parameters():
    assert database_file("sqlite:////x/rows.db?timeout=3") == Path("/x/rows.db")
    assert database_file("sqlite:///file:/x/rows.db?mode=ro&uri=true") == Path("/x/rows.db")
    assert database_file("postgresql://h/d") is None
    assert database_file("sqlite://") is None
