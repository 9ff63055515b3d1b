"""What other owners of a disk leave on it, written byte by byte: their tools need not be here.

Offsets and magics are those of libblkid (util-linux, libblkid/src/superblocks and .../partitions).
"""

import struct
import zlib

_SECTOR = 512


def write_at(image, *pieces):
    """Write each (offset, bytes) into an image or device that is there."""
    with image.open("r+b") as file:
        for offset, data in pieces:
            file.seek(offset)
            file.write(data)


def partition_entry(kind, first, sectors):
    return struct.pack("<B3sB3sII", 0, b"\0\2\0", kind, b"\xff\xff\xff", first, sectors)


def write_mbr(image):
    entry = partition_entry(0x83, 2048, 4096)
    write_at(image, (440, b"\x12\x34\x56\x78"), (446, entry), (510, b"\x55\xaa"))


def write_gpt(image):
    sectors = image.stat().st_size // _SECTOR
    table = bytes(128 * 128)

    def header(at, other, table_at):
        def packed(crc):
            return struct.pack(
                "<8sIIIIQQQQ16sQIII", b"EFI PART", 0x10000, 92, crc, 0, at, other, 34,
                sectors - 34, b"0123456789abcdef", table_at, 128, 128, zlib.crc32(table),
            )  # fmt: skip

        return packed(zlib.crc32(packed(0)))

    write_at(
        image,
        (446, partition_entry(0xEE, 1, sectors - 1)),
        (510, b"\x55\xaa"),
        (_SECTOR, header(1, sectors - 1, 2)),
        (2 * _SECTOR, table),
        ((sectors - 33) * _SECTOR, table),
        ((sectors - 1) * _SECTOR, header(sectors - 1, 1, sectors - 33)),
    )


def write_lvm(image):
    body = struct.pack("<I8s32s", 32, b"LVM2 001", b"A" * 32).ljust(_SECTOR - 20, b"\0")
    crc = 0xF597A6CF  # LVM's initial value; its CRC-32 is the usual one without the final inversion
    crc = zlib.crc32(body, crc ^ 0xFFFFFFFF) ^ 0xFFFFFFFF
    write_at(image, (_SECTOR, struct.pack("<8sQI", b"LABELONE", 1, crc) + body))


def write_md(image, sector=8):
    """A superblock of a software RAID: by default of version 1.2, at 4 KiB."""
    block = bytearray(4096)
    struct.pack_into("<II", block, 0, 0xA92B4EFC, 1)
    block[16:32] = b"md-array-uuid-00"
    struct.pack_into("<Q", block, 144, sector)  # super_offset
    total = sum(struct.unpack_from("<64I", block))
    struct.pack_into("<I", block, 216, ((total & 0xFFFFFFFF) + (total >> 32)) & 0xFFFFFFFF)
    write_at(image, (sector * _SECTOR, bytes(block)))


def write_zfs(image):
    for label in range(4):
        write_zfs_label(image, label)


def write_btrfs_copy(image, at=64 * 2**20):
    block = bytearray(4096)
    struct.pack_into("<Q", block, 0x30, at)
    block[0x40:0x48] = b"_BHRfS_M"
    write_at(image, (at, bytes(block)))


def write_f2fs_copy(image):
    """The second superblock of an f2fs, alone."""
    write_at(image, (5120, struct.pack("<IHHII", 0xF2F52010, 1, 15, 9, 3)))


def write_gpt_copy(image):
    """The GUID partition table at the end of a disk, alone."""
    write_gpt(image)
    write_at(image, (0, bytes(34 * _SECTOR)))


def write_md_at_end(image):
    """A version 1.0 superblock of a software RAID, near the end."""
    write_md(image, (image.stat().st_size // _SECTOR - 16) & ~7)


def write_old_md(image):
    """A version 0.90 superblock of a software RAID, 64 to 128 KiB before the end."""
    block = bytearray(4096)
    struct.pack_into("<IIII", block, 0, 0xA92B4EFC, 0, 90, 0)
    struct.pack_into("<I", block, 20, 0x11111111)
    write_at(image, ((image.stat().st_size & ~0xFFFF) - 0x10000, bytes(block)))


def write_zfs_label(image, label):
    """The uberblocks of one of a ZFS pool's four labels, alone."""
    size = image.stat().st_size // (256 * 1024) * (256 * 1024)
    ring = b"".join(
        struct.pack("<QQQ", 0x00BAB10C, 5000, n + 1).ljust(1024, b"\0") for n in range(128)
    )
    at = (0, 256 * 1024, size - 512 * 1024, size - 256 * 1024)[label]
    write_at(image, (at + 128 * 1024, ring))


def write_second_luks(image):
    """The secondary header of a LUKS2 volume, alone."""
    header = bytearray(b"SKUL\xba\xbe" + struct.pack(">HQQ", 2, 0x4000, 1))
    header += bytes(4096 - len(header))
    struct.pack_into(">Q", header, 256, 0x4000)
    write_at(image, (0x4000, bytes(header)))


def write_luks(image):
    header = b"LUKS\xba\xbe" + struct.pack(">H", 1) + b"aes".ljust(32, b"\0")
    write_at(image, (0, header.ljust(168, b"\0") + b"0f0e0d0c-0b0a-4908-8706-050403020100\0"))


def write_bcache(image):
    """The superblock of a bcache backing device, at 4 KiB."""
    magic = bytes.fromhex("c68573f64e1a45ca8265f57f48ba6d81")
    body = struct.pack("<QQ16s16s", 8, 1, magic, b"bcache-uuid-0000").ljust(208 - 8, b"\0")
    write_at(image, (4096, struct.pack("<Q", _crc64(body)) + body))


def _crc64(data):
    """CRC-64/ECMA-182 as bcache uses it (initial value and final xor of all ones)."""
    crc = 0xFFFFFFFFFFFFFFFF
    for byte in data:
        crc ^= byte << 56
        for _ in range(8):
            crc = (crc << 1) ^ (0x42F0E1EBA9EA3693 if crc >> 63 else 0)
            crc &= 0xFFFFFFFFFFFFFFFF
    return crc ^ 0xFFFFFFFFFFFFFFFF
