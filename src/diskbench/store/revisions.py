"""The revisions of the schema, apart from its tables: who only reads needs no SQLAlchemy."""

VERSION_TABLE = "diskbench_alembic_version"
REVISIONS = (
    "0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", "0009", "0010", "0011", "0012",
    "0013", "0014", "0015",
)  # fmt: skip
"""Every schema revision this program knows, oldest first; the last is the one it uses."""
HEAD = REVISIONS[-1]
