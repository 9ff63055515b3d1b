"""The provider contract as tests: a package with a provider runs them against it.

    import pytest
    from diskbench.testing import RenterContract

    class TestMyCloud(RenterContract):
        @pytest.fixture
        def rig(self, tmp_path):
            return MyRig(tmp_path)

`Rig` gives the tests access to the cloud. pytest is needed only where this package is imported:
`diskbench-fio[testing]` installs it.
"""

import pytest

# Before the tests are imported: failed assertions then show both values, as in a test file.
pytest.register_assert_rewrite("diskbench.testing.end_to_end", "diskbench.testing.renter")

from diskbench.testing.end_to_end import EndToEndContract  # noqa: E402 - see above
from diskbench.testing.renter import RenterContract  # noqa: E402
from diskbench.testing.rig import (  # noqa: E402
    Rig,
    RigOnlooker,
    acquire,
    cell,
    claim,
    guest_of,
    scope_of,
)

__all__ = [
    "EndToEndContract",
    "RenterContract",
    "Rig",
    "RigOnlooker",
    "acquire",
    "cell",
    "claim",
    "guest_of",
    "scope_of",
]
