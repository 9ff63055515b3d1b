"""The core runs, judges and shows without any extra; what needs an extra says how to install it.
The package as `uv build` makes it: the same bytes each time, with all that a run reads."""

import hashlib
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import diskbench
from diskbench.errors import ExtraMissing
from diskbench.extras import DISTRIBUTION, EXTRA_OF, how_to_install, of_import

SOURCE = Path(diskbench.__file__).parent
ROOT = SOURCE.parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
MOST_MB = 230
MODULE = r"\w[\w.]*(?: as \w+)?"
IMPORT = re.compile(
    rf"^ *(?:from (\w[\w.]*) import |import ({MODULE}(?:, {MODULE})*)(?: *#.*)?$)", re.MULTILINE
)
distributions_of = cache(importlib.metadata.packages_distributions)


def imported_modules():
    """Top-level modules of other packages that the source imports, and each file that does."""
    found = {
        (name.strip().partition(".")[0].partition(" ")[0], str(path.relative_to(SOURCE)))
        for path in SOURCE.rglob("*.py")
        for taken, names in IMPORT.findall(path.read_text("utf-8"))
        for name in (taken or names).split(",")
    }
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
    "publish site last": "report",
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


EPOCH = "1767225600"


def uv() -> str:
    """uv as script/test puts it on PATH, or as a script of this checkout installed it."""
    found = shutil.which("uv") or str(ROOT / ".venv-uv/bin/uv")
    assert Path(found).exists(), "no uv: script/test installs it"
    return found


def built(directory: Path, umask: int) -> dict[str, bytes]:
    copy = directory / f"checkout-{umask:03o}"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, copy / name)
    subprocess.run(
        [uv(), "build", "--quiet", "--out-dir", "dist",
         "--build-constraints", "requirements/build.txt"],
        cwd=copy, env=os.environ | {"SOURCE_DATE_EPOCH": EPOCH}, check=True, timeout=240,
        preexec_fn=lambda: os.umask(umask) and None,
    )  # fmt: skip
    return {one.name: one.read_bytes() for one in (copy / "dist").iterdir() if one.name[0] != "."}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes]]:
    here = tmp_path_factory.mktemp("package")
    first = built(here, 0o022)
    again = built(tmp_path_factory.mktemp("again"), 0o077)
    digests = [
        {name: hashlib.sha256(data).hexdigest() for name, data in one.items()}
        for one in (first, again)
    ]
    assert digests[0] == digests[1]
    for name, data in first.items():
        (here / name).write_bytes(data)
    return here, first


def wheel_of(package: tuple[Path, dict[str, bytes]]) -> Path:
    (wheel,) = package[0].glob("*.whl")
    return wheel


@pytest.mark.slow
def test_it_is_built_twice_with_the_same_bytes(package) -> None:
    assert sorted(Path(name).suffix for name in package[1]) == [".gz", ".whl"]


@pytest.mark.slow
def test_the_wheel_has_every_file_of_the_source(package) -> None:
    names = set(zipfile.ZipFile(wheel_of(package)).namelist())
    missing = {
        f"diskbench/{path.relative_to(SOURCE)}"
        for path in SOURCE.rglob("*")
        if path.is_file() and path.suffix != ".pyc" and "_pycache_" not in str(path)
    } - names
    profiles = {
        f"diskbench/profiles/{path.relative_to(ROOT / 'profiles')}"
        for path in (ROOT / "profiles").rglob("*")
        if path.is_file()
    }
    assert missing == set()
    assert profiles <= names


@pytest.mark.slow
def test_the_wheel_says_what_it_is(package) -> None:
    archive = zipfile.ZipFile(wheel_of(package))
    (info,) = (name for name in archive.namelist() if name.endswith("METADATA"))
    head, _, readme = archive.read(info).decode().partition("\n\n")
    assert f"Name: {DISTRIBUTION}" in head
    assert "License-Expression: Apache-2.0" in head
    assert f"{info.removesuffix('METADATA')}licenses/LICENSE" in archive.namelist()
    assert "Provides-Extra: report" in head
    assert readme.strip() == (ROOT / "README.md").read_text("utf-8").strip()
    entries = archive.read(info.replace("METADATA", "entry_points.txt")).decode()
    assert "diskbench = diskbench.cli.main:main" in entries


@pytest.mark.slow
def test_a_wheel_can_be_built_of_the_source_archive(package) -> None:
    (archive,) = package[0].glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        inside = {name.partition("/")[2].partition("/")[0] for name in tar.getnames()}
    assert {"src", "profiles", "pyproject.toml", "README.md", "LICENSE"} <= inside


@pytest.mark.slow
@pytest.mark.thorough
def test_a_stranger_runs_it_from_the_wheel(package, tmp_path) -> None:
    """`uvx --from WHEEL diskbench run --path .`, the core alone, in an environment of its own."""
    (tmp_path / "data").mkdir()
    done = subprocess.run(
        [uv(), "tool", "run", "--isolated", "--constraints", str(ROOT / "requirements/core.txt"),
         "--from", str(wheel_of(package)),
         "diskbench", "run", "--path", ".", "--profile", "quick", "--size", "0.1",
         "--set", "runtime=1"],
        cwd=tmp_path / "data",
        env={
            "PATH": os.environ["PATH"], "HOME": str(tmp_path),
            "UV_CACHE_DIR": os.environ.get("UV_CACHE_DIR", str(Path.home() / ".cache/uv")),
            **{k: v for k, v in os.environ.items() if k.startswith(("UV_", "PIP_", "SSL_"))},
        },
        capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "rand-read-4k-qd1" in done.stdout


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", ["core", "run", "all"])
def test_docs_say_what_each_list_of_packages_takes(name: str, tmp_path: Path) -> None:
    """The commands of docs/install.md, then the bytes of what they wrote: within 5 %."""
    table = (ROOT / "docs/install.md").read_text("utf-8")
    (told,) = re.findall(rf"`requirements/{name}\.txt` \| (\d+) MB", table)
    pip = [tmp_path / "venv/bin/pip", "install", "--quiet", "--no-compile"]
    for command in (
        [sys.executable, "-m", "venv", tmp_path / "venv"],
        [*pip, "--require-hashes", "-r", f"requirements/{name}.txt"],
        [*pip, "--no-deps", "."],
        [pip[0], "uninstall", "--quiet", "--yes", "setuptools"],
    ):
        subprocess.run(command, cwd=ROOT, check=True, timeout=1000)
    files = (path.stat() for path in tmp_path.rglob("*") if not path.is_symlink())
    assert sum(file.st_blocks * 512 for file in files) / 1e6 == pytest.approx(int(told), rel=0.05)
