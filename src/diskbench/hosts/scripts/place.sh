# The directory of test files, known again: its parent may belong to somebody who can put another
# directory, or a symbolic link, in its place.

place_identity() { # directory -> "BOOT DEVICE INODE"
    echo "$(cat /proc/sys/kernel/random/boot_id) $(stat -c '%d %i' "$1")"
}

place_is() { # directory, file with what place_identity said when it was made
    [ ! -L "$1" ] && [ -d "$1" ] && [ -O "$1" ] || return 1
    read -r place_boot place_device place_inode 2>/dev/null <"$2" || return 1
    # shellcheck disable=SC2046 # three words
    set -- "$1" $(place_identity "$1")
    # Devices may be numbered anew when a machine starts.
    [ "$2" != "$place_boot" ] || [ "$3" = "$place_device" ] || return 1
    [ "$4" != "$place_inode" ] || return 0
    case $(stat -f -c %T "$1") in fuse* | overlay*) return 0 ;; esac # they number inodes as they like
    return 1
}
