"""What a stranger packed by zstd: in little memory and time, and damage is told."""

import io

import pytest

from diskbench.packed import ZstdError, pack, pack_file, unpack, unpacked, zstd

TEXT = b"".join(b"%d, %d\n" % (i, i**5 % 1_048_573) for i in range(20_000))
CHECKSUM_BYTES = 4


def plain(packed: bytes, **more: int) -> bytes:
    return b"".join(unpacked(io.BytesIO(packed), **more))


@pytest.mark.parametrize("data", [b"", b"x", TEXT, bytes(2**20)])
def test_what_is_packed_whole_or_in_pieces_is_a_frame_that_tells_its_size(data):
    in_pieces = io.BytesIO()
    pack_file(io.BytesIO(data), in_pieces, len(data))
    for packed in (in_pieces.getvalue(), pack(data)):
        assert zstd.get_frame_info(packed).decompressed_size == len(data)
        assert unpack(packed, len(data)) == plain(packed) == data


def test_a_file_that_grew_while_it_was_packed_is_told():
    with pytest.raises(ZstdError):
        pack_file(io.BytesIO(TEXT), io.BytesIO(), len(TEXT) - 1)


@pytest.mark.parametrize("size", [None, len(TEXT)])
def test_more_than_may_be_unpacked_is_refused_whether_the_frame_tells_it_or_not(size):
    packer = zstd.ZstdCompressor()
    packer.set_pledged_input_size(size)
    packed = packer.compress(TEXT) + packer.flush()
    with pytest.raises(OverflowError):
        unpack(packed, len(TEXT) - 1)
    assert unpack(packed, len(TEXT)) == TEXT


@pytest.mark.parametrize(
    ("packed", "found"),
    [
        (b"", b""),
        (pack(TEXT)[:-CHECKSUM_BYTES], TEXT),
        (pack(TEXT) + b"x", None),
        (pack(TEXT)[:-1] + bytes([pack(TEXT)[-1] ^ 1]), None),
        (b"no zstd", None),
        (pack(b"a") + pack(b"b"), b"ab"),
        (pack(b"a") * 9_999, b"a" * 9_999),
        (pack(b"") * 10_000, None),
    ],
    ids=["empty", "cut", "followed", "checksum", "text", "two", "many", "too many"],
)
def test_one_frame_is_read_whole_and_of_several_what_there_is(packed, found):
    with pytest.raises(ZstdError):
        unpack(packed, 2**20)
    if found is not None:
        assert plain(packed) == found
    else:
        with pytest.raises(ZstdError):
            plain(packed)


def test_a_frame_that_needs_more_memory_than_it_may_is_refused():
    window = {zstd.CompressionParameter.window_log: 24}
    packer = zstd.ZstdCompressor(options=window)
    packed = b"".join([packer.compress(bytes(2**24)), packer.compress(TEXT), packer.flush()])
    assert len(plain(packed, window_log=24)) == 2**24 + len(TEXT)
    with pytest.raises(ZstdError, match="memory"):
        plain(packed, window_log=23)
