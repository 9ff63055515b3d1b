# Start a unit unless it was started, then follow it. Given before this text: state (the trial's
# directory, which must be there), dir, unit (its name), follow (0: only start it), from (the first
# line of live.tsv to print) and begin_limit (seconds that a unit may take to begin). Standard input is a
# tar of the unit's files. Prints "@ UPTIME" (s) when it begins to follow, live.tsv as it grows, then one line: "= EXIT STOPPED STARTED ENDED KEY=VALUE... REASON",
# "= lost KEY=VALUE..." when the unit died without a result, or "! WHY" when it could not be started.
set -u
umask 077
export LC_ALL=C

fail() { kill "$beats"; echo "! $*"; exit 0; }

launch() { # what it starts is known by DISKBENCH_TRIAL: see cleanup.sh
    # A unit of its own outlives the session even where logind kills what a user leaves behind; in a
    # mount namespace of its own systemd would not see the same files.
    if [ "$(id -u)" = 0 ] && [ -d /run/systemd/system ] && command -v systemd-run >/dev/null 2>&1 &&
        [ "$(readlink /proc/1/ns/mnt)" = "$(readlink /proc/self/ns/mnt)" ] &&
        systemd-run --quiet --collect --unit="$unit" --setenv=PATH="$PATH" \
            --setenv=DISKBENCH_TRIAL="$state" \
            --property=TasksMax=infinity --property=LimitNOFILE=524288 \
            sh "$dir/step.sh" "$dir" "$ready" </dev/null >/dev/null 2>&1 8>&-; then
        return 0
    fi
    DISKBENCH_TRIAL=$state setsid sh "$dir/step.sh" "$dir" "$ready" </dev/null >/dev/null 2>"$dir/unit.err" 8>&- &
}

# Shows that the connection is alive, also while the disk blocks everything else.
(while kill -0 $$ && sleep 1 >/dev/null; do echo .; done) 2>/dev/null </dev/null &
beats=$!

# The trial was removed meanwhile, so it must not start again.
[ -d "$state" ] || fail "$state is gone"
if ! [ -e "$dir/pid" ]; then
    mkdir -p "$dir" 2>/dev/null || fail "cannot make $dir"
    [ -O "$dir" ] || fail "$dir belongs to somebody else"
    new=$dir/new.$$
    mkdir "$new" && tar -xf - -C "$new" || fail "cannot write to $dir"
    # Without this option mawk reads whole blocks before it prints.
    case $(awk -W version 2>&1 </dev/null) in mawk*) awk='awk -W interactive' ;; *) awk=awk ;; esac
    echo "awk='$awk'" >>"$new/unit.env" || fail "cannot write to $dir"
    mv -f "$new"/* "$dir" && rmdir "$new" || fail "cannot write to $dir"
    : >>"$dir/live.tsv"
    ready=$dir/ready.$$ # of this starter alone: several may start at once
    mkfifo "$dir/alive" "$ready" 2>/dev/null # another starter may have made the first
    [ -p "$dir/alive" ] && [ -p "$ready" ] || fail "cannot make a FIFO in $dir"
    exec 8<>"$ready"
    launch
    # What never began says nothing: no process to be had, no setsid, a disk that gives no script.
    (
        exec >/dev/null 2>&1 </dev/null
        while [ "$begin_limit" -gt 0 ] && kill -0 $$; do sleep 1; begin_limit=$((begin_limit - 1)); done
        echo late >&8
    ) &
    late=$!
    read -r now <&8
    kill "$late" 2>/dev/null
    exec 8>&-
    rm -f "$ready"
    if [ "$now" = late ] && ! [ -e "$dir/pid" ]; then
        : >"$dir/stop" # for one that begins yet
        fail "it did not begin within $begin_limit s; $(tail -n 1 "$dir/unit.err" 2>/dev/null)"
    fi
fi

kill "$beats"
[ "$follow" = 1 ] || exit 0

# Opened both ways first, so that opening to read does not wait for a writer; the end of the FIFO then
# is the end of the unit, at once and without polling, however it dies.
cd "$dir" || fail "cannot enter $dir"
exec 8<>alive 7<alive 8>&-
read -r up rest </proc/uptime && echo "@ ${up%.*}"
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
    echo "= lost $keys"
fi
