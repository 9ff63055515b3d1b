# Make a filesystem on the allowed device and mount it; twice is as once. Given before this text:
# block.sh, guard.sh, device, device_number, device_identity, device_size, kind, uuid, mount. Prints
# what was run, one command a line; "! WHY" ends it.
set -u
umask 022
export LC_ALL=C
fail() { echo "! $*"; exit 0; }

why=$(guard_identity) || fail "$why"

case $kind in
    ext4) set -- mkfs.ext4 -q -F -U "$uuid" -E lazy_itable_init=0,lazy_journal_init=0 "$device" ;;
    xfs) set -- mkfs.xfs -q -f -m "uuid=$uuid" "$device" ;;
    *) fail "no way to make $kind" ;;
esac
command -v "$1" >/dev/null 2>&1 || fail "$1 is not installed"
echo "$*"
echo "mount -t $kind $device $mount"

at=$(mounted_on "$mount")
[ "$at" = "$device_number" ] && exit 0
[ -z "$at" ] || fail "$mount is taken by" $at
why=$(guard_use && guard_content "$uuid") || fail "$why"
why=$("$@" 2>&1) || fail "$1: $why"
mkdir -p "$mount" || fail "cannot make $mount"
why=$(mount -t "$kind" "$device" "$mount" 2>&1) || fail "$why"
