"""The catalogue of a session: the shipped files, with what was refreshed in the user's cache."""

import os
from pathlib import Path

from platformdirs import user_cache_path
from pydantic import ValidationError

from diskbench.catalog.books import Books, Overlay, check_region, regions
from diskbench.catalog.prices import price_book
from diskbench.catalog.shipped import catalogues
from diskbench.errors import InvalidValue, UnknownName
from diskbench.files import private_directory, write_private
from diskbench.model.value_fault import value_faults
from diskbench.plugin import working
from diskbench.ports import Refreshes
from diskbench.providers.registry import Providers, provider


def refreshable() -> tuple[str, ...]:
    """The providers that can be asked for limits and prices, sorted."""
    made = working(catalogues(), provider)
    return tuple(name for name, known in made.items() if isinstance(known, Refreshes))


def refreshable_in(region: str) -> tuple[str, ...]:
    """Those of them whose catalogue lists a region. Raises UnknownName where none does."""
    listed = {cloud: regions(cloud) for cloud in refreshable()}
    name = region.replace(" ", "").lower()
    named = tuple(cloud for cloud, known in listed.items() if name in known)
    if not named:
        every = [known for of_cloud in listed.values() for known in of_cloud]
        raise UnknownName("region", region, every, field="region")
    return named


def open_books() -> Books:
    """The catalogue as it is now: the shipped files overlaid with the user's cache. Open it once,
    where a session or a command begins, and pass it on; a later refresh affects only sessions that
    are opened after it. Raises InvalidValue for a file in the cache that cannot be read."""
    return Books(read_overlays())


def refresh(cloud: str, region: str | None = None) -> tuple[Overlay, Path]:
    """Ask a cloud for limits and prices, and cache the answer for sessions that are opened later.
    The prices are those of `region`; by default, of the region of the shipped ones. Raises
    UnknownName for a region that the cloud has not, InvalidValue for a cloud that cannot be asked
    and for an answer that breaks the rules of the catalogue (which is not cached), and whatever the
    cloud's provider raises."""
    if region is not None:
        check_region(cloud, region)
        region = region.replace(" ", "").lower()
    before = open_books()
    with Providers() as providers:
        source = providers.named(cloud)
        if not isinstance(source, Refreshes):
            raise InvalidValue(
                f"--provider {cloud} has no API of limits and prices",
                advice=f"leave --refresh out, or name one of {', '.join(refreshable())}",
            )
        refreshed = source.refreshed(before, region)
    place = cloud, refreshed.region
    others = (of for of in before.overlays if (of.cloud, of.region) != place)
    Books((*others, refreshed)).check()
    return refreshed, write_overlay(refreshed)


def overlay_directory() -> Path:
    """Where the files lie; a file that is removed leaves the shipped catalogue."""
    return Path(user_cache_path("diskbench")) / "catalog"


def read_overlays(directory: Path | None = None) -> tuple[Overlay, ...]:
    """What was refreshed, by provider. Raises InvalidValue for a file that is no overlay."""
    overlays = []
    for path in sorted((directory or overlay_directory()).glob("*.json")):
        try:
            overlays.append(Overlay.model_validate_json(path.read_bytes()))
        except (ValidationError, OSError) as error:
            cloud, _, region = path.stem.partition("-")
            command = f"diskbench catalog prices --refresh --provider {cloud}"
            raise InvalidValue(
                f"{path} is not a refreshed catalogue: {value_faults(error, 'file')}",
                advice=f"remove it, or `{command}{f' --region {region}' if region else ''}`",
            ) from error
    return tuple(overlays)


def write_overlay(overlay: Overlay, directory: Path | None = None) -> Path:
    """Keep one, in place of the last one of that cloud and region; other processes see the old one
    or the new."""
    where = directory or overlay_directory()
    private_directory(where)
    is_home = overlay.region == price_book(overlay.cloud).region
    path = where / f"{overlay.cloud if is_home else f'{overlay.cloud}-{overlay.region}'}.json"
    beside = path.with_suffix(f".{os.getpid()}.part")
    write_private(beside, overlay.model_dump_json(indent=1).encode())
    beside.replace(path)
    return path
