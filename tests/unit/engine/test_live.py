"""What was given to `diskbench doctor --live` is not in its recording."""

import json
import os
import string
from unittest.mock import patch
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.engine.test_redaction import CLOUDS, exchanges

from diskbench.engine.live import recording_of
from diskbench.model.finding import Finding
from diskbench.model.options import own_options
from diskbench.plugins import plugin

SECRETS = st.text(string.ascii_letters + string.digits + "/+=_.!$%", min_size=12)
NAMES = st.from_regex(r"[a-z]{4}[a-z0-9]{6,20}", fullmatch=True)


def findings(value: str) -> list[Finding]:
    told = f"{value} may not do it, and {value}-too is none"
    return [Finding(check="dry run", where="there", state="problem", told=told, advice=value)]


def shown(provider: str, value: str, *words: str, **options: str) -> str:
    made = recording_of(provider, exchanges(value), findings(value), words, options)
    return made.model_dump_json()


@pytest.mark.parametrize("provider", CLOUDS)
@given(secret=SECRETS, data=st.data())
def test_no_secret_of_the_environment_is_in_it(provider: str, secret: str, data) -> None:
    name = data.draw(st.sampled_from(plugin(provider).redaction.variables))
    with patch.dict(os.environ, {name: secret}):
        text = shown(provider, secret, "--provider", provider, "--live")
    assert not [
        form for form in (secret, quote(secret, safe=""), json.dumps(secret)) if form in text
    ]


@pytest.mark.slow
@pytest.mark.parametrize("provider", CLOUDS)
@given(name=NAMES, data=st.data())
def test_no_account_and_no_private_option_that_was_typed_is_in_it(provider, name, data) -> None:
    known = plugin(provider)
    account = (known.account_option,) if known.account_option else ()
    option = data.draw(st.sampled_from((*account, *known.redaction.options)))
    flags = {one.name: one.flag for one in own_options(provider)}
    flag = flags.get(option, f"--{option.replace('_', '-')}")
    joined = data.draw(st.booleans())
    words = (f"{flag}={name}",) if joined else (flag, name)
    text = shown(provider, name, "--live", *words, **{option: name})
    assert f'"{name}"' not in text
    assert f" {name} " not in text
    assert f"={name}" not in text


@pytest.mark.parametrize("provider", CLOUDS)
@given(value=NAMES, pair=st.sampled_from(["--label pw", "--set api_key", "--set db_password"]),
       joined=st.booleans())  # fmt: skip
def test_no_value_of_a_label_and_no_secret_one_is_in_it(provider, value, pair, joined) -> None:
    flag, key = pair.split()
    words = (f"{flag}={key}={value}",) if joined else (flag, f"{key}={value}")
    text = shown(provider, value, "--live", *words, "--set", "runtime=1")
    assert f'"{value}"' not in text
    assert f"={value}" not in text
    assert f"{key}=" in text
    assert '"runtime=1"' in text


@given(value=st.text(string.printable, min_size=1, max_size=3))
def test_a_short_label_is_left_out_of_the_flags_too(value) -> None:
    flags = recording_of(CLOUDS[0], [], [], ("--label", f"pw={value}"), {}).flags
    assert flags[0] == "--label"
    assert flags[1].startswith("pw=private-")
