# Keep the target of a step open, from before its first check until fio has ended: while it is open,
# the kernel gives its number, and a loop device, to no other disk. Given before this text: block.sh,
# guard.sh, device, device_mounted, work_dir. A process of its own holds: it ends when this shell and fio,
# which share descriptor 4, have ended in any way.
holder= hold_why= seen=

# What holds a raw disk: with O_EXCL, so that the kernel refuses mount, mkfs, swapon, mdadm and losetup. No
# shell, dd or flock opens a device so: it takes Python or Perl. Each says "held PID DESCRIPTOR" or "busy".
hold_python='import os, sys
try:
    held = os.open(sys.argv[1], os.O_RDONLY | os.O_EXCL)
except OSError as error:
    print("busy" if error.errno == 16 else "failed " + error.strerror, flush=True)
else:
    print("held", os.getpid(), held, flush=True)
    sys.stdin.read()'
hold_perl='$| = 1;
if (sysopen(my $held, $ARGV[0], O_RDONLY | O_EXCL)) {
    print "held $$ ", fileno($held), "\n";
    1 while <STDIN>;
} else {
    print $!{EBUSY} ? "busy\n" : "failed $!\n";
}'
# What holds without: a mounted filesystem, and the disk of a host that has neither. More than one path.
hold_shell='exec 5<"$1" || exit
[ -z "${2:-}" ] || exec 6<"$2" || exit
echo "held $$ 5"
read -r end'

hold_start() { # command: run it as the holder -> said, said_pid, said_fd
    rm -f ready.hold-in ready.hold-out
    mkfifo ready.hold-in ready.hold-out || return 1
    exec 4<>ready.hold-in 3<>ready.hold-out
    { "$@" || :; echo none; } <ready.hold-in >ready.hold-out 2>/dev/null 4>&- 3>&- 9>&- &
    hold_process=$!
    read -r said said_pid said_fd <&3
    exec 3>&-
    rm -f ready.hold-in ready.hold-out
    [ "$said" = held ] && return 0
    exec 4>&-
    return 1
}

hold_exclusively() { # -> whether the raw disk is held exclusively; sets hold_why where another process holds it
    for program in python3 /usr/libexec/platform-python perl; do
        command -v "$program" >/dev/null 2>&1 || continue
        case $program in
            perl) set -- -MFcntl -MErrno -e "$hold_perl" ;;
            *) set -- -I -S -c "$hold_python" ;;
        esac
        looks=4 # udev and others that only inspect it close it soon
        until hold_start "$program" "$@" "$device"; do
            [ "$said" = busy ] || continue 2
            looks=$((looks - 1))
            if [ "$looks" = 0 ]; then hold_why="$device is in exclusive use"; return 1; fi
            sleep 0.3
        done
        hold_kind="exclusively (O_EXCL), by ${program##*/}"
        return 0
    done
    return 1
}

hold_target() { # -> held: the descriptor of the device that was allowed; or hold_why
    [ -n "$device" ] || return 0
    # What takes its name is no block device, or is gone: guard_identity says so.
    [ -b "$device" ] || return 0
    if [ "$device_mounted" = 1 ]; then
        hold_start sh -c "$hold_shell" sh "$device" "$work_dir" && hold_kind="with its filesystem"
    elif ! hold_exclusively; then
        [ -z "$hold_why" ] || return 1
        hold_start sh -c "$hold_shell" sh "$device" &&
            hold_kind="without O_EXCL, for want of Python and Perl"
    fi
    if [ -z "$hold_kind" ]; then hold_why="$device cannot be opened"; return 1; fi
    holder=$said_pid held=/proc/$said_pid/fd/$said_fd
}

hold_checked() { # before anything else: hold the target, and check that it may be written to
    if hold_target; then
        reason=$(check_device && check_directory) || return 1
        [ -n "$held" ] || return 0
        seen=$(guard_seen)
        { echo "held open $hold_kind"; echo "$seen"; } >device.txt # evidence
    else # who is mounted says more than who is busy
        reason=$(check_device && check_directory) && reason=$hold_why
        return 1
    fi
}

hold_same() { # whether it is still held, and the same; prints the difference
    [ -n "$device" ] || return 0
    if [ "$(block_number "$held")" != "$device_number" ]; then echo "$device is no longer held open"; return 1; fi
    guard_same "$seen"
}

hold_checked_again() { # right before fio
    reason=$(hold_same && check_device && check_directory)
}

hold_checked_after() { # right after fio, which may have written anything: whether it is the same device, with its identity
    reason=$(hold_same && hold_named && { [ -z "$device" ] || [ "$device_mounted" = 1 ] || guard_taken; } && check_directory)
}

hold_named() { # does it still have its name and its identity; udev may be about to write it down anew
    [ -n "$device" ] || return 0
    looks=4
    until why=$(guard_identity); do
        looks=$((looks - 1))
        if [ "$looks" = 0 ]; then echo "$why"; return 1; fi
        sleep 0.3
    done
}

hold_jobfile() { # the job file for fio: with the descriptor for a name that may lead elsewhere by now
    [ -n "$held" ] && [ "$device_mounted" != 1 ] || { echo job.fio; return; }
    # Its name as fio has it, which takes colons for the ends of names.
    name=$(printf '%s' "$device" | sed 's/:/\\:/g') path=$held awk '
        $0 == "filename=" ENVIRON["name"] { print "filename=" ENVIRON["path"]; next }
        { print }' job.fio >held.fio
    echo held.fio
}

hold_end() { # release the target, and wait for it
    [ -n "$holder" ] || return 0
    kill "$holder" 2>/dev/null
    exec 4>&-
    wait "$hold_process" 2>/dev/null
    holder= held= hold_kind=
    rm -f held.fio
}
