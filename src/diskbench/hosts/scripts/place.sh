# The identity of the directory of test files: its parent may belong to a user who can replace it with
# another directory or a symbolic link.

place_look() { # directory -> $place_found: "BOOT DEVICE INODE"
    place_now=
    read -r place_now </proc/sys/kernel/random/boot_id
    place_found="$place_now $(stat -c '%d %i' "$1")"
}

place_is() { # directory, file with what place_look found when it was made
    [ ! -L "$1" ] && [ -d "$1" ] && [ -O "$1" ] || return 1
    read -r place_boot place_device place_inode 2>/dev/null <"$2" || return 1
    place_look "$1"
    # shellcheck disable=SC2086 # three words
    set -- "$1" $place_found
    # Device numbers may change when a machine starts.
    [ "$2" != "$place_boot" ] || [ "$3" = "$place_device" ] || return 1
    [ "$4" != "$place_inode" ] || return 0
    case $(stat -f -c %T "$1") in fuse* | overlay*) return 0 ;; esac # their inode numbers are not stable
    return 1
}
