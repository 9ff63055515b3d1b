"""What a terminal shows, 80 columns of letters that it has; refusals of values, in our words."""

import io
import json

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from tests.rigs.cli import a_user, in_process

from diskbench.cli.lazy import COMMANDS, load
from diskbench.cli.main import main
from diskbench.cli.messages import _styled, emit_problem
from diskbench.cli.terminal import nearest, printable
from diskbench.model.options import own_options
from diskbench.plugin import plugin_names
from diskbench.report.terminal.layout import sparkline
from diskbench.visible import MOST


def printed(text, encoding):
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    with printable(stream):
        stream.write(text)
        stream.flush()
    assert stream.errors == "strict"
    return raw.getvalue().decode(encoding)


def test_a_terminal_shows_the_letters_that_it_has_and_else_the_nearest():
    assert printed("2 × 5 µs – «é» → 3", "ascii") == "2 x 5 us - ?e? > 3"
    assert printed("5 µs – é", "iso-8859-1") == "5 µs - é"
    blocks = sparkline(range(8))
    assert len(set(nearest(blocks))) == 8


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_encodings_with_all_letters_are_left_alone(encoding):
    assert printed("5 µs – █", encoding).removeprefix("\ufeff") == "5 µs – █"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_whatever_a_label_holds_can_be_printed(text):
    assert nearest(text).isascii()
    printed(text, "ascii")


@pytest.mark.parametrize("text", ["x" * 100_000, "a host says this. " * 9_000])
def test_no_line_of_an_error_is_longer_than_can_be_read(text, capsys):
    emit_problem("InvalidValue", f"{text}\nsecond line", text, 2)
    lines = capsys.readouterr().err.splitlines()
    assert max(map(len, lines)) < MOST + 60
    assert any("second line" in line for line in lines)
    assert sum("characters more)" in line for line in lines) == 2


def test_colours_are_for_terminals_and_not_for_those_who_want_none(monkeypatch):
    class Terminal:
        def isatty(self):
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert _styled("error:", "1;31", Terminal()) == "\x1b[1;31merror:\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert _styled("error:", "1;31", Terminal()) == "error:"


@pytest.mark.parametrize(
    "command",
    [
        "providers", "profiles list", "profiles show diskspd", "matrix list", "published list",
        "published show iaas-2018/results/gp2", "catalog disks",
        "catalog instances --provider azure", "catalog show Standard_D2s_v3",
        "plan --provider aws --disk gp2 --size 20 --profile sustained --offline", "results list",
        "config",
    ],
)  # fmt: skip
def test_no_line_is_wider(command, diskbench):
    lines = diskbench(*command.split()).splitlines()
    assert [line for line in lines if len(line) > 80 and len(line.split()) > 1] == []


@pytest.mark.parametrize("words", ["", *COMMANDS], ids=lambda words: words or "diskbench")
def test_the_help_says_what_its_file_says(words, golden, monkeypatch, capsys):
    for name in ("TERMINAL_WIDTH", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*words.split(), "--help"]) == 0
    name = "-".join(["diskbench", *words.split()])
    golden.check(f"help/{name}.txt", capsys.readouterr().out)


BAD = "7 of 9"
"""No number, no choice, no time, no range of addresses and no pair."""
PYDANTIC = ("Input should", "validation error", "unable to parse", "input_value", "pydantic")


def refusing(command, path):
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


def in_our_words(told):
    return not any(phrase in told for phrase in PYDANTIC)


@pytest.fixture
def user(tmp_path):
    return a_user(tmp_path)


def told(user, *arguments: str):
    """Exit code and stderr of a command that ends before it measures anything."""
    with in_process(user.env, user.home) as (_, err):
        code = main(arguments)
    return code, err()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_value_of_another_type_is_named_with_its_option(user, command):
    for words in refusing(load(command), tuple(command.split())):
        code, text = told(user, *words, BAD)
        assert code == 2, words
        assert words[-1] in text
        assert BAD in text
        assert in_our_words(text), text


@pytest.mark.slow
@pytest.mark.parametrize("provider", plugin_names())
def test_so_is_one_of_a_providers_own_option(user, provider):
    chosen = ("--provider", provider)
    for words in refusing(load("plan", chosen), ("plan",)):
        code, text = told(user, words[0], *chosen, *words[1:], BAD)
        assert (code, BAD in text) == (2, True), words
        assert in_our_words(text), text


@pytest.mark.slow
@pytest.mark.parametrize("provider", plugin_names())
def test_a_value_that_only_the_command_refuses_is_so_too(user, provider):
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
def test_a_setting_in_our_words(user, words):
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
def test_an_error_is_one_json_object(user, words):
    done = user.call_refused("--log-format", "json", *words)
    problems = [json.loads(line) for line in done.stderr.splitlines()]
    assert (done.returncode, [problem["exit_code"] for problem in problems]) == (2, [2])
    assert problems[0]["event"]
    assert problems[0]["kind"]
