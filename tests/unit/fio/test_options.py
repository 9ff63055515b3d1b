"""Which fio knows which option; every option has a class, and the page lists it."""

from collections import defaultdict
from pathlib import Path

import pytest
from tests.rigs.golden import check_part
from tests.rigs.plans import call_fio

from diskbench.errors import ProfileError
from diskbench.fio import options
from diskbench.fio.guard import _SPECIAL, OURS, check, settable
from diskbench.fio.jobfile import ALIASES, parse
from diskbench.fio.numbers import NUMERIC
from diskbench.fio.retarget import OUTPUT, retarget
from diskbench.fio.target import FioTarget


@pytest.mark.parametrize(
    ("line", "version", "needs"),
    [
        ("thinktime_iotime=1", "3.16", "3.28"), ("ioengine=io_uring_cmd", "3.28", "3.31"),
        ("ioengine=filedelete", "3.16", "3.27"), ("sync=dsync", "3.16", "3.24"),
        ("ss_interval=1", "fio-3.33", "3.35"), ("log_window_value=avg", "3.33", "3.37"),
        ("ramp_size=1m", "3.41", "3.42"), ("sprandom=1", "3.40-12-gabcdef", "3.41"),
    ],
)  # fmt: skip
def test_an_option_the_target_does_not_know_is_named_with_section_and_version(line, version, needs):
    sections = parse(f"[global]\nbs=4k\n[late]\nrw=read\n{line}\n")
    with pytest.raises(ProfileError) as caught:
        options.check_version(sections, version, where="profile 'x'")
    assert "[late]" in caught.value.message
    assert line.split("=")[0] in caught.value.message
    assert needs in caught.value.message
    assert needs in caught.value.advice


def test_what_the_target_knows_passes_and_an_older_fio_or_an_option_of_none_is_refused():
    sections = parse("[a]\nrw=read\nsync=dsync\nioengine=filestat\n")
    options.check_version(sections, "3.33", where="x")
    options.check_version(sections, None, where="x")
    options.check_version(sections, "3.24", where="x")
    with pytest.raises(ProfileError, match=r"3\.16"):
        options.check_version(parse("[a]\nrw=read\n"), "3.1", where="x")
    with pytest.raises(ProfileError, match=r"no such option"):
        check(parse("[a]\nrw=read\nbandwith_limit=1\n"), FioTarget(kind="device", path="/dev/x"))


@pytest.mark.parametrize(
    ("text", "version"), [("fio-3.33", (3, 33)), ("3.36.1", (3, 36, 1)), ("fio-3.40-5-g1", (3, 40))]
)
def test_versions_are_numbers(text, version):
    assert options.parse_version(text) == version


ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "evidence" / "fio-options.md"
BEGIN, END = "<!-- options -->\n", "<!-- end of options -->"
HEADINGS = {
    "passes": "Allowed with any value that has no quote, `$`, backtick or backslash",
    "checked": (
        "Allowed with values that stay on the target and that fio and diskbench read the same way"
    ),
    "retargeted": "Changed to your target, or removed",
    "ours": "Set by diskbench",
    "refused": "Refused",
}


RETARGETED = frozenset({"filename", "directory", "filename_format", "threads"})
OF_THE_COMMAND = frozenset({"readonly"})
"""Read with the command line (command_line.py)."""


def _is_checked(name):
    """Whether a value of an option may be refused where the option itself is not."""
    return name in _SPECIAL or name in NUMERIC or name in {"trim_percentage", "zonemode"}


def option_class(name: str) -> tuple[str, str]:
    """The class of an option by any of its names, and the reason of one that is refused: `passes`
    with any value, `checked`: with some values (guard.py); `retargeted`: put onto our target or
    taken out; `ours`: set by diskbench alone; `unknown` is refused, too."""
    name = ALIASES.get(name, name)
    if name in RETARGETED | OUTPUT | OF_THE_COMMAND:
        return "retargeted", ""
    if name in OURS:
        return "ours", OURS[name]
    if name in settable():
        return ("checked" if _is_checked(name) else "passes"), ""
    if name in options.OPTION_REASONS or name in options.ENGINE_OPTIONS:
        return "refused", options.option_reason(name)
    return "unknown", options.option_reason(name)


def listed() -> list[str]:
    """The options of fio 3.16 to 3.42, those of its command line without their dashes."""
    lines = (ROOT / "tests/cases/fio_options.txt").read_text("utf-8").splitlines()
    return sorted({line.lstrip("-") for line in lines if not line.startswith("#")})


def table() -> str:
    """The page's lists: the options of each class, those refused by their reasons."""
    classes = defaultdict(list)
    for name in listed():
        classes[option_class(name)].append(f"`{name}`")
    out = []
    for kind, heading in HEADINGS.items():
        out += [f"## {heading}", ""]
        for reason in sorted(reason for found, reason in classes if found == kind):
            names = ", ".join(classes[kind, reason])
            out += [f"- {reason}: {names}" if reason else names]
        out.append("")
    return "\n".join(out)


def test_no_option_of_fio_is_without_a_class() -> None:
    assert len(listed()) > 350
    assert [name for name in listed() if option_class(name)[0] == "unknown"] == []
    versions = options.option_versions()["options"]
    assert versions["ramp_size"] == "3.42"
    assert len(versions) < 100
    assert set(versions) <= set(listed())


def test_the_page_lists_every_option(request: pytest.FixtureRequest) -> None:
    check_part(PAGE, (BEGIN, END), table(), update=request.config.getoption("--update-golden"))


def test_what_is_refused_is_refused_with_its_reason_and_the_rest_is_ours_or_passes() -> None:
    target = FioTarget(kind="directory", path="/mnt/x")
    for name in listed():
        kind, reason = option_class(name)
        file, changes = retarget(parse(f"[a]\nrw=read\n{name}=1\n"), target)
        assert ("--allow" in reason) == (name in options.ALLOWABLE)
        if kind == "refused":
            with pytest.raises(ProfileError) as caught:
                check(file, target)
            assert reason in caught.value.message
        elif kind == "ours" or (kind == "retargeted" and name in OUTPUT):
            assert [change.after for change in changes] == [None]
            check(file, target)
        elif kind == "passes":
            assert changes == ()
            check(file, target)


@pytest.mark.slow
def test_the_list_holds_every_option_of_the_installed_fio(tmp_path: Path) -> None:
    done = call_fio("--cmdhelp=all", at=tmp_path)
    words = (line.split() for line in done.stdout.decode().splitlines())
    names = {word[0] for word in words if len(word) > 1 and word[1] == ":"}
    assert len(names) > 150
    assert names - set(listed()) == set()
