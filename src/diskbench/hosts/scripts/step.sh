#!/bin/sh
# One step on the measured host: its turn on the disk, drop caches, canary, fio, canary, checksums. Run
# detached, with the step's directory and a FIFO on which the starter waits as arguments. The process that links its
# file `pid.NUMBER` to `pid` first is the unit; a second start ends at once. The file `exit` is written last: "EXIT
# STOPPED STARTED ENDED KEY=VALUE... REASON", the times as Unix time.
# While it lives it holds the FIFO `alive` open; its children do not, so that its death is seen.
set -u
umask 077
cd "$1" || exit 1
ready=$2
export LC_ALL=C
. ./block.sh
. ./counters.sh
. ./guard.sh
. ./hold.sh
. ./kept.sh
. ./place.sh
. ./room.sh
. ./stages.sh
. ./lock.sh
. ./unit.env

# Opened both ways: a starter that has gone away is not waited for.
tell_ready() { [ ! -p "$ready" ] || { echo >&8; } 8<>"$ready"; }

exec 9<>alive
read -r stat <"/proc/$$/stat"
set -- ${stat##*) }
shift 19 # to field 22 of proc(5): start time, which differs from that of a later process with its number
read -r boot </proc/sys/kernel/random/boot_id
# One of an earlier process with this number may be linked to `pid`, which must not be written to.
[ ! -e "pid.$$" ] || rm -f "pid.$$"
echo "$$ $1 $boot" >"pid.$$" || exit 1
if ! ln "pid.$$" pid 2>/dev/null; then
    tell_ready
    exit 0
fi
tell_ready
enter check 600
begin_beat
started=0 ended=0 lasted=0 moved=0 oom_before= oom_now=
oom_kills
oom_before=$oom_kills
echo "$oom_before" >.oom

# -> $now, Unix time with a fraction; where date has none, by the uptime since a first look at the clock.
now() { now=$(date +%s.%N); }
now
case $now in
    *[!0-9.]* | *.)
        read -r up0 rest </proc/uptime
        unix0=$(date +%s)
        now() { now=$(awk -v u="$unix0" -v z="$up0" '{ printf "%.2f\n", u + $1 - z }' /proc/uptime); }
        now
        ;;
esac
disk_uptime
clock_zero=$((${now%.*} - up)) # Unix time of the machine's start, for claims

finish() { # fio's exit, reason
    trap '' USR1
    true 2>/dev/null >reserve # what follows needs its room
    { disk_report; [ ! -s .beside ] || sort -u .beside; } >lock.txt
    disk_leave
    hold_end
    if [ -z "$oom_now" ]; then
        oom_kills
        oom_now=$oom_kills
    fi
    end_facts >end.txt 9>&-
    stopped=0
    [ -e stop ] && ! [ -e .signal ] && stopped=1
    status=$1 why=${2:-}
    [ -z "$broken" ] || why="broken: $broken"
    kept_files
    set -f
    IFS='
'
    # shellcheck disable=SC2086 # a name on each line
    set -- $kept
    unset IFS
    set +f
    for name in "$@"; do
        shift
        [ "$name" = live.tsv ] || set -- "$@" "$name"
    done
    sha256sum -- "$@" >SHA256SUMS 9>&-
    # Signs of life are written to live.tsv until the other files are summed up. KILL: a child that
    # was only just forked still has this shell's trap, and forgets any other signal.
    kill -KILL "$beats" 2>/dev/null
    wait "$beats" 2>/dev/null
    sha256sum live.tsv >>SHA256SUMS 9>&- || rm -f SHA256SUMS # whoever fetches the files sums them up
    keys="seconds=$lasted moved=$moved${limit:+ limit=$limit}"
    [ ! -e .signal ] || keys="$keys signal=$(cat .signal)"
    echo "$status $stopped $started $ended $keys $why" >exit.new && mv -f exit.new exit
    leave
}

leave() { # with what only waits for the next second, so that nothing of the unit is left
    trap '' TERM
    kill -s TERM -- "-$$" 2>/dev/null # it leads its process group (setsid, systemd); fio has one of its own
    exit 0
}

forget() { # nobody came to let fio start: nothing was written, and the next one who comes starts the unit anew
    kill -KILL "$beats" 2>/dev/null
    wait "$beats" 2>/dev/null
    : >live.tsv
    rm -f pid
    leave
}

refuse() { # why; but what a stop cut short has found nothing
    if asked; then finish 126; fi
    finish 125 "refused: $1"
}

# --- Once more, just before anything is written: is each still the disk that was allowed? They are held open
# from here on, and asked again right before fio and right after it.
check_device() { hold_each check_disk; }

check_disk() {
    guard_identity || return 1
    [ "$device_mounted" = 1 ] || { guard_use && { [ "$device_holds_data" = 1 ] || guard_content ""; }; }
}

check_directory() { # -> whether the directory of test files is the right one; else $reason
    [ -n "$work_dir" ] || return 0
    if ! [ -d "$work_dir" ]; then reason="$work_dir is gone"; return 1; fi
    if [ "$device_mounted" != 1 ]; then
        place_is "$work_dir" "$state_dir/work.id" && return 0
        reason="$work_dir is not the directory that diskbench made"
        return 1
    fi
    if [ "$(stat -c %D "$work_dir")" != "$(stat -c %D "$mount_point")" ]; then
        reason="$work_dir is not on $mount_point"
        return 1
    fi
    if ! mounted_on "$mount_point" | grep -q -x -F -e "$device_number"; then
        reason="$device is not mounted on $mount_point"
        return 1
    fi
}

# --- The page cache
files() { find "$work_dir" -xdev -type f 2>/dev/null; }

cached_bytes() { # bytes of the test files in the cache; nothing where that cannot be counted
    command -v fincore >/dev/null 2>&1 || return 0
    test_files=$(files)
    if [ -z "$test_files" ]; then echo 0; return 0; fi # before the first step
    printf '%s\n' "$test_files" | tr '\n' '\0' | xargs -0 -r fincore -b -n -o RES 2>/dev/null | awk '{ s += $1 } END { printf "%.0f", s }'
}

meminfo() { awk -v k="$1:" '$1 == k { printf "%.0f", $2 * 1024 }' /proc/meminfo; }

drop_by_file() {
    files | while IFS= read -r file; do
        dd of="$file" oflag=nocache conv=notrunc,fdatasync count=0 2>/dev/null
    done
}

flush_all() { exec sync; } # in a subshell only, as the next one: the stage then is one process
flush() { if [ -n "$work_dir" ]; then exec sync -f "$work_dir" 2>/dev/null; else exec sync; fi; }

nothing_there() { # whether the directory of test files is empty, so that no cache holds anything of them
    [ -n "$work_dir" ] || return 1
    for file in "$work_dir"/* "$work_dir"/.*; do
        case ${file##*/} in . | ..) continue ;; esac
        [ ! -e "$file" ] && [ ! -L "$file" ] || return 1
    done
}

clear_cache() { # fails as stage does
    if nothing_there; then
        # The kernel's own drop would take the whole machine's cache, fio itself included, for nothing.
        printf 'method fadvise\nwhat files\nbefore_bytes 0\nafter_bytes 0\n' >cache.txt
    else
        stage cache-drop "$sync_limit" drop_caches >cache.txt
    fi
}

drop_caches() { # what was done and what it left goes to cache.txt
    before= after=
    if [ -n "$work_dir" ]; then before=$(cached_bytes); else before=$(meminfo Buffers); fi
    if { echo 3 >/proc/sys/vm/drop_caches; } 2>/dev/null; then
        method=drop_caches
    elif [ -n "$work_dir" ]; then
        drop_by_file
        method=fadvise
    else
        method=none
    fi
    if [ "$before" = 0 ]; then after=0
    elif [ -n "$work_dir" ]; then after=$(cached_bytes); else after=$(meminfo Buffers); fi
    echo "method $method"
    echo "what $([ -n "$work_dir" ] && echo files || echo buffers)"
    echo "before_bytes $before"
    echo "after_bytes $after"
}

# --- Each second: a sign of life for the process that follows, and the machine's counters
sample() { # file of signs of life, or nothing; and to end: the two readings. One sample for each line read. In a subshell only.
    exec $awk -v unix="$unix" -v zero="$zero" -v number="$sampled" -v beat="$1" -v began="${2:-}" -v ended="${3:-}" \
        -f sample.awk
}
every_second() { # until nobody reads: what samples cannot write
    trap '' PIPE
    while second; do
        if ! echo 2>/dev/null; then kill -USR1 $$; break; fi
        sleep 1
    done
}

micro() { # time in seconds -> $micro: it in microseconds
    case $1 in *.*) micro_part=${1#*.}000000 ;; *) micro_part=000000 ;; esac
    micro=$((${1%.*} * 1000000 + 1${micro_part%"${micro_part#??????}"} - 1000000))
}

micro_between() { # two times in seconds -> $micro: the microseconds between them
    micro "$1"
    micro_first=$micro
    micro "$2"
    micro=$((micro - micro_first))
}

canary() { # name of the file
    {
        now
        begin=$now
        read -r up_begin rest </proc/uptime
        head -c 8388608 /dev/zero | sha256sum >/dev/null
        now
        # The uptime has hundredths only, so it is used only where the clock was moved.
        read -r up_end rest </proc/uptime
        micro_between "$up_begin" "$up_end"
        by_uptime=$micro
        micro_between "$begin" "$now"
        if [ "$micro" -lt 0 ] || [ "$micro" -lt "$((by_uptime - 50000))" ] || [ "$micro" -gt "$((by_uptime + 50000))" ]; then
            micro=$by_uptime
        fi
        printf 'checksum_8mib_s %d.%06d\n' "$((micro / 1000000))" "$((micro % 1000000))"
        fio --name=null --thread --ioengine=null --rw=randread --bs=4k --size=1g --time_based \
            --runtime=50ms --clocksource=clock_gettime --output-format=json --eta=never \
            --output=.null >/dev/null 2>&1
        cat .null 2>/dev/null
    } >"$1" 9>&-
}

try_canary() { # name of the file; the step is measured without it where it takes too long
    stage canary "$canary_limit" canary "$1"
    [ "$limit" != canary ] || echo "limit $canary_limit s" >"$1"
    limit=
}

# --- Everything that comes before fio, which waits with its turn, its disk and its caches ready
prepare() {
    # Nobody else's measurement on the same disk: its turn may take as long as theirs do.
    enter turn 315360000
    # shellcheck disable=SC2046 # the kernel's names of disks hold no blanks
    if [ "$disk_count" -gt 1 ]; then set -- $(hold_each hold_path); else set -- "${device:-$work_dir}"; fi
    disk_take "$@" || finish 125 "$reason"
    if asked; then finish 126; fi
    enter check 600
    hold_checked || refuse "$reason"
    # A disk that is still written to, or a cache that is still warm, would be measured with the rest.
    if [ "$drop" = 1 ]; then
        stage sync "$sync_limit" flush && { [ "$stage_status" = 0 ] || stage sync "$sync_limit" flush_all; } && clear_cache
    else
        echo "method kept" >cache.txt
    fi
    [ -z "$limit" ] || finish 125 "took too long: $limit"
    [ "$canary_before" = 0 ] || try_canary canary-before.txt
}

may_start() { # whether fio may; nobody waits for the turn of a unit that nobody follows
    prepare
    until permitted "$turn_limit"; do
        [ "$limit" = go ] || return 1
        limit=
        disk_drop
        hold_end
        permitted "$go_limit" || return 1
        prepare
    done
}

first_mib() { # FIFO, file: all that is written there is read, and 1 MiB of it kept. In a subshell only.
    exec <"$1" >"$2" 6>&- 7>&- 8>&- 9>&-
    head -c 1048576
    if read -r rest; then exec cat >/dev/null; fi # there is more
}

settled() { # two processes -> whether both end within two seconds
    looks=40
    while kill -0 "$1" 2>/dev/null || kill -0 "$2" 2>/dev/null; do
        looks=$((looks - 1))
        [ "$looks" -gt 0 ] || return 1
        sleep 0.05 9>&-
    done
}

workers() { # of fio: the processes that it forked, which outlive it when it is killed
    cat /proc/[0-9]*/stat 2>/dev/null | awk -v parent="$1" '
        { number = $1; sub(/^.*\) /, ""); if ($2 == parent) print number }'
}

changed=
if may_start; then
    hold_checked_again || refuse "$reason"
    hold_jobfile
    kill -KILL "$beats" # the samples are signs of life enough; KILL as in finish
    enter fio "${fio_limit:-315360000}"
    disk_beside >.beside 9>&-
    counters before
    reading
    began=$reading
    zero=${began% *} unix=${began#* } started=${began#* }
    # Closed by exec: a shell keeps a copy of what a redirection of its own commands replaces.
    (exec 9>&- && every_second) | (exec 9>&- >samples.txt && sample live.tsv) &
    sampler=$!
    dropper=
    if [ -n "$drop_every" ]; then
        (
            exec 9>&-
            while sleep "$drop_every" && kill -0 $$ 2>/dev/null; do
                { echo 1 >/proc/sys/vm/drop_caches; } 2>/dev/null || drop_by_file
            done
        ) &
        dropper=$!
    fi
    # fio's document has a FIFO of its own, which other output cannot reach. Opened here until both
    # ends are open, so that neither waits for the other.
    exec 6<>pipe.fio 7<>pipe.stdout 8<>pipe.stderr
    (
        exec 9>&- </dev/null >pipe.stdout 2>pipe.stderr
        # The shell becomes fio, so that its number is known before fio exists.
        # In a session of its own: fio signals its whole process group where a job does not start.
        setsid sh -c 'echo $$ >fio.pid; [ -e stop ] && exit 130; exec "$@"' sh \
            fio --output=pipe.fio --output-format=json+ --status-interval=1 --eta=never "$jobfile" 6>&- 7>&- 8>&-
        echo $? >fio.exit
    ) &
    first_mib pipe.stdout stdout.txt &
    readers=$!
    first_mib pipe.stderr stderr.txt &
    readers="$readers $!"
    (exec <pipe.fio 6>&- 7>&- 8>&- 9>&- && $awk -v LIVE=live.tsv -f interim.awk >fio.json) &
    filter=$!
    exec 6>&- 7>&- 8>&-
    end_sent=0
    while kill -0 "$filter" 2>/dev/null; do
        if ending && [ "$end_sent" = 0 ]; then
            end_sent=1
            asked || [ -n "$broken" ] || limit=fio
            # fio handles SIGTERM like SIGINT, and SIGTERM also ends it before its handler is set.
            read -r fio <fio.pid 2>/dev/null && kill -TERM "$fio" 2>/dev/null
            (exec 9>&- >/dev/null 2>&1; sleep "$stop_patience"; kill -KILL "$fio" $(workers "$fio")) &
            killer=$!
            enter end $((stop_patience * 3))
        fi
        # A fio that SIGKILL does not end waits for its disk in the kernel: it is left behind.
        if [ "$end_sent" = 1 ] && past; then limit=${limit:-kill}; break; fi
        wait "$filter"
    done
    reading
    finished=$reading
    counters after
    hold_checked_after || changed="changed: $reason"
    disk_beside >>.beside 9>&-
    settled $readers || for kept in stdout.txt stderr.txt; do
        cp "$kept" "new.$kept" && mv -f "new.$kept" "$kept" # cut off what a process may still print
    done 9>&-
    trap '' USR1
    fio_exit=
    read -r fio_exit 2>/dev/null <fio.exit || :
    # A filter that could not write ends fio, too (SIGPIPE).
    [ "$fio_exit" = 0 ] || [ "$end_sent" = 1 ] || room_at "$PWD" || broken=${broken:-$room}
    # Once more, so that the last part of a second is counted, too; on a line of its own, whatever the
    # sampler was writing. Its shell is not waited for: it may still sleep for most of a second.
    kill "$sampler" 2>/dev/null
    {
        echo
        (sample "" "$began" "$finished") <<END
.
END
    } >>samples.txt 9>&-
    read -r lasted moved ended oom_now <.between || :
    lasted=${lasted:-0} moved=${moved:-0} ended=${ended:-$started}
    [ "$end_sent" = 1 ] && kill "$killer" 2>/dev/null
    [ -n "$dropper" ] && kill "$dropper" 2>/dev/null
    if ending && read -r fio <fio.pid; then # its filter may have been signalled with it
        [ "$end_sent" = 1 ] || enter end $((stop_patience * 3))
        while kill -0 "$fio" 2>/dev/null && ! past; do sleep 0.1; done
    fi
    enter end 86400
    begin_beat
    [ "$canary_after" = 1 ] && [ -z "$limit" ] && try_canary canary-after.txt
fi
[ "$limit" != go ] || forget
fio_exit=
read -r fio_exit 2>/dev/null <fio.exit || :
finish "${fio_exit:-126}" "$changed"
