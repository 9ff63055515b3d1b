"""Logs with numbers that no database holds, far behind their first lines."""

import pytest

from diskbench.errors import FioOutputUnreadable
from diskbench.store.series import write_series


@pytest.mark.parametrize("kind", ["lat", "bw", "iops"])
@pytest.mark.parametrize("block", [0, 4096])
@pytest.mark.parametrize("unix_ms", [0, 1_700_000_000_000])
def test_a_large_number_far_behind_is_told_in_words(tmp_path, kind, block, unix_ms):
    rows = [f"{unix_ms + n}, 1, 0, {block}" for n in range(50_000)]
    path = tmp_path / f"x_{kind}.1.log"
    path.write_text("\n".join([*rows, f"{'9' * 20}, 1, 0, {block}"]) + "\n")
    with pytest.raises(FioOutputUnreadable):
        write_series([path], tmp_path / "out.parquet")
