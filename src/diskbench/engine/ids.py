"""New ids. Apart from the session, so that a host is reached before the database is imported."""

from ulid import ULID


def new_id() -> str:
    """A lower-case ULID: sorts by time, fits every cloud's naming rules."""
    return str(ULID()).lower()
