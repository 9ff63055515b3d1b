import json
import subprocess

import pytest

from diskbench.cli.main import main

pytestmark = pytest.mark.slow  # every disk of the machine is looked at


@pytest.fixture
def loop(tmp_path):
    image = tmp_path / "disk.img"
    with image.open("wb") as file:
        file.truncate(2**25)
    done = subprocess.run(
        ["losetup", "-f", "--show", str(image)], check=True, capture_output=True, text=True
    )
    yield done.stdout.strip(), image
    subprocess.run(["losetup", "-d", done.stdout.strip()], check=True)


def test_a_loop_device_is_listed_when_asked_for_and_never_proposed(loop, capsys):
    device, image = loop

    def block():
        assert main(["devices", "--all"]) == 0
        listed = capsys.readouterr().out
        return listed[listed.index(device + " ") :].split("\n/dev/")[0]

    # Another test's losetup looks into every loop device for a moment, which holds it open.
    seen = next(text for text in (block() for _ in range(20)) if "held open" not in text)
    assert f"identity  {image}:{image.stat().st_ino}" in seen
    assert "\n  free" in seen
    assert main(["devices"]) == 0
    out, err = capsys.readouterr()
    assert f"{device} " not in out
    assert str(image) not in out + err
    assert "not listed: add --all" in err


def test_json_lists_every_disk_with_its_refusals(loop, capsys):
    device, image = loop
    subprocess.run(["mkfs.ext4", "-q", device], check=True)
    assert main(["devices", "--output", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["format"] == 1
    found = {d["path"]: d for d in document["devices"]}
    assert found[device]["refused"] == ["holds data (signature: ext4)"]
    assert not found[device]["free"]
    assert found[device]["identities"] == [f"{image}:{image.stat().st_ino}", str(image)]
    assert found[device]["size_bytes"] == 2**25


def test_a_host_that_cannot_be_reached_exits_2_with_advice(capsys):
    assert main(["devices", "--host", "nobody@127.0.0.1:1"]) == 2
    assert "cannot connect to 127.0.0.1 port 1" in capsys.readouterr().err
