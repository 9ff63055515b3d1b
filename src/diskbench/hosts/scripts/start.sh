# Start a unit unless it was started, then follow it. Given before this text: program.sh, room.sh, state (the trial's
# directory, which must be there), dir, unit (its name), follow (0: only start it), go (1: fio may start if the
# unit has asked by now), from (the first
# line of live.tsv to print, of a unit that was started before) and begin_limit (seconds that a unit may take to
# begin). Standard input is a tar of the unit's files. Prints "@ UPTIME FIRST GO" (s; the first line of live.tsv that
# it prints; 1 where it let fio start) when it begins to follow, live.tsv as it grows, then one line: "= EXIT STOPPED STARTED ENDED KEY=VALUE... REASON",
# "= lost KEY=VALUE..." when the unit died without a result, or "! WHY" when it could not be started.
set -u
umask 077
export LC_ALL=C

beats=
fail() {
    [ -z "$beats" ] || kill "$beats"
    echo "! $*"
    exit 0
}

full() { # why, where nothing more is known
    room_at "$state" || fail "$room"
    fail "$*"
}

launch() { # what it starts is known by DISKBENCH_TRIAL: see cleanup.sh
    # A unit of its own outlives the session even where logind kills what a user leaves behind; in a
    # mount namespace of its own systemd would not see the same files.
    if [ -d /run/systemd/system ] && command -v systemd-run >/dev/null 2>&1 && [ "$(id -u)" = 0 ] &&
        [ "$(readlink /proc/1/ns/mnt)" = "$(readlink /proc/self/ns/mnt)" ] &&
        systemd-run --quiet --collect --unit="$unit" --setenv=PATH="$PATH" \
            --setenv=DISKBENCH_TRIAL="$state" \
            --property=TasksMax=infinity --property=LimitNOFILE=524288 \
            sh "$dir/step.sh" "$dir" "$ready" </dev/null >/dev/null 2>&1 8>&-; then
        return 0
    fi
    DISKBENCH_TRIAL=$state setsid sh "$dir/step.sh" "$dir" "$ready" </dev/null >/dev/null 2>"$dir/unit.err" 8>&- &
}

# Without this option mawk reads whole blocks before it prints. Most often the file says which awk it is.
choose_awk() { # -> $awk
    program awk
    awk=awk awk_file=$program
    for other in gawk busybox mawk; do
        program "$other"
        [ -n "$program" ] && [ "$awk_file" -ef "$program" ] || continue
        [ "$other" != mawk ] || awk='awk -W interactive'
        return
    done
    case $(awk -W version 2>&1 </dev/null) in mawk*) awk='awk -W interactive' ;; esac
}

# The trial was removed meanwhile, so it must not start again.
[ -d "$state" ] || fail "$state is gone"
was_there=1
if ! [ -e "$dir/pid" ]; then
    was_there=0
    # Shows that the connection is alive, also while the disk blocks everything else. What never began says nothing:
    # no process to be had, no setsid, a disk that gives no script. A unit that began gives its own signs of life.
    ready=$dir/ready.$$ # of this starter alone: several may start at once
    (
        while kill -0 $$ && sleep 1 >/dev/null; do
            echo .
            [ -p "$ready" ] || continue
            begin_limit=$((begin_limit - 1))
            [ "$begin_limit" -gt 0 ] || echo late 1<>"$ready"
        done
    ) 2>/dev/null </dev/null &
    beats=$!
    new=$dir/new.$$ from=1
    mkdir -p "$new" 2>/dev/null || full "cannot make $dir"
    [ -O "$dir" ] || fail "$dir belongs to somebody else"
    tar -xf - -C "$new" || full "cannot write to $dir"
    choose_awk
    # What the end of a unit takes is kept free for it.
    room_at "$dir" reserve && echo "awk='$awk'" >>"$new/unit.env" && mv -f "$new"/* "$dir" && true >>"$dir/live.tsv" ||
        full "cannot write to $dir"
    # All that the unit needs, by one process; another starter may have made them but for $ready.
    mkfifo "$dir/alive" "$ready" "$dir/.go" "$dir/pipe.fio" "$dir/pipe.stdout" "$dir/pipe.stderr" 2>/dev/null
    [ -p "$dir/alive" ] && [ -p "$ready" ] && [ -p "$dir/pipe.stderr" ] || full "cannot make a FIFO in $dir"
    exec 8<>"$ready"
    launch
    read -r now <&8
    exec 8>&-
    if [ "$now" = late ] && ! [ -e "$dir/pid" ]; then
        true >"$dir/stop" # for one that begins yet
        fail "it did not begin within $begin_limit s; $(tail -n 1 "$dir/unit.err" 2>/dev/null)"
    fi
    kill "$beats"
    beats=
fi

[ "$follow" = 1 ] || exit 0

# Opened both ways first, so that opening to read does not wait for a writer; the end of the FIFO then
# is the end of the unit, at once and without polling, however it dies.
cd "$dir" || fail "cannot enter $dir"
# A unit that cannot write gives no sign of life: it is told to end.
if [ "$was_there" = 1 ] && ! [ -e exit ] && ! room_at "$PWD" && read -r pid started boot 2>/dev/null <pid &&
    read -r stat 2>/dev/null <"/proc/$pid/stat"; then
    # shellcheck disable=SC2086 # fields
    set -- ${stat##*) }
    shift 19
    [ "$1" != "$started" ] || kill -USR1 "$pid"
fi
exec 8<>alive 7<alive 8>&-
read -r up rest </proc/uptime && up=${up%.*}
stage=
read -r stage rest 2>/dev/null <.stage
if [ "$go" = 1 ] && [ "$stage" = go ] && ! [ -e stop ]; then # it listens: see permitted in stages.sh
    echo "$up" 1<>.go
else
    go=0
fi
echo "@ $up $from $go"
tail -n "+$from" -f live.tsv 7<&- &
tail=$!
{
    while read -r again; do :; done <&7
    kill "$tail"
} >/dev/null 2>&1 &
watcher=$!
exec 7<&-
wait "$tail" 2>/dev/null # ends with the unit, or when nobody reads any more
kill "$watcher" 2>/dev/null
keys=
read -r pid started boot 2>/dev/null <pid && read -r boot_now </proc/sys/kernel/random/boot_id && [ "$boot" != "$boot_now" ] && keys="boot=changed "
if [ -e exit ]; then
    read -r status stopped started ended reason <exit
    echo "= $status $stopped $started $ended $keys$reason"
elif [ -e pid ]; then
    read -r before 2>/dev/null <.oom && now=$(awk '$1 == "oom_kill" { print $2 }' /proc/vmstat) && keys="${keys}oom_kills=$((${now:-0} - ${before:-0}))"
    room_at "$PWD" || keys="$keys broken: $room"
    echo "= lost $keys"
fi
