# Functions about block devices, for any POSIX sh. $1 is a kernel number MAJOR:MINOR. What is needed in every run
# is set as a variable ("-> $NAME"): to capture what a function prints costs a process.

block_look() { # path -> $number: MAJOR:MINOR; empty when it is no block device
    number=
    [ -b "$1" ] || return 1
    # shellcheck disable=SC2046 # two words
    set -- $(stat -L -c '%t %T' "$1" 2>/dev/null)
    [ $# = 2 ] || return 1
    number=$((0x$1)):$((0x$2))
}

block_number() { # path -> MAJOR:MINOR, nothing when it is no block device
    block_look "$1" && echo "$number"
}

block_device() { # number -> $kernel_name: its name below /dev, as the kernel has it; empty when there is none
    kernel_name=
    while IFS== read -r key value; do
        [ "$key" != DEVNAME ] || kernel_name=$value
    done 2>/dev/null <"/sys/dev/block/$1/uevent"
}

block_read() { # file -> $value: its first line, trimmed; empty when there is none. Starts no process.
    value=
    [ -r "$1" ] || return 0
    IFS= read -r value 2>/dev/null <"$1" || :
    value=${value#"${value%%[! ]*}"}
    value=${value%"${value##*[! ]}"}
}

block_value() { # file -> its first line, trimmed; nothing when there is none
    [ -r "$1" ] || return 0
    block_read "$1"
    echo "$value"
}

block_line() { # KEY, file -> KEY=VALUE, with the first line of the file
    block_read "$2"
    echo "$1=$value"
}

block_real() { # absolute path of a directory -> $real: it without symbolic links; empty when there is none. Ends in /.
    real=
    if cd -P "$1" 2>/dev/null; then real=$PWD; fi
    cd /
}

block_disk() { # number of a disk or partition -> $disk: number of the disk
    disk=$1
    if [ -e "/sys/dev/block/$1/partition" ]; then
        block_read "/sys/dev/block/$1/../dev"
        disk=$value
    fi
}

block_partitions() { # number of a disk -> "NUMBER NAME" of each of its partitions
    for part in "/sys/dev/block/$1"/*/partition; do
        [ -e "$part" ] || continue
        part=${part%/partition}
        block_read "$part/dev"
        echo "$value ${part##*/}"
    done
}

block_holders() { # number -> names of the devices that are built on it: device mapper, MD, bcache
    for holder in "/sys/dev/block/$1/holders"/*; do
        [ ! -e "$holder" ] && [ ! -L "$holder" ] || echo "${holder##*/}"
    done
}

block_swaps() { # -> numbers of the devices in use as swap
    sed 1d /proc/swaps 2>/dev/null | while read -r path rest; do block_number "$(printf '%b' "$path")"; done
}

block_busy() { # path -> whether a process holds it exclusively: wipefs -n writes nothing, but opens with O_EXCL
    wipefs -a -n "$1" 2>&1 >/dev/null | grep -q -i busy
}

block_stays_busy() { # path looks -> whether it is busy at every look: a process that only inspects it closes it soon
    looks=$2
    while block_busy "$1"; do
        looks=$((looks - 1))
        [ "$looks" -gt 0 ] || return 0
        sleep 0.3
    done
    return 1
}

block_mounts='{
    point = $5 # as proc(5) writes it
    gsub(/\\040/, " ", point); gsub(/\\011/, "\t", point); gsub(/\\012/, "\n", point)
    gsub(/\\134/, "\\", point)
}'

mounted_on() { # path -> numbers of the devices mounted on it
    at=$1 awk "$block_mounts"' point == ENVIRON["at"] { print $3 }' /proc/self/mountinfo
}

mounted_below() { # paths -> the first of them that something is mounted on or below. In a subshell only.
    exec awk '
        BEGIN {
            for (n = 1; n < ARGC; n++) path[n] = ARGV[n]
            ARGV[1] = "/proc/self/mountinfo"; ARGC = 2
        }'"$block_mounts"'{
            for (i = 1; i < n; i++) if (point == path[i] || index(point, path[i] "/") == 1) { print path[i]; exit }
        }' "$@"
}

block_inode() { # number of a loop device -> inode of its backing file
    block_device "$1"
    inode=$(losetup -n -O BACK-INO "/dev/$kernel_name" 2>/dev/null)
    [ -n "$inode" ] || inode=$(stat -c %i "$(block_value "/sys/dev/block/$1/loop/backing_file")" 2>/dev/null)
    echo $inode
}

block_backing() { # number -> "DEVICE INODE BEGIN END" of a loop device: its file, and the bytes of it that it maps
    [ -e "/sys/dev/block/$1/loop/backing_file" ] || return 0
    block_device "$1"
    # shellcheck disable=SC2046 # three words
    set -- "$1" $(losetup -n -O BACK-MAJ:MIN,BACK-INO,OFFSET "/dev/$kernel_name" 2>/dev/null)
    if [ $# != 4 ]; then # a losetup that is not of util-linux: use the file name, while it refers to that file
        set -- "$1" $(stat -c '%d %i' "$(block_value "/sys/dev/block/$1/loop/backing_file")" 2>/dev/null) \
            "$(block_value "/sys/dev/block/$1/loop/offset")"
        [ $# = 4 ] || return 0
    fi
    block_read "/sys/dev/block/$1/size"
    echo "$2 $3 $4 $(($4 + ${value:-0} * 512))"
}

block_backings() { # -> "PATH DEVICE INODE BEGIN END" of every loop device that has a file
    for at in /sys/block/loop*/loop/backing_file; do
        [ -e "$at" ] || continue
        at=${at%/loop/backing_file}
        echo "/dev/${at##*/} $(block_backing "$(block_value "$at/dev")")"
    done
}

block_sharers() { # number -> paths of other loop devices that map bytes of the same file, under any name
    own=$(block_backing "$1")
    [ -n "$own" ] || return 0
    block_device "$1"
    block_backings | awk -v own="$own" -v self="/dev/$kernel_name" '
        BEGIN { split(own, o, " ") }
        $1 != self && $2 == o[1] && $3 == o[2] && $4 + 0 < o[4] + 0 && o[3] + 0 < $5 + 0 { print $1 }'
}

block_identities() { # number [prefix] -> every identity of the device, one on each line, behind the prefix
    block_own_identities "$1" "${2:-}"
    if [ ! -e "/sys/dev/block/$1/loop/backing_file" ] && [ -r "/run/udev/data/b$1" ]; then
        to=/${2:-}/p
        sed -n "s/^E:ID_SERIAL=$to;s/^E:ID_SERIAL_SHORT=$to;s/^E:ID_WWN=$to;s/^E:ID_WWN_WITH_EXTENSION=$to;s/^E:ID_SCSI_SERIAL=$to" "/run/udev/data/b$1"
    fi
}

block_own_identities() { # number [prefix] -> the identities that the kernel read from the device itself
    s=/sys/dev/block/$1
    if [ -e "$s/loop/backing_file" ]; then
        block_read "$s/loop/backing_file"
        file=$value
        echo "${2:-}$file:$(block_inode "$1")"
        echo "${2:-}$file"
        return 0
    fi
    # A Xen disk has no serial: its nodename says by which slot it was attached.
    for f in serial device/serial wwid device/wwid device/vpd_pg80 dm/uuid md/uuid device/nodename; do
        case $f in
            device/vpd_pg80)
                value=
                [ ! -r "$s/$f" ] || value=$(tail -c +5 "$s/$f" 2>/dev/null | tr -d '\000' | tr -s ' ')
                value=${value# }
                value=${value% }
                ;;
            *) block_read "$s/$f" ;;
        esac
        [ -z "$value" ] || echo "${2:-}$value"
    done
}

block_name() { # number -> KEY=VALUE lines: its name, its identities and its backing
    block_real "/sys/dev/block/$1"
    name=${real##*/}
    case $name in *!*) name=$(echo "$name" | tr '!' '/') ;; esac
    echo "name=$name"
    echo "number=$1"
    if [ -e "/sys/dev/block/$1/loop/backing_file" ]; then
        block_line backing_file "/sys/dev/block/$1/loop/backing_file"
        echo "backing_inode=$(block_inode "$1")"
        echo "backing=$(block_backing "$1")"
    fi
    block_identities "$1" identity=
}

block_describe() { # number of a disk -> KEY=VALUE lines, values as the kernel has them
    block_name "$1"
    s=/sys/dev/block/$1
    block_line sectors "$s/size"
    block_line ro "$s/ro"
    block_line removable "$s/removable"
    for f in rotational scheduler nr_requests max_sectors_kb read_ahead_kb logical_block_size \
        physical_block_size write_cache discard_max_bytes; do
        block_line "queue_$f" "$s/queue/$f"
    done
    block_line model "$s/device/model"
    block_line vendor "$s/device/vendor"
    block_line firmware "$s/device/firmware_rev"
    block_real "$s/device/driver"
    echo "driver=${real##*/}"
    block_real "$s/device/device/driver"
    echo "parent_driver=${real##*/}"
    block_real "$s"
    echo "path=$real"
    if [ -r "/run/udev/data/b$1" ]; then
        sed -n 's/^E:ID_BUS=/udev_bus=/p;s/^E:ID_MODEL=/udev_model=/p;s/^E:ID_WWN=/udev_wwn=/p' "/run/udev/data/b$1"
    fi
    block_line serial "$s/serial"
    block_line device_serial "$s/device/serial"
    block_line wwid "$s/wwid"
    block_line device_wwid "$s/device/wwid"
}
