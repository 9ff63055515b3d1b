"""A bucket on an emulator that speaks S3 (moto's server), and the settings that lead to it."""

import logging
import secrets
from contextlib import contextmanager

_REGION = "eu-central-1"


@contextmanager
def s3_bucket():
    """The URL of an empty store in a bucket of its own, and the environment that opens it."""
    import boto3  # large, and most test processes need neither
    from moto.server import ThreadedMotoServer

    bucket = f"evidence-{secrets.token_hex(8)}"  # all servers of a process share their buckets
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # it logs each request to our stderr
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        endpoint = f"http://{host}:{port}"
        keys = {"aws_access_key_id": "id", "aws_secret_access_key": "secret"}
        boto3.client("s3", endpoint_url=endpoint, region_name=_REGION, **keys).create_bucket(
            Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": _REGION}
        )
        environment = {key.upper(): value for key, value in keys.items()}
        environment |= {"AWS_REGION": _REGION, "AWS_ENDPOINT": endpoint, "AWS_ALLOW_HTTP": "true"}
        yield f"s3://{bucket}/kept", environment
    finally:
        server.stop()
