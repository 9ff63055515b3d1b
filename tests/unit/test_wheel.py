"""The package as `uv build` makes it: the same bytes each time, with all that a run reads."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import diskbench
from diskbench.extras import DISTRIBUTION

SOURCE = Path(diskbench.__file__).parent
ROOT = SOURCE.parents[1]
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
