"""The file of a recorded load that was typed, for `advise --load` and `profiles from-load`."""

from pathlib import Path

from diskbench.errors import InvalidValue
from diskbench.files import read_bytes
from diskbench.importers.load import Recorded, read_load
from diskbench.limits import IMPORT_BYTES
from diskbench.units import parse_size_bytes


def load_of(path: Path, device: str | None, block: str | None) -> Recorded:
    """The recorded load in a file that was typed. Raises InvalidValue, UnknownName."""
    try:
        data = read_bytes(path, IMPORT_BYTES)
    except OSError as error:
        unread = f"{path} cannot be read: {error.strerror}"
        raise InvalidValue(unread, advice="give the path of a file") from error
    except ValueError:
        large = f"{path} is larger than 512 MiB"
        raise InvalidValue(large, advice="record fewer devices") from None
    size = None if block is None else parse_size_bytes(block)
    return read_load(data, path.name, device=device, block=size or None)
