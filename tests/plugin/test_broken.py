"""A provider's package that cannot be loaded: others work, and whoever names it is told why."""

import json
import subprocess
import sys

import pytest
from tests.plugin.test_stratus import with_site
from tests.rigs.cli import a_user

pytestmark = pytest.mark.slow

NAME = "nimbus"


def good(more):
    """The module of a plugin that has this and parts that are not there."""
    made = 'name="nimbus", title="Nimbus", summary="Broken.", rents=True'
    where = f'provider="nimbus_fault.parts:Provider", {more}'
    return f"from diskbench.plugin import GuestIdentity, Plugin\nPLUGIN = Plugin({made}, {where})\n"


FAULTS = {
    "no module": None,
    "raises": "raise RuntimeError('no licence was found')",
    "needs another package": "import a_package_that_is_not_there",
    "no plugin": "PLUGIN = 'nimbus'",
    "another name": "from diskbench.plugin import Plugin\n"
    "PLUGIN = Plugin(name='cirrus', title='', summary='', provider='')",
    "no options": good("options=('nimbus_fault.parts:Gone',)"),
    "odd options": good("options=('nimbus_fault.parts:Odd',)"),
    "no provider": good(""),
    "no folder": good("catalogue='nimbus_fault:gone'"),
    "odd catalogue": good("catalogue='nimbus_fault:book'"),
    "odd pattern": good("guest=GuestIdentity(firmware=({'sys_vendor': '('},))"),
}
PARTS = """
class Odd:
    group = "nimbus"
"""
OF_ALL = (
    ("providers",),
    ("catalog", "disks"),
    ("plan", "--provider", "aws", "--disk", "gp3", "--size", "20", "--offline"),
    ("run", "--help"),
    ("run", "--provider", "fake", "--help"),
    ("matrix", "schema"),
    ("status",),
    ("doctor", "--print-policy", "aws"),
)
"""Commands that go through all providers, or name another."""
_NAMED = ("--provider", NAME, "--disk", "x", "--size", "20", "--profile", "quick")
OF_IT = (("plan", *_NAMED), ("run", *_NAMED))
BEGIN, END = "<ended with ", " by main>"
EACH = f"""
import json, sys
from diskbench.cli.main import main
for words in json.loads(sys.argv[1]):
    print("{BEGIN}", main(words), "{END}", sep="", file=sys.stderr)
"""
"""Runs each command in one process: a start is most of what they cost."""


ALWAYS = ("raises", "odd catalogue")


@pytest.fixture(
    params=[
        pytest.param(fault, marks=() if fault in ALWAYS else pytest.mark.thorough)
        for fault in FAULTS
    ]
)
def user(request, tmp_path):
    """A user beside whose diskbench a faulty package is installed."""
    site = tmp_path / "site"
    package = site / "nimbus_fault"
    package.mkdir(parents=True)
    text = FAULTS[request.param]
    (package / "__init__.py").touch()
    (package / "parts.py").write_text(PARTS)
    if text is not None:
        (package / "plugin.py").write_text(text)
    (package / "book").mkdir()
    for name in ("limits.yaml", "machines.yaml", "prices.yaml", "charges.yaml", "regions.yaml"):
        (package / "book" / name).write_text("disks: [no, mapping]\n")
    metadata = site / "nimbus_fault-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: nimbus-fault\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        f"[diskbench.providers]\n{NAME} = nimbus_fault.plugin:PLUGIN\n"
    )
    made = a_user(tmp_path)
    made.extra_env["PYTHONPATH"] = with_site(site)
    return made


def test_every_other_provider_works_and_whoever_names_it_is_told_why(user):
    ended = subprocess.run(
        [sys.executable, "-c", EACH, json.dumps([*OF_ALL, *OF_IT])],
        env=user.env,
        cwd=user.home,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stderr
    told = ended.stderr.split(END)
    codes = [int(text.rpartition(BEGIN)[2]) for text in told[:-1]]
    assert codes == [0] * len(OF_ALL) + [2] * len(OF_IT), ended.stderr
    warned = [line for line in "".join(told[: len(OF_ALL)]).splitlines() if NAME in line]
    assert len(warned) == 1, ended.stderr
    for text in (*warned, *told[len(OF_ALL) : -1]):
        assert "nimbus_fault.plugin:PLUGIN" in text
        assert "nimbus-fault" in text
