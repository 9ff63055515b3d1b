# Make a filesystem on the allowed device and mount it; twice is as once. Given before this text:
# block.sh, device, device_number, device_identity, device_size, kind, uuid, mount. Prints what was
# run, one command a line; "! WHY" ends it.
set -u
umask 022
export LC_ALL=C
fail() { echo "! $*"; exit 0; }

number=$(block_number "$device")
[ "$number" = "$device_number" ] || fail "$device is now ${number:-gone}, not $device_number"
[ "$(($(block_value "/sys/dev/block/$number/size") * 512))" = "$device_size" ] || fail "$device has another size"
block_identities "$number" | grep -q -x -F -e "$device_identity" || fail "$device no longer answers to $device_identity"

case $kind in
    ext4) set -- mkfs.ext4 -q -F -U "$uuid" -E lazy_itable_init=0,lazy_journal_init=0 "$device" ;;
    xfs) set -- mkfs.xfs -q -f -m "uuid=$uuid" "$device" ;;
    *) fail "no way to make $kind" ;;
esac
command -v "$1" >/dev/null 2>&1 || fail "$1 is not installed"
echo "$*"
echo "mount -t $kind $device $mount"

at=$(awk -v m="$mount" '$5 == m { print $3 }' /proc/self/mountinfo)
[ "$at" = "$number" ] && exit 0
[ -z "$at" ] || fail "$mount is taken by $at"
found=$(blkid -p -o value -s TYPE "$device" 2>/dev/null)
mine=$(blkid -p -o value -s UUID "$device" 2>/dev/null)
[ -z "$found" ] || [ "$mine" = "$uuid" ] || fail "$device holds $found, which diskbench did not make"
why=$("$@" 2>&1) || fail "$1: $why"
mkdir -p "$mount" || fail "cannot make $mount"
why=$(mount -t "$kind" "$device" "$mount" 2>&1) || fail "$why"
