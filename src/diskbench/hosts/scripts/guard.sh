# What stands against writing to the device that was allowed, asked right before something is written:
# it may have changed since the probe (devices.sh) found it free. Given before this text: block.sh, and
# device, device_number, device_identity, device_size. Each function prints a reason and fails; what
# cannot be known is a reason.

guard_identity() { # is it still that disk
    number=$(block_number "$device")
    if [ "$number" != "$device_number" ]; then echo "$device is now ${number:-gone}, not $device_number"; return 1; fi
    sectors=$(block_value "/sys/dev/block/$number/size")
    if [ "$((${sectors:-0} * 512))" != "$device_size" ]; then echo "$device has another size"; return 1; fi
    if ! block_identities "$number" | grep -q -x -F -e "$device_identity"; then
        echo "$device no longer answers to $device_identity"
        return 1
    fi
}

guard_mounts() { # words: numbers and paths of one device -> where any of them is mounted
    # Also for process 1, and by name: btrfs and its like number their mounts themselves.
    cat /proc/self/mountinfo /proc/1/mountinfo 2>/dev/null | awk -v words="$1" '
        BEGIN { n = split(words, word, " "); for (i = 1; i <= n; i++) ours[word[i]] = 1 }
        { source = $0; sub(/^.* - [^ ]+ /, "", source); sub(/ .*/, "", source) }
        ($3 in ours) || (source in ours) { print $5 }' | sort -u
}

guard_use() { # is nobody using it, or a partition of it
    partitions=$(block_partitions "$device_number")
    family=$(echo "$device_number $(basename "$(readlink -f "/sys/dev/block/$device_number")" | tr '!' '/')" &&
        echo "$partitions")
    words=$(echo "$family" | sed '/./!d;s, , /dev/,' | tr '\n' ' ')
    found=$(guard_mounts "$words")
    if [ -n "$found" ]; then echo "$device is mounted on" $found; return 1; fi
    swaps=$(block_swaps)
    for word in $words; do
        case $word in
            /dev/*)
                upper=$(grep -l -x -F -e "$word" /sys/block/loop*/loop/backing_file 2>/dev/null | cut -d / -f 4)
                if [ -n "$upper" ]; then echo "$word is the backing device of" $upper; return 1; fi
                ;;
            *)
                if echo "$swaps" | grep -q -x -F -e "$word"; then echo "$device is swap"; return 1; fi
                found=$(block_holders "$word")
                if [ -n "$found" ]; then echo "$device is held by" $found; return 1; fi
                ;;
        esac
    done
    if [ -n "$partitions" ]; then echo "$device has partitions:" $(echo "$partitions" | cut -d ' ' -f 2); return 1; fi
    if block_stays_busy "$device" 4; then echo "$device is in exclusive use"; return 1; fi
}

guard_content() { # [UUID] does it hold nothing, or with a UUID: nothing but that filesystem
    found=$(blkid -p -o export "$device" 2>&1)
    case $? in
        0)
            what=$(echo "$found" | sed -n 's/^PTTYPE=\(.*\)/a partition table (\1)/p')
            if [ -z "$1" ] || [ -n "$what" ] || ! echo "$found" | grep -q -x -F -e "UUID=$1"; then
                [ -n "$what" ] || what=$(echo "$found" | sed -n 's/^TYPE=//p')
                echo "$device holds ${what:-a signature}, which diskbench did not make"
                return 1
            fi
            ;;
        2) if [ -n "$found" ]; then echo "$device cannot be examined: $found"; return 1; fi ;;
        8) echo "$device holds signatures that contradict each other, which diskbench did not make"; return 1 ;;
        *) echo "$device cannot be examined: $found"; return 1 ;;
    esac
    # blkid says 2 also of what it cannot open, and stops at the first of several signatures.
    if ! found=$(wipefs -n -p "$device" 2>&1); then echo "$device cannot be examined: $found"; return 1; fi
    # OFFSET,UUID,LABEL,TYPE
    found=$(echo "$found" | sed '/^#/d;/./!d' | awk -F , -v ours="$1" 'ours == "" || $2 != ours { print $NF }')
    if [ -n "$found" ]; then echo "$device holds" $found", which diskbench did not make"; return 1; fi
}
