"""YAML that grows, nests, refers to itself or asks for objects: in matrices and in profiles."""

from __future__ import annotations

from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.drills.book import drill
from tests.rigs.cli import Cli
from tests.rigs.limited import limits

ALIASES = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
)
MERGES = "\n".join(
    ["b0: &b0 {x: 1, y: 2}"]
    + [f"b{n}: &b{n} {{<<: [{', '.join([f'*b{n - 1}'] * 9)}]}}" for n in range(1, 12)]
)
BOMBS = {
    "aliases of aliases, 9^12 values": ALIASES,
    "merge keys of merge keys, 9^11 of them": MERGES,
    "10,000 lists in each other": "a: " + "[" * 10_000 + "]" * 10_000,
    "10,000 mappings in each other": "a: " + "{a: " * 10_000 + "1" + "}" * 10_000,
    "an unclosed list of 100,000": "a: " + "[" * 100_000,
    "a number of 50,000 digits": f"a: {'9' * 50_000}",
    "a number in base 60 of 20,000 parts": f"a: 1{':59' * 20_000}",
    "an anchor that holds itself": "a: &a [*a]",
    "a mapping that merges itself": "a: &a {<<: *a}",
    "a Python object": "a: !!python/object/apply:os.system [id]",
    "a Python module": "a: !!python/module:os",
    "a tag of somebody's": "a: !env HOME",
    "binary data": "a: !!binary aGVsbG8=",
    "a date beyond dates": "a: 9999-99-99",
    "an undefined alias": "a: *nothing",
    "two documents": "a: 1\n---\na: 2",
    "a key that is a list": "? [a, b]\n: 1",
    "a lone surrogate": 'a: "\\ud800"',
    "a NUL": 'a: "\\0"',
    "a control character": "a: \x07",
    "a terminal's escape": 'a: "\\e]0;owned\\a"',
    "a tab for indentation": "a:\n\tb: 1",
    "a number without digits": 'a: !!int ""',
    "a truth that is none": "a: !!bool x",
    "a time that is none": "a: !!timestamp x",
    "a fraction in base 60 beyond all numbers": f"a: 1{':1' * 300}.5",
    "a hexadecimal number of 50,000 digits": f"a: 0x{'f' * 50_000}",
    "40,000 entries without a value": "a:\n" + " -\n" * 40_000,
    "40,000 merges": "b: &b {q: 1}\na:\n" + " - <<: *b\n" * 40_000,
}


def refused(user: Cli, *args: str) -> CompletedProcess[str]:
    """It ends with 2 and words, within limits of memory and processor time."""
    process = user.start(*args, preexec_fn=limits)
    out, err = process.communicate(timeout=240)
    assert process.returncode == 2, (process.returncode, err[-2000:])
    assert "Traceback" not in err
    assert len(err) < 50_000
    assert not any(one in out + err for one in ("\x07", "\x1b]", "\0"))
    return CompletedProcess(process.args, process.returncode, out, err)


@drill(
    done="a matrix file with aliases of aliases, merge keys, deep nesting, endless numbers, "
    "objects, control characters",
    holds="exit 2 with the line, within a minute of processor time and 3 GiB of address space",
)
@pytest.mark.parametrize("name", BOMBS)
def test_a_matrix_that_is_a_yaml_bomb_is_refused(user: Cli, name: str) -> None:
    file = user.home / "bomb.yaml"
    file.write_text(
        f"name: m\ndefaults: {{provider: fake, disk: plain, size: 1, profile: quick}}\n"
        f"{BOMBS[name]}\n"
    )
    refused(user, "matrix", "plan", str(file), "--offline")


@drill(
    done="the front matter of a profile is such a YAML bomb",
    holds="exit 2 with words, within a minute of processor time and 3 GiB of address space",
)
@pytest.mark.parametrize("name", BOMBS)
def test_a_profile_whose_front_matter_is_a_yaml_bomb_is_refused(user: Cli, name: str) -> None:
    file = user.home / "bomb.fio.j2"
    file.write_text(
        f"---\ntitle: t\nquestion: q\nsource: s\n{BOMBS[name]}\n---\n[a]\nrw=read\nsize=1m\n"
    )
    refused(user, "profiles", "validate", str(file))


@drill(
    done="bombs in fields that a matrix or profile has: labels, axes, parameters",
    holds="exit 2 with words, within the same limits",
)
@pytest.mark.parametrize(
    "text",
    [
        f"{ALIASES}\nlabels: {{a: *a11}}",
        f"{MERGES}\nlimits: {{<<: *b11}}",
        f"{ALIASES}\naxes: {{region: *a11}}",
        f"{ALIASES}\ninclude: *a11",
        f"name: {'x' * 10_000_000}",
        f"labels: {{{'k' * 1_000_000}: v}}",
    ],
    ids=["labels", "limits", "axes", "include", "a name of 10 MB", "a key of 1 MB"],
)
def test_a_bomb_in_a_known_field_is_refused(user: Cli, text: str) -> None:
    file = user.home / "bomb.yaml"
    begin = "" if text.startswith("name") else "name: m\n"
    file.write_text(
        f"{begin}defaults: {{provider: fake, disk: plain, size: 1, profile: quick}}\n{text}\n"
    )
    refused(user, "matrix", "plan", str(file), "--offline")


@drill(
    done="a matrix and a profile that are no text: a binary, a directory, an endless device",
    holds="exit 2 with words, within the same limits",
)
@pytest.mark.parametrize("kind", ["binary", "directory", "zero device"])
@pytest.mark.parametrize("command", ["matrix", "profile"])
def test_a_file_that_is_no_text_is_refused(user: Cli, kind: str, command: str) -> None:
    path = user.home / "thing.yaml"
    if kind == "binary":
        path.write_bytes(Path("/bin/sh").read_bytes())
    elif kind == "directory":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    words = ("matrix", "plan") if command == "matrix" else ("profiles", "validate")
    refused(user, *words, str(path))
