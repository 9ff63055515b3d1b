"""Options that only AWS has."""

from typing import ClassVar

from diskbench.model.options import Options, option


class AwsOptions(Options):
    """Who pays, and how fast a snapshot is loaded."""

    group: ClassVar[str] = "aws"
    panel: ClassVar[str] = "AWS"

    profile_name: str | None = option(
        None,
        "Named credentials of the AWS configuration files (default: AWS_PROFILE).",
        metavar="NAME",
        in_key="no",
        scopes=True,
    )
    initialization_rate: int | None = option(
        None,
        "MiB/s at which a disk from a snapshot is loaded, 100 to 300; billed apart.",
        metavar="MIB_PER_S",
        of_disk=True,
    )
    fast_snapshot_restore: bool = option(
        default=False,
        about="Fast Snapshot Restore for the snapshot of --snapshot-of-fill; an hour is billed.",
        of_disk=True,
    )
