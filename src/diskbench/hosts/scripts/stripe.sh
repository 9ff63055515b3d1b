# One RAID 0 of a trial's disks: find it, make it, or take it apart. Given before this text: block.sh,
# guard.sh, action (find, create, remove), uuid (by which the array is known as this trial's), name,
# chunk_kib, and members: a line each of path, number (nothing: as it is now), identity and size,
# between tabs. Prints "= /dev/mdN" or "none"; "! WHY" ends it. Nothing without our UUID is touched.
set -u
export LC_ALL=C
fail() { echo "! $*"; exit 0; }
if ! command -v mdadm >/dev/null 2>&1; then
    if [ "$action" = remove ]; then echo none && exit 0; fi # then nothing was made
    fail "mdadm is not installed"
fi
tab=$(printf '\t')
holders=
trap '[ -z "$holders" ] || kill $holders 2>/dev/null' EXIT

each() { # command: run it for every member, with the variables that guard.sh reads
    while IFS=$tab read -r device device_number device_identity device_size; do
        [ -n "$device" ] || continue
        "$1" || return 1
    done <<END
$members
END
}

array() { # -> kernel name of the array, when it runs
    for at in /sys/block/md*/md/uuid; do
        if [ -r "$at" ] && [ "$(block_value "$at")" = "$uuid" ]; then
            at=${at%/md/uuid}
            echo "${at##*/}"
            return 0
        fi
    done
    return 1
}

# Without the number of a proof the device is only as good as its identity and size.
known() {
    [ "$device_number" != - ] || device_number=$(block_number "$device")
    held=
    why=$(guard_identity) || return 1
}
hold() { # a member that will be written to: from here on it is checked and written to by a descriptor
    exec 5<"$device"
    sleep 150 >/dev/null 2>&1 & # a process each: a shell has few descriptors. Longer than mdadm may take
    held=/proc/$!/fd/5 holders="$holders $!"
    exec 5>&-
    why=$(guard_identity)
}
ours() { blkid -p -o export "${held:-$device}" 2>/dev/null | grep -q -x -F -e "UUID=$uuid"; }

check_known() { known || fail "$why"; }
check_free() {
    check_known
    hold && why=$(guard_use && guard_content "") || fail "$why"
    descriptors="$descriptors $held"
}
check_held() {
    check_known
    block_holders "$device_number" | grep -q -x -F -e "$md" || fail "$device is no part of /dev/$md"
}
count() {
    total=$((total + 1)) paths="$paths $device"
    if ! known; then gone=$why; elif ours; then marked=$((marked + 1)); fi
}
collect() { # a member with our superblock, and the device on it: the array, or a part that udev assembled
    known && hold && ours || return 0
    why=$(guard_content "$uuid") || fail "$why"
    marks="$marks $held"
    for md in $(block_holders "$device_number"); do
        case $md in
            md*) case " $arrays " in *" $md "*) ;; *) arrays="$arrays $md" ;; esac ;;
            *) fail "$device is held by $md" ;;
        esac
    done
}
take_apart() { # a member that is gone, or belongs to something else by now, is not touched
    for attempt in 1 2 3; do
        marks= arrays=
        each collect
        [ -n "$marks" ] || return 0
        # udev would assemble a released member again at once, but it leaves locked devices alone
        # (systemd.io/BLOCK_DEVICE_LOCKING).
        set -- sh -c 'for md in $1; do mdadm --stop "/dev/$md" || exit; done; mdadm --zero-superblock $2' \
            sh "$arrays" "$marks"
        for device in $marks; do set -- flock "$device" "$@"; done
        why=$("$@" 2>&1) || :
        settle
    done
    fail "$why"
}
settle() { udevadm settle --timeout=30 >/dev/null 2>&1 || :; }
is_running() { # the running array, if it is the requested one
    md=$(array) || return 1
    [ "$(block_value "/sys/block/$md/md/level")" = raid0 ] || fail "/dev/$md is no RAID 0"
    each check_held
    [ "$(ls "/sys/block/$md/slaves" | wc -l)" = "$total" ] || fail "/dev/$md has other members, too"
    echo "= /dev/$md"
}

total=0 marked=0 paths= gone=
each count

case $action in
    find)
        is_running && exit 0
        if [ "$marked" = "$total" ]; then
            # Made, but not running, as after a restart; or udev is about to start it.
            settle
            is_running && exit 0
            why=$(mdadm --assemble "/dev/md/$name" --uuid="$uuid" $paths 2>&1 </dev/null) || :
            settle
            is_running || fail "$why"
        elif [ "$marked" != 0 ] && [ -n "$gone" ]; then
            fail "$gone"
        else # its creation was interrupted
            take_apart
            echo none
        fi
        ;;
    create)
        descriptors=
        each check_free
        why=$(mdadm --create "/dev/md/$name" --quiet --level=0 --raid-devices="$total" \
            --chunk="$chunk_kib" --metadata=1.2 --homehost=any --name="$name" --uuid="$uuid" \
            $descriptors 2>&1 </dev/null) || fail "$why"
        settle
        is_running || fail "the array did not start"
        ;;
    remove)
        take_apart
        echo none
        ;;
esac
