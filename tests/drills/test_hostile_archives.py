"""Archives and evidence stores of a stranger, whose names lead elsewhere."""

import io
import json
import shutil
import tarfile
from pathlib import Path

import pytest

from diskbench.errors import StoreUnavailable
from diskbench.packed import pack
from diskbench.store import example

OUTPUT = Path(__file__).parents[1] / "cases/fio_output/v3.33-two-jobs.out"
MEMBERS = {
    "a name with ..": ("runs/../../../victim", tarfile.REGTYPE, ""),
    "a name that begins with ..": ("../victim", tarfile.REGTYPE, ""),
    "an absolute name": ("/{outside}/victim", tarfile.REGTYPE, ""),
    "a symbolic link": ("runs/link", tarfile.SYMTYPE, "/{outside}"),
    "a hard link": ("runs/link", tarfile.LNKTYPE, "/{outside}/victim"),
    "a device": ("runs/null", tarfile.CHRTYPE, ""),
    "a FIFO": ("runs/fifo", tarfile.FIFOTYPE, ""),
}


@pytest.mark.parametrize("kind", MEMBERS)
def test_an_archive_that_reaches_outside_is_refused(tmp_path, kind):
    """The archive of example data has a name outside its folder, a link, a device or a FIFO."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "victim").write_text("kept")
    name, type_, link = MEMBERS[kind]
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        member = tarfile.TarInfo(name.format(outside=str(outside).lstrip("/")))
        member.type, member.linkname = type_, link.format(outside=str(outside).lstrip("/"))
        data = b"overwritten" if type_ == tarfile.REGTYPE else b""
        member.size = len(data)
        tar.addfile(member, io.BytesIO(data))
    place = tmp_path / "place" / "evidence"
    place.parent.mkdir()
    with pytest.raises(StoreUnavailable, match="member"):
        example._unpack(pack(packed.getvalue()), place)
    assert {path.name for path in tmp_path.iterdir()} == {"outside", "place"}
    assert list(place.parent.iterdir()) == []
    assert [path.name for path in outside.iterdir()] == ["victim"]
    assert (outside / "victim").read_text() == "kept"


UP = "../../../../../../../.."


def step_key(_manifest: dict, step: dict, outside: Path) -> None:
    for file in step["files"].values():
        file["key"] = f"{UP}{outside}/victim"


def step_folder(manifest: dict, _step: dict, outside: Path) -> None:
    for entry in manifest["steps"]:
        entry["folder"] = f"{UP}{outside}"
    for file in manifest["imported"]["files"].values():
        file["key"] = f"{UP}{outside}/victim"


def absolute(manifest: dict, step: dict, outside: Path) -> None:
    for record in (step["files"], manifest["imported"]["files"]):
        for file in record.values():
            file["key"] = f"{outside}/victim"


def run_id(manifest: dict, _step: dict, outside: Path) -> None:
    manifest["run_id"] = f"{UP}{outside}"


def original(manifest: dict, _step: dict, outside: Path) -> None:
    """The imported file has a path for a name."""
    manifest["imported"]["name"] = f"../../..{outside}/victim"


def index(manifest: dict, _step: dict, _outside: Path) -> None:
    """The run is one that the imported file does not hold."""
    manifest["imported"]["index"] = 10**9


@pytest.mark.parametrize("forge", [step_key, step_folder, absolute, run_id, original, index])
def test_a_store_whose_records_lead_outside_gives_nothing_away(user, tmp_path, forge):
    """Another's store, whose records name files outside it, is rebuilt, shown and published."""
    outside = tmp_path / "outside"
    outside.mkdir()
    shutil.copy(OUTPUT, outside / "victim")
    user.called("results", "import", str(OUTPUT))
    share = user.home / ".local/share/diskbench"
    (manifest_file,) = share.glob("evidence/runs/*/manifest.json")
    (step_file,) = share.glob("evidence/runs/*/steps/*/step.json")
    manifest, step = (json.loads(file.read_text()) for file in (manifest_file, step_file))
    forge(manifest, step, outside)
    manifest_file.write_text(json.dumps(manifest))
    step_file.write_text(json.dumps(step))
    for file in step_file.parent.iterdir():
        if file != step_file and forge is not index:
            file.unlink()  # what is read comes from outside, or from nowhere
    before = (outside / "victim").read_bytes()
    for path in share.glob("diskbench.db*"):
        path.unlink()
    assert manifest_file.parent.name in user.refused("results", "rebuild", code=1).stderr
    assert user.json("results", "list")["runs"] == []
    site = user.call("publish", str(user.home / "site"), "--with-evidence")
    assert "Traceback" not in site.stderr
    assert [path.name for path in outside.iterdir()] == ["victim"]
    assert (outside / "victim").read_bytes() == before
    assert not list((user.home / "site").rglob("victim*"))
