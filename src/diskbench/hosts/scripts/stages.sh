# The stages of a unit: each begins with a check for a stop, gives a sign of life each second and has a
# limit. Sourced by step.sh, whose working directory is the unit's.
#
# stop      the unit is to end: written by stop.sh before anything else
# .signal   the number of a signal that came without a stop
# .stage    "NAME END": the current stage, and the uptime (s) of its limit
# .go       FIFO: permission to start fio, written by the process that follows the unit: an uptime (s)

limit= # the stage that took too long
broken= # why the unit cannot go on by itself: mostly that it cannot write
stage_name='' stage_end=''
# live.tsv reports stages to the process that follows; processes of a stage end with the unit.
uptime_s() { read -r up up_rest </proc/uptime && up=${up%.*}; }

oom_kills() { # -> $oom_kills: how many processes the kernel has killed for want of memory; empty where it does not say
    oom_kills=
    while read -r key value; do
        if [ "$key" = oom_kill ]; then oom_kills=$value; break; fi
    done 2>/dev/null </proc/vmstat
}

caught() { # number of a signal; one to a second starter is not one to the unit
    [ -e stop ] || [ -e .signal ] || { read -r owner owner_rest 2>/dev/null <pid && [ "$owner" = $$ ]; } || return 0
    [ -e stop ] || [ -e .signal ] || echo "$1" >.signal || { room_at "$PWD" || broken=$room; }
}
trap 'caught 15' TERM
trap 'caught 2' INT
trap : ALRM # wakes what waits
trap 'room_at "$PWD" || :; broken=${broken:-${room:-what samples the step each second has ended}}' USR1
trap '' HUP

past() { uptime_s && [ -n "$stage_end" ] && [ "$up" -ge "$stage_end" ]; }

asked() { [ -e stop ] || [ -e .signal ]; } # whether the unit is to end, by a stop or a signal

ending() { asked || past || [ -n "$broken" ]; }

enter() { # name, limit (s): what is done now
    uptime_s
    stage_name=$1 stage_end=$((up + $2))
    echo "$stage_name $stage_end" >.stage
}

# A signal may come between a look and the wait that it should end: so it is sent again each second.
second() {
    kill -0 $$ 2>/dev/null || return 1
    read -r read_name read_end 2>/dev/null <.stage && stage_name=$read_name stage_end=$read_end
    uptime_s
    if ending; then
        kill -ALRM $$ 2>/dev/null
        [ "$stage_name" != go ] || echo end 1<>.go
    fi
    return 0
}

begin_beat() { # closed by exec: a shell keeps a copy of what a redirection of its own commands replaces
    (exec 9>&- >/dev/null 2>&1 </dev/null; beat) &
    beats=$!
}

beat() { # a sign of life every second, with what is done; "?" asks whether fio may start
    while second; do
        case $stage_name in
            go) echo "? $up" ;;
            *) echo "# $stage_name" ;;
        esac 2>/dev/null >>live.tsv || kill -USR1 $$
        sleep 1
    done
}

descendants() { # of a process, itself first
    cat /proc/[0-9]*/stat 2>/dev/null | awk -v root="$1" '
        { number = $1; sub(/^.*\) /, ""); parent[number] = $2 }
        END {
            print root; known[root] = 1
            do {
                more = 0
                for (p in parent) if (!(p in known) && (parent[p] in known)) { known[p] = 1; print p; more = 1 }
            } while (more)
        }'
}

stage() { # name, limit (s), command: fails when it was not begun or not ended; else $stage_status is the command's
    stage_status=
    enter "$1" "$2"
    shift 2
    ending && return 1
    (exec 9>&- </dev/null; trap - TERM INT ALRM; "$@") &
    stage_pid=$!
    while kill -0 "$stage_pid" 2>/dev/null; do
        if ending; then
            asked || [ -n "$broken" ] || limit=$stage_name
            # What hangs in the kernel takes no signal: it is left behind.
            kill -KILL $(descendants "$stage_pid") 2>/dev/null
            return 1
        fi
        wait "$stage_pid"
        stage_status=$?
    done
    # bash may have noticed its end before the first look.
    if [ -z "$stage_status" ]; then wait "$stage_pid"; stage_status=$?; fi
    return 0
}

permitted() { # whether the process that follows lets fio start; waits until there is one
    [ -p .go ] || mkfifo .go || return 1
    exec 6<>.go # before .stage says so
    enter go "$1"
    echo "? $up" >>live.tsv
    while ! ending; do
        read -r word <&6 || continue
        case $word in '' | *[!0-9]*) continue ;; esac
        uptime_s
        # An older permission may be from a process that has gone since.
        if [ "$((up - word))" -le 10 ]; then
            exec 6>&-
            return 0
        fi
    done
    exec 6>&-
    asked || [ -n "$broken" ] || limit=go
    return 1
}

# --- Clocks: durations are measured by the uptime, which no correction of the clock changes (sample.awk)
reading() { read -r up_exact up_rest </proc/uptime && now && reading="$up_exact $now"; } # -> $reading

end_facts() { # the facts of the end of the unit, for end.txt
    echo "boot_id $boot"
    echo "oom_kills $((${oom_now:-0} - ${oom_before:-0}))"
    echo "seconds $lasted"
    echo "clock_moved_s $moved"
    [ -z "$limit" ] || echo "limit $limit"
    [ ! -e .signal ] || echo "signal $(cat .signal)"
    [ ! -e stop ] || echo "stop asked"
    # A machine that shuts down says so; a bus that is gone by then may not answer.
    if [ -e .signal ] && command -v systemctl >/dev/null 2>&1; then
        echo "system $(timeout 3 systemctl is-system-running 2>/dev/null)"
    fi
}
