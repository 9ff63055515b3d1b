# Keep the target of a step open, from before its first check until fio has ended: while it is open,
# the kernel gives its number, and a loop device, to no other disk. Given before this text: block.sh,
# guard.sh, disk_count, device_mounted, work_dir, and for each disk N from 1: device_N, number_N,
# identity_N, size_N. A process of its own holds: it ends when this shell and fio, which share
# descriptor 4, have ended in any way.
holder= hold_why= seen=

# --- Each disk of the target in its turn: every check of one is made of all, and the first that fails ends it
hold_pick() { # number of a disk: the variables that guard.sh reads are those of this disk
    eval "device=\$device_$1 device_number=\$number_$1 device_identity=\$identity_$1 device_size=\$size_$1"
    eval "held=\${held_$1:-} seen=\${seen_$1:-}"
}

hold_each() { # command: run it for every disk; the first disk is picked again afterwards
    hold_at=0 hold_status=0
    while [ "$hold_at" -lt "$disk_count" ]; do
        hold_at=$((hold_at + 1))
        hold_pick "$hold_at"
        if ! "$@"; then hold_status=1; break; fi
    done
    [ "$disk_count" = 0 ] || hold_pick 1
    return "$hold_status"
}

hold_path() { echo "$device"; }
hold_is_block() { [ -b "$device" ]; }
hold_forget() { eval "held_$hold_at= seen_$hold_at="; }

# What holds a raw disk: with O_EXCL, so that the kernel refuses mount, mkfs, swapon, mdadm and losetup. No
# shell, dd or flock opens a device so: it takes Python or Perl. Each opens all paths that it is given, and
# says "held PID DESCRIPTOR...", or of the first that it cannot open "busy PATH" or "failed WHY".
hold_python='import os, sys
held = []
for path in sys.argv[1:]:
    try:
        held.append(os.open(path, os.O_RDONLY | os.O_EXCL))
    except OSError as error:
        print("busy " + path if error.errno == 16 else "failed " + error.strerror, flush=True)
        sys.exit()
print("held", os.getpid(), *held, flush=True)
sys.stdin.read()'
hold_perl='$| = 1;
my @held;
for my $path (@ARGV) {
    if (sysopen(my $one, $path, O_RDONLY | O_EXCL)) { push @held, $one; next; }
    print $!{EBUSY} ? "busy $path\n" : "failed $!\n";
    exit;
}
print "held $$ ", join(" ", map { fileno($_) } @held), "\n";
1 while <STDIN>;'
# What holds without: a mounted filesystem, and the disk of a host that has neither. More than one path.
hold_shell='exec 5<"$1" || exit
[ -z "${2:-}" ] || exec 6<"$2" || exit
echo "held $$ 5"
read -r end'

hold_start() { # command: run it as the holder -> said, said_pid, said_fds
    rm -f ready.hold-in ready.hold-out
    mkfifo ready.hold-in ready.hold-out || return 1
    exec 4<>ready.hold-in 3<>ready.hold-out
    { "$@" || :; echo none; } <ready.hold-in >ready.hold-out 2>/dev/null 4>&- 3>&- 9>&- &
    hold_process=$!
    read -r said said_pid said_fds <&3
    exec 3>&-
    rm -f ready.hold-in ready.hold-out
    [ "$said" = held ] && return 0
    exec 4>&-
    return 1
}

hold_exclusively() { # -> whether the raw disks are held exclusively; sets hold_why where another process holds one
    for program in python3 /usr/libexec/platform-python perl; do
        command -v "$program" >/dev/null 2>&1 || continue
        case $program in
            perl) set -- -MFcntl -MErrno -e "$hold_perl" ;;
            *) set -- -I -S -c "$hold_python" ;;
        esac
        looks=4 # udev and others that only inspect it close it soon
        # shellcheck disable=SC2046 # the kernel's names of disks hold no blanks
        until hold_start "$program" "$@" $(hold_each hold_path); do
            [ "$said" = busy ] || continue 2
            looks=$((looks - 1))
            if [ "$looks" = 0 ]; then hold_why="$said_pid is in exclusive use"; return 1; fi
            sleep 0.3
        done
        hold_kind="exclusively (O_EXCL), by ${program##*/}"
        return 0
    done
    return 1
}

hold_target() { # -> held_N: the descriptor of each disk that was allowed; or hold_why
    [ -n "$device" ] || return 0
    # What takes its name is no block device, or is gone: guard_identity says so.
    hold_each hold_is_block || return 0
    if [ "$device_mounted" = 1 ]; then
        hold_start sh -c "$hold_shell" sh "$device" "$work_dir" && hold_kind="with its filesystem"
    elif ! hold_exclusively; then
        [ -z "$hold_why" ] || return 1
        if [ "$disk_count" -gt 1 ]; then
            hold_why="$disk_count disks are held open together by Python or Perl, and neither is there"
            return 1
        fi
        hold_start sh -c "$hold_shell" sh "$device" &&
            hold_kind="without O_EXCL, for want of Python and Perl"
    fi
    if [ -z "$hold_kind" ]; then hold_why="$device cannot be opened"; return 1; fi
    holder=$said_pid
    hold_each hold_keep
}

hold_keep() { # the descriptor of this disk, the first of those that are left
    held=/proc/$holder/fd/${said_fds%% *} said_fds=${said_fds#* }
    eval "held_$hold_at=\$held"
}

hold_checked() { # before anything else: hold the target, and check that it may be written to
    if hold_target; then
        hold_checks check_device || return 1
        [ -n "$held" ] || return 0
        { echo "held open $hold_kind"; hold_each hold_see; } >device.txt # evidence
    else # who is mounted says more than who is busy
        hold_checks check_device && reason=$hold_why
        return 1
    fi
}

hold_checks() { # command that checks the disks, and prints what is wrong -> whether they and the directory are right;
    # $reason. A directory without a disk of its own is checked without a process for the disks.
    reason=
    if [ "$disk_count" != 0 ]; then reason=$("$@") || return 1; fi
    check_directory
}

hold_see() { # what identifies this disk now
    seen=$(guard_seen)
    eval "seen_$hold_at=\$seen"
    [ "$disk_count" = 1 ] || echo "device $device"
    echo "$seen"
}

hold_same() { hold_each hold_one_same; } # whether each is still held, and the same; prints the difference

hold_one_same() {
    block_look "$held"
    if [ "$number" != "$device_number" ]; then echo "$device is no longer held open"; return 1; fi
    guard_same "$seen"
}

hold_checked_again() { # right before fio
    hold_checks hold_checks_again
}

hold_checks_again() { hold_same && check_device; }

hold_checked_after() { # right after fio, which may have written anything: whether it is the same device, with its identity
    hold_checks hold_checks_after
}

hold_checks_after() { hold_same && hold_each hold_named && { [ "$device_mounted" = 1 ] || hold_each guard_taken; }; }

hold_named() { # does it still have its name and its identity; udev may be about to write it down anew
    looks=4
    until why=$(guard_identity); do
        looks=$((looks - 1))
        if [ "$looks" = 0 ]; then echo "$why"; return 1; fi
        sleep 0.3
    done
}

hold_jobfile() { # -> $jobfile, for fio: with the descriptor for each name, which may lead elsewhere by now
    jobfile=job.fio
    [ -n "$held" ] && [ "$device_mounted" != 1 ] || return 0
    jobfile=held.fio
    places=$(hold_each hold_place) awk '
        BEGIN {
            n = split(ENVIRON["places"], line, "\n")
            for (i = 1; i <= n; i++) { split(line[i], part, "\t"); to[part[1]] = part[2] }
        }
        /^filename=/ {
            value = substr($0, 10)
            # Of several disks no name holds a colon, so that fio and this split lists alike.
            m = (value in to) ? 0 : split(value, name, ":")
            new = m ? "" : to[value]
            for (i = 1; i <= m; i++) new = new (i > 1 ? ":" : "") ((name[i] in to) ? to[name[i]] : name[i])
            print "filename=" new
            next
        }
        { print }' job.fio >held.fio
}

hold_place() { # its name as fio has it, which takes colons for the ends of names, and its descriptor
    printf '%s\t%s\n' "$(printf '%s' "$device" | sed 's/:/\\:/g')" "$held"
}

hold_end() { # release the target, and wait for it
    [ -n "$holder" ] || return 0
    kill "$holder" 2>/dev/null
    exec 4>&-
    wait "$hold_process" 2>/dev/null
    hold_each hold_forget
    holder= held= seen= hold_kind=
    rm -f held.fio
}
