"""zstd, as Python 3.14 has it and its backport has it before: in pieces, from and to a file.

The bounds on what a stranger packed are the callers': the bytes that they take of `unpacked`, and
the window, which is what a decoder holds in memory.
"""

import sys
from collections.abc import Iterator
from typing import IO

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ZstdError = zstd.ZstdError
LEVEL = 3
_READ_BYTES = 2**14
"""What is read at once: with each frame that ends, the rest of it is copied."""
_MOST_FRAMES = 10_000
"""Each costs 70 µs, however little it holds; ours have one."""
_PIECE_BYTES = 2**17
_OPTIONS: dict[int, int] = {
    zstd.CompressionParameter.compression_level: LEVEL,
    zstd.CompressionParameter.checksum_flag: 1,
}


def pack(data: bytes) -> bytes:
    """One frame, which tells its size and has a checksum."""
    return zstd.compress(data, options=_OPTIONS)


def pack_file(source: IO[bytes], target: IO[bytes], size: int) -> None:
    """As `pack`, of a file of `size` bytes. Raises ZstdError where it has more or fewer."""
    packer = zstd.ZstdCompressor(options=_OPTIONS)
    packer.set_pledged_input_size(size)
    while piece := source.read(_PIECE_BYTES):
        target.write(packer.compress(piece))
    target.write(packer.flush())


def unpack(data: bytes, most: int) -> bytes:
    """What one frame holds. Raises ZstdError where it is damaged, cut or followed by anything, and
    OverflowError where it holds more than `most` bytes."""
    told = zstd.get_frame_info(data).decompressed_size
    if told is not None and told > most:
        raise OverflowError(f"{told:,} bytes")
    unpacker = zstd.ZstdDecompressor()
    # A byte more, or a frame that is full would not come to its end.
    found = unpacker.decompress(data, most + 1)
    if len(found) > most:
        raise OverflowError(f"more than {most:,} bytes")
    if not unpacker.eof or unpacker.unused_data:
        raise ZstdError("it is cut" if not unpacker.eof else "something follows it")
    return found


def unpacked(file: IO[bytes], *, window_log: int = 27) -> Iterator[bytes]:
    """What the frames of a file hold, in blocks; where it was cut, what came before. Raises
    ZstdError where it is damaged, has 10,000 frames, or needs a window of more than 2 to the
    `window_log` bytes."""
    options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: window_log}
    data = b""
    for _ in range(_MOST_FRAMES):
        unpacker = zstd.ZstdDecompressor(options=options)
        while not unpacker.eof:
            data = data or file.read(_READ_BYTES)
            if not data:
                return
            while not unpacker.eof and (block := unpacker.decompress(data, _PIECE_BYTES)):
                yield block
                data = b""
            data = unpacker.unused_data
    raise ZstdError(f"more than {_MOST_FRAMES:,} frames")
