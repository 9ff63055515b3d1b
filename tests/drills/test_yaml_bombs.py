"""YAML that grows, nests, refers to itself or asks for objects: in matrices and in profiles."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.rigs.cli import a_user
from tests.rigs.limited import Ended, limited

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
    "10,000 entries without a value": "a:\n" + " -\n" * 10_000,
    "10,000 merges": "b: &b {q: 1}\na:\n" + " - <<: *b\n" * 10_000,
}


FIELDS = {
    "labels": f"{ALIASES}\nlabels: {{a: *a11}}",
    "limits": f"{MERGES}\nlimits: {{<<: *b11}}",
    "axes": f"{ALIASES}\naxes: {{region: *a11}}",
    "include": f"{ALIASES}\ninclude: *a11",
    "a name of 10 MB": f"name: {'x' * 10_000_000}",
    "a key of 1 MB": f"labels: {{{'k' * 1_000_000}: v}}",
}
"""A field of a matrix → a bomb in it."""
PROFILE = "---\ntitle: t\nquestion: q\nsource: s\n{}\n---\n[a]\nrw=read\nsize=1m\n"
PLAIN = "defaults: {provider: fake, disk: plain, size: 1, profile: quick}"


def matrix_with(text: str) -> str:
    begin = "" if text.startswith("name") else "name: m\n"
    return f"{begin}{PLAIN}\n{text}\n"


KINDS = ("binary", "directory", "zero device")
AllEnded = Mapping[tuple[str, str], Ended]


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> AllEnded:
    """What came of each bomb, by where it is and its name, in one process with limits."""
    user = a_user(tmp_path_factory.mktemp("bombs"))
    texts = {("matrix", name): matrix_with(text) for name, text in BOMBS.items()}
    texts |= {("profile", name): PROFILE.format(text) for name, text in BOMBS.items()}
    texts |= {("field", name): matrix_with(text) for name, text in FIELDS.items()}
    lines = []
    for number, ((place, _), text) in enumerate(texts.items()):
        file = user.job(text, f"{number}{'.fio.j2' if place == 'profile' else '.yaml'}")
        plan = ("matrix", "plan", file, "--offline")
        lines.append(("profiles", "validate", file) if place == "profile" else plan)
    (user.home / "binary").write_bytes(Path("/bin/sh").read_bytes())
    (user.home / "directory").mkdir()
    (user.home / "zero device").symlink_to("/dev/zero")
    for kind in KINDS:
        path = str(user.home / kind)
        texts |= {("no text: matrix", kind): "", ("no text: profile", kind): ""}
        lines += [("matrix", "plan", path), ("profiles", "validate", path)]
    return dict(zip(texts, limited(user, lines), strict=True))


PLACES = {"matrix": BOMBS, "profile": BOMBS, "field": FIELDS}
PLACES |= {"no text: matrix": KINDS, "no text: profile": KINDS}


@pytest.mark.parametrize(("place", "name"), [(one, name) for one in PLACES for name in PLACES[one]])
def test_a_yaml_bomb_and_what_is_no_text_are_refused(ended, place, name):
    """Aliases of aliases, nesting, endless numbers or objects as a matrix, in a field of one, and
    as the front matter of a profile; a binary, a directory or an endless device: exit 2."""
    found = ended[place, name]
    out, err = found.stdout, found.stderr
    assert found.returncode == 2, (found.returncode, err[-2000:])
    assert "Traceback" not in err
    assert len(err) < 50_000
    assert not any(one in out + err for one in ("\x07", "\x1b]", "\0"))
