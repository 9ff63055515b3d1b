# Remove the filesystem that diskbench made, known by its UUID, and no other. Given before this text:
# block.sh, guard.sh, device, device_number, device_identity, device_size, uuid.
export LC_ALL=C
guard_identity >/dev/null || exit 0
# Held open while it is checked and wiped, so that both concern one disk, whatever its name then is.
exec 5<"$device"
held=/proc/$$/fd/5
guard_identity >/dev/null && guard_content "$uuid" >/dev/null || exit 0
guard_use >&2 || exit 1
wipefs -q -a "$held"
