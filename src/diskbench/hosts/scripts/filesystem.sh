# Make a filesystem on the allowed device and mount it; idempotent. Given before this text:
# block.sh, guard.sh, device, device_number, device_identity, device_size, kind, uuid, mount. Prints
# the commands that were run, one on each line, and "." as a sign of life; "! WHY" ends it. A file `stop` beside the
# mount point ends mkfs.
set -u
umask 022
export LC_ALL=C

stop=${mount%/*}/stop mkfs=
rm -f "$stop"
(while kill -0 $$ && sleep 1 >/dev/null; do
    echo .
    read -r mkfs <"$mount.mkfs" && [ -e "$stop" ] && kill -KILL "$mkfs"
done) 2>/dev/null </dev/null 4>&- &
beats=$!
fail() { kill "$beats"; echo "! $*"; exit 0; }
# The script of a broken connection may still run.
exec 4>>"$mount.lock" && { ! command -v flock >/dev/null 2>&1 || flock 4; }

why=$(guard_identity) || fail "$why"
# Held open from here on, and checked by the descriptor, so that its number cannot change. Without
# O_EXCL, which mkfs and mount use themselves. The children hold it, too, and end with their work.
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
if [ "$at" = "$device_number" ]; then kill "$beats"; exit 0; fi
[ -z "$at" ] || fail "$mount is taken by" $at
why=$(guard_identity && guard_use && guard_content "$uuid") || fail "$why"
why=$(sh -c 'echo $$ >"$0.mkfs"; exec "$@"' "$mount" "$@" "$held" 2>&1 4>&-) || {
    [ ! -e "$stop" ] || fail stopped
    fail "$1: $why"
}
why=$(guard_identity && guard_same "$seen") || fail "while $1 ran: $why"
[ ! -e "$stop" ] || fail stopped
mkdir -p "$mount" || fail "cannot make $mount"
why=$(mount -t "$kind" "$held" "$mount" 2>&1) || fail "$why"
# mount resolves the path of a descriptor to the name that the device had.
why=$(guard_identity && guard_same "$seen" && is_there) || { umount "$mount"; fail "while it was mounted: $why"; }
kill "$beats"
