#!/bin/sh
# One step on the measured host: its turn on the disk, drop caches, canary, fio, canary, checksums. Run detached, with the
# step's directory and a FIFO on which the starter waits as arguments. Whoever links the file `pid`
# first is the unit; a second start ends at once. The file `exit` is written last: "EXIT STOPPED STARTED ENDED REASON".
# While it lives it holds the FIFO `alive` open; its children do not, so that its death is seen.
set -u
umask 077
cd "$1" || exit 1
ready=$2
export LC_ALL=C
. ./block.sh
. ./guard.sh
. ./place.sh
. ./lock.sh
. ./unit.env

# Opened both ways: a starter that has gone away is not waited for.
tell_ready() { [ ! -p "$ready" ] || { echo >&8; } 8<>"$ready"; }

exec 9<>alive
read -r stat <"/proc/$$/stat"
set -- ${stat##*) }
shift 19 # to field 22 of proc(5): start time, which tells this process from a later one of its number
echo "$$ $1 $(cat /proc/sys/kernel/random/boot_id)" >"pid.$$"
if ! ln "pid.$$" pid 2>/dev/null; then
    rm -f "pid.$$"
    tell_ready
    exit 0
fi
rm -f "pid.$$"
tell_ready

stopped=0
trap 'stopped=1' TERM INT
trap '' HUP
started=0 ended=0

# Unix time with a fraction; where date has none, by the uptime since a first look at the clock.
case $(date +%s.%N) in
    *[!0-9.]* | *.)
        read -r up0 rest </proc/uptime
        unix0=$(date +%s)
        now() { awk -v u="$unix0" -v z="$up0" '{ printf "%.2f\n", u + $1 - z }' /proc/uptime; }
        ;;
    *) now() { date +%s.%N; } ;;
esac

finish() { # fio's exit, reason
    { disk_report; [ ! -e new.beside ] || sort -u new.beside; } >lock.txt
    rm -f new.beside
    disk_leave
    sums=$(ls | grep -v -x -e alive -e pid -e exit -e stop -e exit.new -e SHA256SUMS -e 'ready\..*' -e 'pipe\..*')
    sha256sum $sums >SHA256SUMS 9>&-
    echo "$1 $stopped $started $ended ${2:-}" >exit.new
    mv -f exit.new exit
    exit 0
}

# --- Nobody else's measurement on the same disk
if ! disk_take "${device:-$work_dir}"; then finish 125 "$reason"; fi
[ "$stopped" = 0 ] || finish 126

# --- Once more, just before anything is written: is this still the disk that was allowed?
check_device() {
    [ -n "$device" ] || return 0
    guard_identity || return 1
    [ "$device_mounted" = 1 ] || { guard_use && guard_content ""; }
}

check_directory() {
    [ -n "$work_dir" ] || return 0
    if ! [ -d "$work_dir" ]; then echo "$work_dir is gone"; return 1; fi
    if [ "$device_mounted" != 1 ]; then
        place_is "$work_dir" "$state_dir/work.id" && return 0
        echo "$work_dir is not the directory that diskbench made"
        return 1
    fi
    if [ "$(stat -c %D "$work_dir")" != "$(stat -c %D "$mount_point")" ]; then
        echo "$work_dir is not on $mount_point"
        return 1
    fi
    if ! mounted_on "$mount_point" | grep -q -x -F -e "$device_number"; then
        echo "$device is not mounted on $mount_point"
        return 1
    fi
}

if ! reason=$(check_device && check_directory); then
    finish 125 "refused: $reason"
fi

# --- The page cache
files() { find "$work_dir" -xdev -type f 2>/dev/null; }

cached_bytes() { # of the test files; nothing where nothing can tell
    command -v fincore >/dev/null 2>&1 || return 0
    files | tr '\n' '\0' | xargs -0 -r fincore -b -n -o RES 2>/dev/null | awk '{ s += $1 } END { printf "%.0f", s }'
}

meminfo() { awk -v k="$1:" '$1 == k { printf "%.0f", $2 * 1024 }' /proc/meminfo; }

drop_by_file() {
    files | while IFS= read -r file; do
        dd of="$file" oflag=nocache conv=notrunc,fdatasync count=0 2>/dev/null
    done
}

drop_caches() { # what was done and what it left goes to cache.txt
    before= after=
    if [ -n "$work_dir" ]; then before=$(cached_bytes); else before=$(meminfo Buffers); fi
    if [ -n "$work_dir" ]; then sync -f "$work_dir" 2>/dev/null || sync; else sync; fi
    if { echo 3 >/proc/sys/vm/drop_caches; } 2>/dev/null; then
        method=drop_caches
    elif [ -n "$work_dir" ]; then
        drop_by_file
        method=fadvise
    else
        method=none
    fi
    if [ -n "$work_dir" ]; then after=$(cached_bytes); else after=$(meminfo Buffers); fi
    echo "method $method"
    echo "what $([ -n "$work_dir" ] && echo files || echo buffers)"
    echo "before_bytes $before"
    echo "after_bytes $after"
}

if [ "$drop" = 1 ]; then
    drop_caches >cache.txt 9>&-
else
    echo "method kept" >cache.txt
fi

# --- Once a second: a sign of life for whoever follows, and the machine's own counters
sample() { # file of signs of life, or nothing; one sample for each line read. In a subshell only.
    exec $awk -v unix="$unix" -v zero="$zero" -v number="$sampled" -v beat="$1" -f sample.awk
}
every_second() { while kill -0 $$ 2>/dev/null; do echo; sleep 1; done; }

canary() { # name of the file
    {
        begin=$(now)
        head -c 33554432 /dev/zero | sha256sum >/dev/null
        echo "cpu_s $(awk -v a="$begin" -v b="$(now)" 'BEGIN { printf "%.6f", b - a }')"
        fio --name=null --thread --ioengine=null --rw=randread --bs=4k --size=1g --time_based \
            --runtime=50ms --clocksource=clock_gettime --output-format=json --eta=never \
            --output=new.null >/dev/null 2>&1
        cat new.null 2>/dev/null
        rm -f new.null
    } >"$1" 9>&-
}

[ "$canary_before" = 1 ] && canary canary-before.txt

first_mib() { # FIFO, file: all that is written there is read, and 1 MiB of it kept. In a subshell only.
    exec <"$1" >"$2" 6>&- 7>&- 8>&- 9>&-
    head -c 1048576
    exec cat >/dev/null
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

if [ "$stopped" = 0 ]; then
    unix=$(now)
    read -r zero rest </proc/uptime
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
    disk_beside >new.beside 9>&-
    started=$(now)
    # fio's document has a way of its own: whatever else prints while fio runs cannot reach it. Held
    # open here until both ends are, so that neither waits for the other in vain.
    mkfifo pipe.fio pipe.stdout pipe.stderr
    exec 6<>pipe.fio 7<>pipe.stdout 8<>pipe.stderr
    (
        exec 9>&- </dev/null >pipe.stdout 2>pipe.stderr
        # The shell becomes fio, so that its number is known before fio exists.
        sh -c 'echo $$ >fio.pid; [ -e stop ] && exit 130; exec "$@"' sh \
            fio --output=pipe.fio --output-format=json+ --status-interval=1 --eta=never job.fio 6>&- 7>&- 8>&-
        echo $? >fio.exit
    ) &
    first_mib pipe.stdout stdout.txt &
    readers=$!
    first_mib pipe.stderr stderr.txt &
    readers="$readers $!"
    (exec <pipe.fio 6>&- 7>&- 8>&- 9>&- && $awk -v LIVE=live.tsv -f interim.awk >fio.json) &
    filter=$!
    exec 6>&- 7>&- 8>&-
    told=0
    while kill -0 "$filter" 2>/dev/null; do
        if [ "$stopped" = 1 ] && [ "$told" = 0 ]; then
            told=1
            # SIGTERM is to fio what SIGINT is, and ends it also before it listens.
            read -r fio <fio.pid 2>/dev/null && kill -TERM "$fio" 2>/dev/null
            (exec 9>&- >/dev/null 2>&1; sleep "$stop_patience"; kill -KILL "$fio" $(workers "$fio")) &
            killer=$!
        fi
        wait "$filter"
    done
    ended=$(now)
    disk_beside >>new.beside 9>&-
    settled $readers || for kept in stdout.txt stderr.txt; do
        cp "$kept" "new.$kept" && mv -f "new.$kept" "$kept" # of whoever still prints, no more than this
    done 9>&-
    rm -f pipe.*
    # Once more, so that the last part of a second is counted, too; on a line of its own, whatever the
    # sampler was writing. Its shell is not waited for: it may still sleep for most of a second.
    kill "$sampler" 2>/dev/null
    { echo && echo | (sample ""); } >>samples.txt 9>&-
    [ "$told" = 1 ] && kill "$killer" 2>/dev/null
    [ -n "$dropper" ] && kill "$dropper" 2>/dev/null
    [ "$stopped" = 0 ] && [ "$canary_after" = 1 ] && canary canary-after.txt
fi
fio_exit=
read -r fio_exit 2>/dev/null <fio.exit || :
finish "${fio_exit:-126}"
