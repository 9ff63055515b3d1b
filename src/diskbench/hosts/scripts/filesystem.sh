# Make a filesystem on the allowed device and mount it; twice is as once. Given before this text:
# block.sh, guard.sh, device, device_number, device_identity, device_size, kind, uuid, mount. Prints
# what was run, one command a line; "! WHY" ends it.
set -u
umask 022
export LC_ALL=C
fail() { echo "! $*"; exit 0; }

why=$(guard_identity) || fail "$why"
# Held from here on, and looked at by the descriptor: its number stays its own. Without O_EXCL, which
# mkfs and mount want for themselves. The children hold it, too, and end with their work.
exec 5<"$device"
held=/proc/$$/fd/5
seen=$(guard_seen)

case $kind in
    ext4) set -- mkfs.ext4 -q -F -U "$uuid" -E lazy_itable_init=0,lazy_journal_init=0 ;;
    xfs) set -- mkfs.xfs -q -f -m "uuid=$uuid" ;;
    *) fail "no way to make $kind" ;;
esac
is_there() { mounted_on "$mount" | grep -q -x -F -e "$device_number" || { echo "$device is not mounted on $mount"; return 1; }; }

command -v "$1" >/dev/null 2>&1 || fail "$1 is not installed"
echo "$* $device"
echo "mount -t $kind $device $mount"

at=$(mounted_on "$mount")
[ "$at" = "$device_number" ] && exit 0
[ -z "$at" ] || fail "$mount is taken by" $at
why=$(guard_identity && guard_use && guard_content "$uuid") || fail "$why"
why=$("$@" "$held" 2>&1) || fail "$1: $why"
why=$(guard_identity && guard_same "$seen") || fail "while $1 ran: $why"
mkdir -p "$mount" || fail "cannot make $mount"
why=$(mount -t "$kind" "$held" "$mount" 2>&1) || fail "$why"
# mount takes a descriptor's path for the name that it had.
why=$(guard_identity && guard_same "$seen" && is_there) || { umount "$mount"; fail "while it was mounted: $why"; }
