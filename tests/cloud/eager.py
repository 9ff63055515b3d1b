"""diskbench as ever, but that it asks a cloud often: `python eager.py run --provider aws …`.

It waits as long as users' does. A test in which something never comes says after how many seconds
to give up: TEST_GIVES_UP="volume_s=3 ssh_s=5" (call_s is for any one answer); variables that begin
with DISKBENCH would not reach the program (tests/rigs/cli.py)."""

import dataclasses
import os
import sys
from functools import partial

from diskbench.cli.main import main
from diskbench.providers import waits
from diskbench.providers.aws.client import AwsTiming
from diskbench.providers.azure.client import AzureTiming
from diskbench.providers.gcp.client import GceTiming
from diskbench.providers.vsphere.client import VsphereTiming

GIVES_UP = "TEST_GIVES_UP"


def eager(timing, **limits):
    """`timing` with short breaks between questions, and these limits."""
    often = {"first_poll_s": 0.03, "max_poll_s": 0.4, "first_retry_s": 0.05, "max_retry_s": 0.5}
    return dataclasses.replace(timing, **often, nap_s=0.05, **limits)


AWS = eager(AwsTiming(), settle_s=0.5)
AZURE = eager(AzureTiming(), settle_s=5.0)
GCP = eager(GceTiming())
VSPHERE = eager(VsphereTiming(), disk_s_per_gib=0)


def _install():
    from diskbench.providers.aws import cloud as aws
    from diskbench.providers.azure import cloud as azure
    from diskbench.providers.gcp import cloud as gcp
    from diskbench.providers.vsphere import cloud as vsphere

    asked = dict(pair.split("=") for pair in os.environ.get(GIVES_UP, "").split())
    limits = {name: float(value) for name, value in asked.items()}
    waits.ANSWER_S = int(limits.get("call_s", waits.ANSWER_S))
    for module, name, timing in (
        (aws, "AWSProvider", AWS),
        (azure, "AzureProvider", AZURE),
        (gcp, "GCPProvider", GCP),
        (vsphere, "VsphereProvider", VSPHERE),
    ):
        known = {field.name for field in dataclasses.fields(timing)}
        own = {limit: value for limit, value in limits.items() if limit in known}
        made = partial(getattr(module, name), timing=dataclasses.replace(timing, **own))
        setattr(module, name, made)


if __name__ == "__main__":
    _install()
    sys.exit(main())
