# Remove the filesystem that diskbench made, known by its UUID, and no other. Given before this text:
# block.sh, guard.sh, device, device_number, device_identity, device_size, uuid.
export LC_ALL=C
guard_identity >/dev/null || exit 0
# Held open while it is checked and wiped, so that both concern one disk, whatever its name then is.
exec 5<"$device"
held=/proc/$$/fd/5
guard_identity >/dev/null && guard_content "$uuid" >/dev/null || exit 0
guard_use >&2 || exit 1
# It opens with O_EXCL: what only inspects the disk at this moment, as udev does, closes it soon.
looks=4
until why=$(wipefs -q -a "$held" 2>&1); do
    looks=$((looks - 1))
    if [ "$looks" = 0 ]; then echo "$why" >&2; exit 1; fi
    sleep 0.3
    guard_content "$uuid" >/dev/null || exit 0
done
