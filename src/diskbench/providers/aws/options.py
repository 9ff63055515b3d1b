"""Options that only AWS has."""

from typing import ClassVar

from diskbench.model.options import Options, option


class AwsOptions(Options):
    """Who pays."""

    group: ClassVar[str] = "aws"
    panel: ClassVar[str] = "AWS"

    profile_name: str | None = option(
        None,
        "Named credentials of the AWS configuration files (default: AWS_PROFILE).",
        metavar="NAME",
        in_key="no",
        scopes=True,
    )
