import pytest

from diskbench.errors import StoreUnavailable
from diskbench.store.evidence import open_evidence


def test_a_store_that_is_full_before_anything_began_is_not_to_be_resumed(small_disk):
    store = open_evidence(small_disk.as_uri())
    with pytest.raises(StoreUnavailable, match="No space left"):  # noqa: PT012 - until it is full
        for number in range(10_000):
            store.put(f"ballast/{number}", bytes(2**20 >> min(number // 20, 12)))
    with pytest.raises(StoreUnavailable, match="No space left") as caught:
        store.check_writable()
    assert "resume" not in caught.value.advice
    assert "--evidence-url" in caught.value.advice
