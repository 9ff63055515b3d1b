# What the cloud itself counts of the volumes of a step: the log page 0xD0 of Amazon's NVMe disks, read just before fio
# and just after it. Only disks that say that they are Amazon's are asked, since the page is the vendor's own. Where it
# cannot be read (another cloud, no Python, no right) nothing is written, and nothing changes. Given before: sampled.
counters_python='import ctypes, fcntl, os, struct, sys
for number in sys.argv[2:]:
    try:
        place = os.path.realpath("/sys/dev/block/" + number)
        if os.path.exists(place + "/partition"):
            place = os.path.dirname(place)
        with open(place + "/device/model") as file:
            if not file.read().startswith("Amazon Elastic Block Store"):
                continue
        page = ctypes.create_string_buffer(4096)
        # struct nvme_passthru_cmd: get log page (2) of namespace 1, 1,024 words (less 1) of page 0xD0, within 2 s
        command = struct.pack("=BBHIIIQQ10I", 2, 0, 0, 1, 0, 0, 0, ctypes.addressof(page), 0, 4096, 1023 << 16 | 0xD0,
                              0, 0, 0, 0, 0, 2000, 0)
        with open("/dev/" + os.path.basename(place), "rb", buffering=0) as disk:
            if fcntl.ioctl(disk, 0xC0484E41, bytearray(command)) == 0:
                print(sys.argv[1], number, page.raw.hex())
    except OSError:
        pass'

counters() { # before or after: a line "WHEN NUMBER PAGE" for each volume is added to volume.txt
    case " $(cat /sys/block/nvme*/device/model 2>/dev/null)" in *"Amazon Elastic Block Store"*) ;; *) return 0 ;; esac
    # shellcheck disable=SC2086 # the kernel's numbers of disks hold no blanks
    timeout 10 python3 -c "$counters_python" "$1" $sampled >>volume.txt 2>/dev/null 9>&-
    [ -s volume.txt ] || rm -f volume.txt
}
