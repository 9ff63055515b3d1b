"""A bucket on an emulator that speaks S3 (moto's server), and the settings that lead to it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import boto3
from moto.server import ThreadedMotoServer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

BUCKET = "evidence"
_REGION = "eu-central-1"


@contextmanager
def s3_bucket() -> Iterator[tuple[str, Mapping[str, str]]]:
    """The URL of an empty evidence store in a bucket, and the environment in which it is opened."""
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        endpoint = f"http://{host}:{port}"
        keys = {"aws_access_key_id": "id", "aws_secret_access_key": "secret"}
        client = boto3.client("s3", endpoint_url=endpoint, region_name=_REGION, **keys)
        client.create_bucket(
            Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": _REGION}
        )
        yield (
            f"s3://{BUCKET}/kept",
            {
                "AWS_ACCESS_KEY_ID": "id",
                "AWS_SECRET_ACCESS_KEY": "secret",
                "AWS_REGION": _REGION,
                "AWS_ENDPOINT": endpoint,
                "AWS_ALLOW_HTTP": "true",
            },
        )
    finally:
        server.stop()
