"""Words that a user reads are plain: no text holds one of the turns below.

One list for all that is printed: verdicts, doubts, errors, advice, help and pages. Add a turn here
when a reader does not understand it, then mend it wherever this test finds it.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from tests.rigs.golden import PLACE
from tests.rigs.visible_strings import SOURCE, room_of, sources, visible_strings

TURNS = (
    r"\b(are|is) to last\b",
    r"\balone is no proof\b",
    r"\bno ?body (knows|documents|works|gives|needs)\b",
    r"\b(any|some|no)body's\b",
    r"\bsomebody\b",
    r"\bsimply to be\b",
    r"\bin turn\b",
    r"\bin its turn\b",
    r"\bstand(s|ing)? (in )?for\b",
    r"\bapart\b",
    r"\btold\b",
    r"\b(is|are) none of\b",
    r"\b(go|goes|gone|going) on with\b",
    r"\bone has\b",
    r"\bpromised at most\b",
    r"\bis promised\b.*\bis promised\b",
    r"\bheld against\b",
    r"(?<!there )\bis no (?!longer|more|such|less)",
    r"\bmeets? that\b",
    r"\b(lies|lie|lay|lays|laid) (on|over|at|in)\b",
    r"\bwhere that (stands|one)\b",
    r"\bMR-\d",
    r"\bseeds? \d{3}\b",
    r"\bfor good\b",
    r"\ball the same\b",
    r"\bwhat became\b",
    r"\bmakes? (away|up for)\b",
    r"\bis said\b",
    r"\bmeasured beside\b",
    r"\btoo seldom\b",
    r"\b(nobody|whoever)\b",
    r"\b(offers|sells|has) none of\b",
    r"\bsays? nothing\b",
    r"\bbeginnings suffice\b",
    r"\bbeing no \w",
    r"(?<!stand )(?<!let )\balone\b(?=[;,.)]|$)",
    r"\bdo(es)? not go with\b",
    r"\bchanges? nothing (without|:)",
    r"\b(database|host|store|server) is (away|back)\b",
    r"\bmend(s|ed|ing)?\b",
    r"\bmay stand\b",
    r"\bmade up for\b|\bnot made up\b",
    r"\bbears? (no|none|a)\b",
    r"\bwas not itself\b",
    r"\btells? nothing\b",
    r"\bsign of life\b",
    r"\bwithout a word\b",
    r"\bholds? it against\b",
    r"\b(its|his|their) turn came\b",
    r"\b(is|are) there twice\b",
    r"\bhaving no \w",
    r"\bis over$",
    r"\bif it may go\b",
    r"\b(take|takes|taken) away\b",
    r"\bno price is known of\b",
    r"\b(came|come|comes) (incomplete|up|again|from .* without)\b",
    r"\bby itself$",
    r"\bas it is$",
    r"\bthis .* is so\b|\bfigure( of a cell)? is so\b",
    r"\bhave it raised\b",
    r"\bno \w+ was kept\b",
    r"\blooks? like no\b",
    r"\bknows? nothing\b",
    r"\bno YAML\b",
    r"\bleft as they were\b",
    r"\bis not a site of\b",
    r"\bimportable are\b",
    r"\bthose are the (samples|ones)\b",
)
"""Patterns of turns, each with what was unclear: who acts, what is meant, what to do."""
LITERARY_TURNS = (
    r"\blooks? not\b",
    r"\bas \S+ has it\b",
    r"\bbecomes? of\b",
    r"\b(go|goes|went|gone|going) on\b(?! (a|the|to)\b)",
    r"\bdo, too\b",
    r"\b(an earlier|the older|the newer) one\b",
    r"\bthe one (named|who)\b",
    r"(^|[.;:] )Of (a|an|the|all|several|many) \w+( \w+)? that\b",
    r"\b(lies|lie|lay) (below|under|beside|where|outside)\b",
    r"\bstands? (above|below|beside|in|on|with|at|here|there)\b",
    r"\bas (it|they) stands?\b",
    r"\bheld to\b",
    r"\bhold(s|ing)? (it|every \w+) to\b",
    r"\b(done|does|do) otherwise\b|\botherwise than\b",
    r"\b(one|an?) (row|line|file|second) an? (row|line|event|command|format|I/O|page|step)\b",
    r"\bfor ever\b",
    r"\blet go\b",
    r"\bkeeps? \w+ \w+ from going\b",
    r"\bleans? on\b",
    r"\bsuffices?\b",
    r"\b(say|says|said|tell|tells) of\b",
    r"\b(that|which) (is|are) (already )?there\b",
    r"\bcoming and going\b|\bcome,? (and )?go\b",
    r"\bwhat is no\b",
    r"\b(is|are) no (samples?|results?|errors?|proof|property|measurements?|evidence)\b",
    r"\beverybody\b",
    r"\bin hand\b",
    r"\b(gets?|keeps?|waits? for|have|has) (its|a|their) turn\b",
    r"\bworth while\b",
    r"\bwill be others\b",
    r"\b(that|it) is so\b",
    r"\bfrom nowhere\b",
    r"\b(is|are|was|were) looked (at|for)\b",
    r"\banew\b",
    r"\btak(e|es|en) (it )?for (expired|an?)\b",
    r"\bmust (it|I) be allowed\b",
    r"\bset the pace\b",
    r"\bbefalls?\b",
    r"\binto shape\b",
    r"\bthe (whole )?way of\b",
    r"\bhow it is kept\b|\bwhere it keeps\b",
    r"\bhands? down\b",
    r"\bbystander\b",
    r"\bwhat is there of\b",
)
"""Turns of a literary English, which a reader has to read twice. Say who does what: "it starts no
past time", not "it looks not back"."""
FORBIDDEN = re.compile("|".join(TURNS), re.IGNORECASE)
UNPLAIN = re.compile("|".join((*TURNS, *LITERARY_TURNS)), re.IGNORECASE)
ROOT = Path(__file__).parents[2]
FOR_CONTRIBUTORS = {"METHOD.md", "scoreboard.md"}
"""Pages that define the method with its labels, or are computed from the drills."""
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PLAIN = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs/contributing").glob("*.md")),
    *(
        ROOT / f"docs/{name}.md"
        for name in (
            *(
                "METHOD",
                "api",
                "aws",
                "azure",
                "catalog",
                "charts",
                "commands",
                "compare",
                "design",
            ),
            "doctor",
            *("emulated-clouds", "fidelity", "fio-examples", "fio-options", "gcp", "glossary"),
            *("identify", "importing", "index", "install", "lab", "matrix", "notebooks"),
            *("profiles", "published", "published-charts", "rates", "reading", "renting"),
            *("report", "runs", "safety", "schedules", "scoreboard", "selection", "tutorial"),
            *("verdict", "vsphere", "which-profile", "workers"),
        )
    ),
]
"""Pages that were rewritten in plain English, and may hold no literary turn either. Add a page
when it has none."""
CODE = re.compile(r"`[^`]*`")
REQUIREMENT = re.compile(r"\bMR-\d+")
"""The labels of the method's rules, which METHOD.md defines; only pages in FOR_CONTRIBUTORS may use
them."""
DOCSTRING_TURNS = re.compile(r"\b(nobody|somebody|whoever|told|for good|bears?|for ever)\b", re.I)
"""Turns that docstrings of the rooms PLAIN_ROOMS may not hold. Add a room when it has none."""
PLAIN_ROOMS = ("cli", "model", "report")
GOLDEN = sorted(PLACE.glob("*/*.txt"))
TEMPLATES = sorted((SOURCE / "report").glob("*.j2"))
TAG = re.compile(r"\{[{%#].*?[}%#]\}", re.DOTALL)
QUOTED = re.compile(r'"([^"]*)"')


@pytest.mark.parametrize("room", sorted({room_of(path) for path in sources()}))
def test_no_string_of_the_source_holds_a_forbidden_turn(room: str) -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{line}: {match.group()!r} in {text[:120]!r}"
        for path in sources()
        if room_of(path) == room
        for line, text in visible_strings(path)
        if (match := UNPLAIN.search(text))
    ]
    assert found == []


@pytest.mark.parametrize("room", PLAIN_ROOMS)
def test_no_docstring_of_a_plain_room_holds_a_turn(room: str) -> None:
    found = [
        f"{path.relative_to(SOURCE)}: {match.group()!r} in {text[:120]!r}"
        for path in sources()
        if room_of(path) == room
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(text := node.value.value, str)
        if (match := DOCSTRING_TURNS.search(text))
    ]
    assert found == []


def test_no_golden_text_holds_a_forbidden_turn() -> None:
    found = [
        f"{path.name}: {match.group()!r}"
        for path in GOLDEN
        for match in FORBIDDEN.finditer(path.read_text("utf-8"))
    ]
    assert GOLDEN
    assert found == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_template_of_a_page_holds_a_forbidden_turn(path: Path) -> None:
    text = TAG.sub(lambda tag: " ".join(QUOTED.findall(tag[0])), path.read_text("utf-8"))
    assert [match.group() for match in UNPLAIN.finditer(text)] == []


@pytest.mark.parametrize(
    "path",
    [one for one in PAGES if one.name not in FOR_CONTRIBUTORS],
    ids=lambda path: path.name,
)
def test_no_page_for_users_holds_a_forbidden_turn(path: Path) -> None:
    found = [
        f"{number}: {match.group()!r}"
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if (match := FORBIDDEN.search(line.replace("`apart`", "")))
    ]
    assert found == []


@pytest.mark.parametrize("path", PLAIN, ids=lambda path: path.name)
def test_no_rewritten_page_holds_a_literary_turn(path: Path) -> None:
    found = [
        f"{number}: {match.group()!r}"
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if not line.startswith("        ")
        if (match := UNPLAIN.search(CODE.sub("", REQUIREMENT.sub("", line))))
    ]
    assert found == []


def test_a_forbidden_turn_is_found_and_a_plain_one_is_not() -> None:
    assert FORBIDDEN.search("200 are to last")
    assert FORBIDDEN.search("gone on with by others")
    for turn in (
        "it looks not back",
        "Where clocks change, as cron(8) has it:",
        "a matrix that runs goes on",
        "What becomes of a time",
        "(0 and 7 are Sunday; names do, too)",
        "An earlier one still runs.",
        "Of a disk that the catalogue knows, the table says too what was promised.",
        "DBOS does otherwise than wanted here",
        "its logs, a second a row",
        "A cell in hand costs a thread",
        "the figures will be others",
        "each stands in the catalogue with its source",
    ):
        assert UNPLAIN.search(turn), turn
        assert not FORBIDDEN.search(turn), turn
    for plain in ("It starts no past times; a running matrix continues.",):
        assert not UNPLAIN.search(plain), plain
    assert not FORBIDDEN.search("After its credit this disk keeps 13.1 MB/s (200 requests/s).")
