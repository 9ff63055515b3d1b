# Whether a directory can be written to.

room_at() { # directory [name] -> whether a new file of 64 KiB can be written there, which stays under that name; else
    # $room says why not
    room='' room_file=$1/${2:-new.room.$$}
    if dd if=/dev/zero of="$room_file" bs=65536 count=1 status=none 2>/dev/null; then
        [ $# = 2 ] || rm -f "$room_file"
        return 0
    fi
    room=$(dd if=/dev/zero of="$room_file" bs=65536 count=1 status=none 2>&1)
    rm -f "$room_file" 2>/dev/null
    # shellcheck disable=SC2046 # three numbers
    set -- "$1" "${room##*: }" $(stat -f -c '%a %S %d' "$1" 2>/dev/null)
    room="cannot write to $1: $2"
    [ $# -lt 5 ] || room="$room ($(($3 * $4 / 1024)) KiB and $5 inodes are free there)"
    return 1
}
