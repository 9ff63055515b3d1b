"""A value that its option cannot take is refused in our words, whichever option it is; with
--log-format json every error on stderr is one JSON object, wherever it was found."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.rigs.cli import Cli, a_user, in_process

from diskbench.cli.lazy import COMMANDS, load
from diskbench.cli.main import main
from diskbench.model.options import own_options
from diskbench.plugins import plugin_names

BAD = "7 of 9"
"""No number, no choice, no time, no range of addresses and no pair."""
PYDANTIC = ("Input should", "validation error", "unable to parse", "input_value", "pydantic")


def refusing(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The options of a command whose type refuses BAD."""
    for parameter in command.params:
        flag = max(parameter.opts, key=len)
        if parameter.param_type_name != "option" or getattr(parameter, "is_flag", False):
            continue
        try:
            command.make_context(path[-1], [flag, BAD])
        except typer.BadParameter as error:
            if error.param is parameter:
                yield (*path, flag)
        except (typer.Exit, typer.TyperException):
            continue


def in_our_words(told: str) -> bool:
    return not any(phrase in told for phrase in PYDANTIC)


@pytest.fixture
def user(tmp_path: Path) -> Cli:
    return a_user(tmp_path)


def told(user: Cli, *arguments: str) -> tuple[int, str]:
    """Exit code and stderr of a command that ends before it measures anything."""
    with in_process(user.env, user.home) as (_, err):
        code = main(arguments)
    return code, err()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_value_of_another_type_is_named_with_its_option(user: Cli, command: str) -> None:
    for words in refusing(load(command), tuple(command.split())):
        code, text = told(user, *words, BAD)
        assert code == 2, words
        assert words[-1] in text
        assert BAD in text
        assert in_our_words(text), text


@pytest.mark.slow
@pytest.mark.parametrize("provider", plugin_names())
def test_so_is_one_of_a_providers_own_option(user: Cli, provider: str) -> None:
    chosen = ("--provider", provider)
    for words in refusing(load("plan", chosen), ("plan",)):
        code, text = told(user, words[0], *chosen, *words[1:], BAD)
        assert (code, BAD in text) == (2, True), words
        assert in_our_words(text), text


@pytest.mark.slow
@pytest.mark.parametrize("provider", plugin_names())
def test_a_value_that_only_the_command_refuses_is_so_too(user: Cli, provider: str) -> None:
    """Common options are the same for all that rent: they are tried with one of these."""
    chosen = ("--provider", provider)
    own = {option.flag for option in own_options(provider)}
    for parameter in load("plan", chosen).params:
        flag = max(parameter.opts)
        if flag in own or (provider == "aws" and not getattr(parameter, "is_flag", False)):
            code, text = told(user, "plan", *chosen, "--offline", flag, "-1")
            assert code in {0, 2}, text
            assert in_our_words(text), text


@pytest.mark.parametrize("value", ["1GiB", "64m", "20 GB"])
@pytest.mark.parametrize("command", ["run", "plan"])
def test_a_size_with_a_unit_is_shown_how_sizes_are_written(user, command, value):
    code, text = told(user, command, "--size", value)
    assert (code, f"--size: '{value}'" in text) == (2, True), text
    assert "GiB" in text
    assert "--size 20" in text


@pytest.mark.parametrize("words", [("owner", "DISKBENCH_OWNER", "x" * 64), ("log_format",) * 2])
def test_a_setting_in_our_words(user: Cli, words: tuple[str, ...]) -> None:
    user.extra_env["DISKBENCH_LOG_FORMAT" if words[0] == "log_format" else words[1]] = words[-1]
    code, text = told(user, "status")
    assert code == 2
    assert words[0] in text
    assert in_our_words(text), text


WRONG = {
    "a command that does not exist": ("nosuch",),
    "an option that does not exist": ("run", "--dsik", "gp2"),
    "an option without its value": ("run", "--disk"),
    "a word too many": ("run", "--provider", "local", "x"),
    "a provider that does not exist": ("run", "--provider", "nix"),
    "a value of another type": ("run", "--size", "3x"),
    "a choice that is not offered": ("results", "list", "--format", "papyrus"),
    "a directory that does not exist": ("run", "--path", "/nonexistent"),
    "a directory of a plan": ("plan", "--path", "/nonexistent"),
    "a run that does not exist": ("results", "show", "nosuch"),
    "a lease that does not exist": ("gc", "nosuch"),
}


@pytest.mark.slow
@pytest.mark.parametrize("words", WRONG.values(), ids=WRONG)
def test_an_error_is_one_json_object(user: Cli, words: tuple[str, ...]) -> None:
    done = user.call_refused("--log-format", "json", *words)
    problems = [json.loads(line) for line in done.stderr.splitlines()]
    assert (done.returncode, [problem["exit_code"] for problem in problems]) == (2, [2])
    assert problems[0]["event"]
    assert problems[0]["kind"]
