from tests.cloud.conftest import gcp, gcp_server

__all__ = ["gcp", "gcp_server"]
