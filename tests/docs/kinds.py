"""What becomes of a command of a page in the tests: every one is of one of these kinds."""

from typing import Literal

from tests.docs.pages import ROOT, Command

from diskbench.cli.lazy import COMMANDS

Kind = Literal["named", "parsed", "elsewhere", "light", "run", "uncovered"]
"""`named`: a command's name in a sentence, whose help is asked for. `parsed`: given to the parser
only. `elsewhere`: another program, that is not ours to run. `light`: run with many others in one
process. `run`: typed into a shell, in its place on its page. `uncovered`: a mistake of the page."""

ELSEWHERE = {
    "aws": "the cloud's own program, with an account",
    "az": "the cloud's own program, with an account",
    "gcloud": "the cloud's own program, with an account",
    "govc": "the cloud's own program, with an account",
    "podman": "it needs a registry of images",
    "systemctl": "it changes what runs on this machine",
    "useradd": "it adds a user to this machine",
    "chmod": "it names a mode",
    "apt-get": "it installs a package on this machine",
    "dnf": "it installs a package on this machine",
    "brew": "it installs a package on this machine",
}
"""Program → why the tests do not run it."""
LIGHT = (
    "profiles", "catalog", "published", "providers", "schema", "version", "config", "matrix list",
    "matrix show", "matrix schema", "matrix plan --offline", "plan --offline", "devices",
    "doctor --print-policy",
)  # fmt: skip
"""Commands, with an option that they must have, which need no store, no host and under a second."""
_HEAVY = {"--refresh", "validate"}
_HISTORY = {"CHANGELOG.md"}


def kind(command: Command) -> Kind:
    page = str(command.page.relative_to(ROOT))
    if page in _HISTORY or page.startswith("tests/") or command.said("parsed"):
        return "parsed"
    words = command.words
    program = words[0]
    if program in ELSEWHERE or program.startswith("script/"):
        return "elsewhere"
    if not command.in_block and is_name(words):
        return "named"
    if command.is_form:
        return "uncovered" if command.in_block else "parsed"
    if program == "diskbench" and not command.said("exit") and is_light(words[1:]):
        return "run" if ">" in command.typed else "light"
    return "run"


def is_name(words: list[str]) -> bool:
    """Only a program and its commands, without options and arguments; or a program's path alone."""
    if len(words) == 1:
        return True
    if words[0] != "diskbench" or words[1] not in COMMANDS:
        return False
    return len(words) == 2 or (len(words) == 3 and " ".join(words[1:]) in COMMANDS)


def is_light(words: list[str]) -> bool:
    if _HEAVY & set(words):
        return False
    for one in LIGHT:
        names = [word for word in one.split() if not word.startswith("--")]
        options = {word for word in one.split() if word.startswith("--")}
        if words[: len(names)] == names and options <= set(words):
            return True
    return False
