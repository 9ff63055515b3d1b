import pytest

from diskbench.errors import InvalidValue, UnknownName
from diskbench.settings import Settings, traced_settings
from diskbench.store.urls import printable


@pytest.fixture
def places(tmp_path):
    work, user = tmp_path / "work", tmp_path / "user"
    work.mkdir()
    user.mkdir()
    return {"directory": work, "user_directory": user, "environ": {}}


def test_each_setting_has_a_default(places):
    settings, origins, _ = traced_settings(**places)
    assert set(origins) == set(Settings.model_fields)
    assert set(origins.values()) == {"default"}
    assert settings.database_url.get_secret_value().startswith("sqlite:///")
    assert settings.evidence_url.startswith("file:///")


def test_a_nearer_source_wins_and_is_named(places):
    user, work = places["user_directory"] / "config.toml", places["directory"] / "diskbench.toml"

    def owner():
        settings, origins, _ = traced_settings(**places)
        return origins["owner"], settings.owner

    assert owner()[0] == "default"
    user.write_text('owner = "from-user"\n')
    assert owner() == (str(user), "from-user")
    work.write_text('owner = "from-work"\n')
    assert owner() == (str(work), "from-work")
    places["environ"] = {"DISKBENCH_OWNER": "from-environment"}
    assert owner() == ("DISKBENCH_OWNER", "from-environment")
    typed = {"owner": "from-flag", "evidence_url": None}
    settings, origins, _ = traced_settings(typed, **places)
    assert (origins["owner"], settings.owner) == ("--owner", "from-flag")
    assert origins["evidence_url"] == "default"


def test_tags_are_typed_as_a_list_or_as_a_table(places):
    assert traced_settings(**places)[0].tags == ()
    user = places["user_directory"] / "config.toml"
    user.write_text("[tags]\nteam = 'db'\n'cost center' = 42\n")
    loaded = traced_settings(**places)[0]
    assert loaded.tags == (("cost center", "42"), ("team", "db"))
    assert loaded.shown("tags") == "cost center=42,team=db"
    places["environ"] = {"DISKBENCH_TAGS": "env=test, team=web"}
    assert traced_settings(**places)[0].tags == (("env", "test"), ("team", "web"))
    places["environ"] = {"DISKBENCH_TAGS": "env"}
    with pytest.raises(InvalidValue, match=r"tags from DISKBENCH_TAGS: .*'env' is not of the form"):
        traced_settings(**places)[0]


def test_an_empty_variable_is_as_none(places):
    places["environ"] = {"DISKBENCH_OWNER": ""}
    assert traced_settings(**places)[1]["owner"] == "default"


def test_plain_paths_are_made_urls(places, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    places["environ"] = {"DISKBENCH_DATABASE_URL": "rows.db", "DISKBENCH_EVIDENCE_URL": "my files"}
    settings = traced_settings(**places)[0]
    assert settings.database_url.get_secret_value() == f"sqlite:///{tmp_path}/rows.db"
    assert settings.evidence_url == (tmp_path / "my files").as_uri()


def test_an_unknown_key_names_its_file_and_the_nearest_key(places):
    path = places["directory"] / "diskbench.toml"
    path.write_text('databse_url = "sqlite:///x.db"\n')
    with pytest.raises(UnknownName) as caught:
        traced_settings(**places)[0]
    assert str(path) in caught.value.message
    assert "did you mean database_url" in caught.value.advice


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("owner = ", "{path}"),
        ("= 1", "{path}"),
        ("owner = 'x' y", "{path}"),
        ("log_format = 'loud'", "log_format from {path}"),
        ("owner = 7", "owner from {path}"),
        (f"owner = {'[' * 5000}{']' * 5000}", "nested too deeply"),
        (f"owner = {'9' * 5000}", "not valid TOML"),
        (f"owner = '{'x' * 100_000}'", "more than 64 KiB"),
        (None, "more than 64 KiB"),  # a device without end
    ],
)
def test_a_file_that_is_none_of_settings_is_refused_with_its_name(places, text, words):
    path = places["directory"] / "diskbench.toml"
    path.symlink_to("/dev/zero") if text is None else path.write_text(text)
    with pytest.raises(InvalidValue, match=words.format(path=path)):
        traced_settings(**places)[0]


def test_variables_that_mean_nothing_are_told(places):
    places["environ"] = {"DISKBENCH_DATABSE_URL": "x", "HOME": "y", "DISKBENCH_DEBUG": "1"}
    assert traced_settings(**places)[2] == ["DISKBENCH_DATABSE_URL"]


def test_passwords_are_never_shown(places):
    places["environ"] = {
        "DISKBENCH_DATABASE_URL": "postgresql://me:hun%2Fter@db:5432/x?password=hunter3"
    }
    settings = traced_settings(**places)[0]
    assert settings.shown("database_url") == "postgresql://me:***@db:5432/x?password=***"
    assert "hun" not in repr(settings)


def test_urls_without_secrets_are_shown_as_they_are():
    for url, shown in {
        "sqlite:////home/a@b/rows.db": "sqlite:////home/a@b/rows.db",
        "file:///x": "file:///x",
        "postgresql+psycopg://me@h/d": "postgresql+psycopg://me@h/d",
        "memory:///": "memory:///",
    }.items():
        assert printable(url) == shown


@pytest.mark.parametrize("owner", ["a\x1b]0;x\x07", "a\0", "a\nb", "a\u202eb", "a\udcff"])
def test_an_owner_of_unseen_characters_is_refused(places, owner):
    """It is put on what is rented, and into the database."""
    places["environ"] = {"DISKBENCH_OWNER": owner}
    with pytest.raises(InvalidValue, match="owner from DISKBENCH_OWNER: "):
        traced_settings(**places)[0]
