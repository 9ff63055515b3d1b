# Every block device of a machine and every reason not to write to it. Given before this text:
# block.sh, only (a path: read all facts of this one; empty: of all disks). Nothing is written:
# wipefs -n only reads, but opens with O_EXCL. Parsed by device_state.py.
export LC_ALL=C
section() { echo "== $1"; }

section mountinfo
cat /proc/self/mountinfo /proc/1/mountinfo 2>/dev/null | sort -u

section swaps # kernel numbers
block_swaps

below() { # number -> itself and all devices below it
    echo "$1"
    if [ -e "/sys/dev/block/$1/partition" ]; then below "$(block_disk "$1" && echo "$disk")"; fi
    for slave in "/sys/dev/block/$1/slaves"/*; do
        [ -e "$slave/dev" ] && below "$(cat "$slave/dev")"
    done
}
section system # numbers of the devices below / and /boot, in our namespace and in that of process 1
{
    awk '$5 == "/" || $5 == "/boot" || $5 == "/boot/efi" || $5 == "/usr" { print $3 }' \
        /proc/self/mountinfo /proc/1/mountinfo 2>/dev/null
    for at in / /boot /usr; do
        source=$(findmnt -n -o SOURCE --target "$at" 2>/dev/null)
        block_number "${source%%\[*}"
    done
} | sort -u | while read -r number; do
    [ -e "/sys/dev/block/$number" ] && below "$number"
done | sort -u

only_number=
if [ -n "$only" ]; then
    section asked
    if [ ! -e "$only" ]; then echo missing
    elif [ ! -b "$only" ]; then echo other
    else
        only_number=$(block_number "$only")
        echo "$only_number"
    fi
fi

openers() { # pattern of device names -> "PID COMMAND" of processes that hold one open
    ls -l /proc/[0-9]*/fd 2>/dev/null | awk -v p="^/dev/($1)$" '
        /^\/proc\// { split($0, part, "/"); pid = part[3] }
        { at = index($0, " -> "); if (at && substr($0, at + 4) ~ p) print pid }' | sort -u |
        while read -r pid; do echo "$pid $(cat "/proc/$pid/comm" 2>/dev/null)"; done
}

copies() { # device -> "copy=OFFSET HEX": what lies where filesystems keep copies that blkid and wipefs do not read
    for sector in 10 131072 536870912; do # f2fs; btrfs at 64 MiB and 256 GiB
        hex=$(dd if="$1" bs=512 skip="$sector" count=1 2>/dev/null | od -A n -v -t x1 -N 128 | tr -d ' \n')
        [ -z "$hex" ] || echo "copy=$((sector * 512)) $hex"
    done
}

look_closely() { # number
    name=$(basename "$(readlink -f "/sys/dev/block/$1")" | tr '!' '/')
    dev=/dev/$name
    if why=$(dd if="$dev" of=/dev/null bs=4096 count=1 2>&1); then echo "readable=yes"
    else echo "readable=$(echo "$why" | head -n 1)"; fi
    if command -v wipefs >/dev/null 2>&1 && command -v blkid >/dev/null 2>&1; then echo "tools=yes"; fi
    blkid -p -o export "$dev" 2>/dev/null | sed -n 's/^TYPE=/signature=/p;s/^PTTYPE=/table=/p'
    blkid -p "$dev" >/dev/null 2>&1
    [ $? = 8 ] && echo "signature=several that contradict each other"
    wipefs -n -p "$dev" 2>/dev/null | sed '/^#/d;s/.*,//;s/^/wipefs=/'
    copies "$dev"
    # udev, or another diskbench, may inspect it at this moment; a list does not wait long for each disk.
    patience=4
    [ -n "$only" ] || patience=2
    if block_stays_busy "$dev" "$patience"; then echo "busy=yes"; fi
    names=$name$(block_partitions "$1" | sed 's/.* /|/' | tr -d '\n')
    while holding=$(openers "$names"); [ -n "$holding" ]; do
        patience=$((patience - 1))
        [ "$patience" -gt 0 ] || break
        udevadm settle --timeout=5 >/dev/null 2>&1
        sleep 0.3
    done
    [ -z "$holding" ] || echo "$holding" | sed 's/^/opener=/'
    # Processes outside of this PID namespace are not seen, but what they read and write is counted. 4026531836 is
    # the kernel's first (PROC_PID_INIT_INO).
    if [ "$(readlink /proc/self/ns/pid)" != 'pid:[4026531836]' ]; then
        block_read "/sys/dev/block/$1/stat"
        before=$value
        sleep 0.5
        block_read "/sys/dev/block/$1/stat"
        if [ "$before" = "$value" ]; then echo "unseen=yes"; else echo "unseen=active"; fi
    fi
}

for entry in /sys/class/block/*; do
    [ -r "$entry/dev" ] || continue
    sectors=$(block_value "$entry/size")
    number=$(cat "$entry/dev")
    case ${entry##*/} in
        ram* | zram*) continue ;;
        loop*) [ "${sectors:-0}" != 0 ] || [ "$number" = "$only_number" ] || continue ;;
    esac
    section device
    if [ -z "$only" ] || [ "$number" = "$only_number" ]; then
        block_describe "$number"
    else
        block_name "$number"
    fi
    if [ -e "$entry/partition" ]; then
        block_disk "$number"
        echo "partition_of=$disk"
    fi
    block_partitions "$number" | sed 's/^/partition=/'
    block_holders "$number" | sed 's/^/holder=/'
    if [ -z "$only" ] && [ ! -e "$entry/partition" ] || [ "$number" = "$only_number" ]; then
        look_closely "$number"
    fi
done
section end
