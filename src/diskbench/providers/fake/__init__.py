"""The plugin of the fake cloud."""

from diskbench.plugin import Plugin

PLUGIN = Plugin(
    name="fake",
    title="Fake cloud",
    summary="A cloud in a directory of this machine, for trying and testing rentals.",
    provider="diskbench.providers.fake.cloud:FakeProvider",
    rents=True,
    refuses=dict.fromkeys(
        ("tag", "kms_key", "from_snapshot", "snapshot_of_fill"), "nothing is really made here"
    ),
)
