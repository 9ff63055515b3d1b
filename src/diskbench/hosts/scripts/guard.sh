# Reasons not to write to the allowed device, checked immediately before something is written: it may
# have changed since the probe (devices.sh) found it free. Given before this text: block.sh, and
# device, device_number, device_identity, device_size; also held, the path of a descriptor that holds the
# device open, where there is one: then that descriptor is checked. Each function prints a reason and
# fails; a fact that cannot be read is a reason.
held= hold_kind=

guard_identity() { # whether it is still that disk, by its name and by the descriptor
    for path in "$device" ${held:+"$held"}; do
        block_look "$path"
        if [ "$number" != "$device_number" ]; then echo "$device is now ${number:-gone}, not $device_number"; return 1; fi
    done
    block_read "/sys/dev/block/$number/size"
    if [ "$((${value:-0} * 512))" != "$device_size" ]; then echo "$device has another size"; return 1; fi
    if ! block_identities "$number" | grep -q -x -F -e "$device_identity"; then
        echo "$device no longer answers to $device_identity"
        return 1
    fi
}

guard_mounts() { # words: numbers and paths of one device -> their mount points
    # Also for process 1, and by name: btrfs and its like number their mounts themselves.
    cat /proc/self/mountinfo /proc/1/mountinfo 2>/dev/null | awk -v words="$1" '
        BEGIN { n = split(words, word, " "); for (i = 1; i <= n; i++) ours[word[i]] = 1 }
        { source = $0; sub(/^.* - [^ ]+ /, "", source); sub(/ .*/, "", source) }
        ($3 in ours) || (source in ours) { print $5 }' | sort -u
}

guard_seen() { # what identifies this disk, as KEY VALUE lines, by the descriptor where there is one
    block_look "${held:-$device}"
    echo "number $number"
    # A loop device that is attached again, or another disk of that number, has another one (Linux 5.15).
    block_read "/sys/dev/block/$number/diskseq"
    echo "sequence $value"
    block_read "/sys/dev/block/$number/size"
    echo "size $((${value:-0} * 512))"
    block_backing "$number" | awk '{ print "backing " $1 " inode " $2; print "offset " $3 }'
    block_own_identities "$number" "identity "
}

guard_same() { # earlier output of guard_seen -> whether it is the same now; prints the difference
    guard_now=$(guard_seen)
    [ "$guard_now" != "$1" ] || return 0
    differences=
    for key in number sequence size backing offset identity; do
        was=$(echo "$1" | sed -n "s/^$key //p" | paste -s -d ,) is=$(echo "$guard_now" | sed -n "s/^$key //p" | paste -s -d ,)
        [ "$was" = "$is" ] || differences="${differences:+$differences; }the $key of $device is now ${is:-none}, it was ${was:-none}"
    done
    echo "$differences"
    return 1
}

guard_use() { # whether no process uses it or a partition of it
    guard_taken || return 1
    if [ -n "$partitions" ] && [ "${device_holds_data:-0}" != 1 ]; then echo "$device has partitions:" $(echo "$partitions" | cut -d ' ' -f 2); return 1; fi
    # Not needed while we hold it exclusively.
    case $hold_kind in exclusively*) return 0 ;; esac
    if block_stays_busy "$device" 4; then echo "$device is in exclusive use"; return 1; fi
}

guard_taken() { # whether it or a partition of it is mounted, swap, or part of another device
    partitions=$(block_partitions "$device_number")
    block_device "$device_number"
    if [ -z "$kernel_name" ]; then echo "$device has no name that can be read"; return 1; fi
    words=$(printf '%s %s\n%s\n' "$device_number" "$kernel_name" "$partitions" | sed '/./!d;s, , /dev/,' | tr '\n' ' ')
    mount_points=$(guard_mounts "$words")
    if [ -n "$mount_points" ]; then echo "$device is mounted on" $mount_points; return 1; fi
    swaps=$(block_swaps)
    for word in $words; do
        case $word in
            /dev/*)
                upper=$(grep -l -x -F -e "$word" /sys/block/loop*/loop/backing_file 2>/dev/null | cut -d / -f 4)
                if [ -n "$upper" ]; then echo "$word is the backing device of" $upper; return 1; fi
                ;;
            *)
                if echo "$swaps" | grep -q -x -F -e "$word"; then echo "$device is swap"; return 1; fi
                held_by=$(block_holders "$word")
                if [ -n "$held_by" ]; then echo "$device is held by" $held_by; return 1; fi
                ;;
        esac
    done
    sharers=$(block_sharers "$device_number")
    if [ -n "$sharers" ]; then echo "$device shares its backing file with" $sharers; return 1; fi
}

guard_content() { # [UUID] whether it is empty, or with a UUID: holds only that filesystem
    signature=$(blkid -p -o export "${held:-$device}" 2>&1)
    case $? in
        0)
            what=$(echo "$signature" | sed -n 's/^PTTYPE=\(.*\)/a partition table (\1)/p')
            if [ -z "$1" ] || [ -n "$what" ] || ! echo "$signature" | grep -q -x -F -e "UUID=$1"; then
                [ -n "$what" ] || what=$(echo "$signature" | sed -n 's/^TYPE=//p')
                echo "$device holds ${what:-a signature}, which diskbench did not make"
                return 1
            fi
            ;;
        2) if [ -n "$signature" ]; then echo "$device cannot be examined: $signature"; return 1; fi ;;
        8) echo "$device holds signatures that contradict each other, which diskbench did not make"; return 1 ;;
        *) echo "$device cannot be examined: $signature"; return 1 ;;
    esac
    # blkid says 2 also of what it cannot open, and stops at the first of several signatures.
    if ! listed=$(wipefs -n -p "${held:-$device}" 2>&1); then echo "$device cannot be examined: $listed"; return 1; fi
    # OFFSET,UUID,LABEL,TYPE
    types=$(echo "$listed" | sed '/^#/d;/./!d' | awk -F , -v ours="$1" 'ours == "" || $2 != ours { print $NF }')
    if [ -n "$types" ]; then echo "$device holds" $types", which diskbench did not make"; return 1; fi
}
