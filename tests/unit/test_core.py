"""The core runs, judges and shows without any extra; what needs an extra says how to install it."""

import ast
import importlib.metadata
import json
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import diskbench
from diskbench.errors import ExtraMissing
from diskbench.extras import EXTRA_OF, how_to_install, of_import

SOURCE = Path(diskbench.__file__).parent
ROOT = SOURCE.parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
MOST_MB = 230


@cache
def distributions_of():
    return importlib.metadata.packages_distributions()


def imported_modules():
    """Top-level modules of other packages that the source imports, and each file that does."""
    found: set[tuple[str, str]] = set()
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [one.name for one in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                names = [node.module]
            for name in names:
                found.add((name.partition(".")[0], str(path.relative_to(SOURCE))))
    # `compression` is of the standard library from Python 3.14 on.
    ours = {*sys.stdlib_module_names, "compression", "diskbench"}
    return {one for one in found if one[0] not in ours}


@cache
def closure(requirements):
    """The names of the distributions that requirements install here, theirs included."""
    names: set[str] = set()
    todo = [Requirement(one) for one in requirements]
    while todo:
        wanted = todo.pop()
        extras = ["", *wanted.extras]
        for text in importlib.metadata.requires(wanted.name) or ():
            one = Requirement(text)
            here = one.marker is None or any(one.marker.evaluate({"extra": e}) for e in extras)
            if here and one.name.lower().replace("_", "-") not in names:
                todo.append(one)
        names.add(wanted.name.lower().replace("_", "-"))
    return frozenset(names)


def test_every_module_is_of_the_core_or_of_a_known_extra():
    """A cloud's folder may import whatever the SDK of that cloud installs."""
    extras = PROJECT["optional-dependencies"]
    core = closure(tuple(PROJECT["dependencies"]))
    strangers = set()
    for module, where in imported_modules():
        folder = where.split("/")[1] if where.startswith("providers/") else where.split("/")[0]
        known = core | (closure(tuple(extras[folder])) if folder in extras else set())
        of = {name.lower().replace("_", "-") for name in distributions_of().get(module, [])}
        if module not in EXTRA_OF and not of & known:
            strangers.add((module, where))
    assert strangers == set()


def test_every_extra_installs_the_modules_that_are_said_to_be_of_it():
    for module, extra in EXTRA_OF.items():
        installed = closure(tuple(PROJECT["optional-dependencies"][extra]))
        of = {name.lower().replace("_", "-") for name in distributions_of()[module]}
        assert of & installed, f"{module} is not of the extra {extra}"


def test_the_core_is_light():
    """Bytes on the disk of what the core installs, without compiled bytecode."""
    size = 0
    for name in closure(tuple(PROJECT["dependencies"])):
        for file in importlib.metadata.files(name) or ():
            path = Path(str(file.locate()))
            if path.suffix != ".pyc" and path.exists():
                size += path.stat().st_size
    assert size / 1e6 <= MOST_MB


NEEDS = {
    "report last --to page.html": "report",
    "report last --to chart.png": "report",
    "report --post iaas-2018 --chart iops --to chart.svg": "report",
    "publish site": "report",
    "results export --format parquet --to all.parquet": "report",
    "run --provider aws --disk gp2 --size 20 --profile quick": "aws",
    "run --provider azure --disk Premium_LRS --size 32 --profile quick": "azure",
    "run --provider gcp --disk pd-ssd --size 20 --profile quick": "gcp",
    "run --provider vsphere --endpoint-url https://vc.invalid --datastore d --size 20": "vsphere",
}
"""Command → the extra that it needs."""
ONE_STEP = (
    "[read]\nsize=1m\ndirect=0\nioengine=psync\nrw=randread\nbs=4k\nrate_iops=500\n"
    "time_based\nruntime=2\n"
)
WORKS = [
    "run --path . --profile one.fio",
    "results list",
    "results show last",
    "results show last --plot",
    "results show last --output json",
    "results export --format csv --to all.csv",
    "results export --format json --to all.json",
    "compare last last~1",
    "regressions",
    "identify last",
    "published list",
    "profiles list",
    "catalog disks",
    "providers",
    "doctor",
    "gc --dry-run",
    "status",
    "plan --provider aws --disk gp2 --size 20 --profile burst --offline",
]


@pytest.fixture(scope="module")
def ran(tmp_path_factory, cache_home):
    home = tmp_path_factory.mktemp("core")
    shutil.copytree(cache_home / "diskbench", home, dirs_exist_ok=True)
    (home / "one.fio").write_text(ONE_STEP)
    lines = home / "lines"
    lines.write_text("\n".join((*WORKS, *NEEDS)))
    done = subprocess.run(
        [sys.executable, "-m", "tests.rigs.without_extras", str(lines), str(home)],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return {one["line"]: one for one in json.loads(done.stdout.splitlines()[-1])}


@pytest.mark.slow
@pytest.mark.parametrize("line", NEEDS)
def test_a_command_that_needs_an_extra_says_which_line_installs_it(line, ran):
    assert ran[line]["code"] == 2, ran[line]
    assert how_to_install(NEEDS[line]) in str(ran[line]["err"])
    assert "Traceback" not in str(ran[line]["err"])


@pytest.mark.slow
@pytest.mark.parametrize("line", WORKS)
def test_a_command_of_the_core_needs_no_extra(line, ran):
    assert ran[line]["code"] == 0, ran[line]


def test_a_frame_names_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ExtraMissing) as caught:
        diskbench.load_published()
    assert caught.value.advice == how_to_install("report")


def test_another_missing_module_is_a_fault_of_ours():
    assert of_import(ImportError(name="sqlalchemy")) is None
    assert of_import(ImportError("cannot import")) is None


@pytest.mark.slow
def test_no_command_imports_pytest():
    code = (
        "import sys, diskbench.cli.main, diskbench.providers.registry as known\n"
        "[known.provider(name) for name in known.provider_names()]\n"
        "assert 'pytest' not in sys.modules and 'diskbench.testing' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
