"""Matrices for tests."""

from diskbench.model.matrix import Matrix


def a_matrix(**fields: object) -> Matrix:
    """A matrix of the fields of a file."""
    return Matrix.model_validate({"name": "test", **fields})
