"""`diskbench version`: which diskbench this is."""

import typer

from diskbench import __version__


def version() -> None:
    """Print the version of diskbench."""
    typer.echo(f"diskbench {__version__}")
