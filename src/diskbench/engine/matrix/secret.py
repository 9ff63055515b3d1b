"""Check that all workers have the same secret, from which keys of rented machines are derived."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

from diskbench.engine.matrix.executor import living
from diskbench.errors import InvalidValue
from diskbench.store.claims import list_executors

if TYPE_CHECKING:
    import sqlalchemy as sa
    from pydantic import SecretBytes


def fingerprint(secret: SecretBytes) -> str:
    """64 bits of an HMAC-SHA256 in hexadecimal: distinguishes secrets without revealing them."""
    return hmac.digest(secret.get_secret_value(), b"diskbench secret v1", "sha256")[:8].hex()


def check_shared(database: sa.Engine, own: str) -> None:
    """Raise InvalidValue where the secret of a live worker has another fingerprint than `own`,
    because neither worker could log in to the machines of the other."""
    executors = list_executors(database)
    alive = living(executors)
    for peer in executors:
        if peer.executor_id in alive and peer.secret_id not in (None, own):
            raise InvalidValue(
                f"this worker's secret is not that of worker {peer.name} on {peer.hostname}",
                advice="give all workers of a database the same DISKBENCH_SECRET, or the same file "
                "(see secret_file in 'diskbench config')",
            )
