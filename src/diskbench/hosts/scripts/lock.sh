# One measurement at a time on a disk, by any user. Given before this text: block.sh
# and stages.sh.
#
# Each trial has a claim, a small file in a directory that all users share. Its unit holds a flock on
# it, so that a claim ends with the process that made it, in any way; without flock(1), a claim is
# valid while its process exists. Claims on the same physical disk take turns by their tickets
# (Lamport's bakery: a claim without a ticket is just being made and is waited for). Between two steps
# of a trial its claim is kept for DISK_KEPT_S, so that no step of another trial comes between them.

DISK_KEPT_S=60 # seconds that a trial keeps its turn between two of its steps; our choice
DISK_CHOOSING_S=10 # seconds after which a claim without a ticket counts as a measurement; our choice
DISK_DEAD_S=3600 # seconds after its turn from which a claim that no process holds is removed; our choice
locked= disk_looked=
DISK_CLAIM_BYTES=16384 # bytes of a claim that are read: more than a claim of diskbench has

disk_look() { # paths -> $disk_looked: lines "MODE DEVICE IDENTITY PATH // UID GID USER GROUP" of the directories
    # of claims and of them, by one process. A path may hold blanks; no name of a user or group holds a slash.
    disk_looked=$(stat -L -c '%a %d %i.%s.%Y.%Z %n // %u %g %U %G' /run/lock /dev/shm /tmp "$@" 2>/dev/null)
}

disk_place() { # after disk_look -> $place, the directory of claims: the first one that every user may write to
    place=
    while read -r mode raw looked name; do
        case "$mode ${name%" // "*}" in
            '1777 /run/lock' | '1777 /dev/shm' | '1777 /tmp') if [ -z "$place" ]; then place=${name%" // "*}; fi ;;
        esac
    done <<END
$disk_looked
END
    [ -n "$place" ]
}

disk_raw() { # path -> $raw: the number of the device that it lies on, as stat has it; of one that was looked at without a
    # process, and with its identity in $looked
    case "
$disk_looked
" in
        *"
"*" $1 // "*)
            while read -r mode raw looked name; do
                [ "${name%" // "*}" != "$1" ] || return 0
            done <<END
$disk_looked
END
            ;;
    esac
    looked=
    raw=$(stat -L -c %d "$1" 2>/dev/null)
}

disk_add() { keys="$keys$1
"; } # key -> behind those in $keys, one on each line

disk_below() { # number -> $keys, with the physical disks below it: through partitions, dm, MD and loops
    set -- "$1" "/sys/dev/block/$1/slaves"/*
    if [ -e "/sys/dev/block/$1/partition" ]; then
        block_read "/sys/dev/block/$1/../dev"
        disk_below "$value"
    elif [ -e "$2/dev" ]; then
        shift
        for slave in "$@"; do
            block_read "$slave/dev"
            disk_below "$value"
        done
    elif [ -e "/sys/dev/block/$1/loop/backing_file" ]; then
        block_read "/sys/dev/block/$1/loop/backing_file"
        disk_keys "$value" || disk_add "$1"
    else
        disk_add "$1"
    fi
}

disk_keys() { # path -> $keys, with those to claim for it: numbers of disks, or the source of a share
    if block_look "$1"; then disk_below "$number"; return 0; fi
    disk_raw "$1" || return 1
    disk_on "$raw" "$1"
}

disk_on() { # number of a device as stat has it, path of a file on it -> $keys, with those to claim for it
    number=$((($1 >> 8) & 0xfff)):$((($1 & 0xff) | (($1 >> 12) & 0xfff00)))
    shift
    if [ -e "/sys/dev/block/$number" ]; then disk_below "$number"; return 0; fi
    # btrfs, ZFS, overlay, NFS …: by what is mounted there.
    mount=
    while read -r key value; do
        [ "$key" != mnt_id: ] || mount=$value
    done 2>/dev/null 4<"$1" </proc/self/fdinfo/4
    set -- "$number" $(awk -v id="$mount" '$1 == id { sub(/^.* - /, ""); print $1, $2 }' /proc/self/mountinfo)
    case ${3:-} in
        /dev/*) if [ -b "$3" ]; then disk_pool "$2" "$(block_number "$3")"; return 0; fi ;;
        *:* | //*) disk_add "${3%/}"; return 0 ;;
    esac
    case ${2:-} in zfs) disk_add "zfs:${3%%/*}" ;; *) disk_add "$1" ;; esac
}

disk_pool() { # type, number of one device of a filesystem -> $keys, with the disks of all of them
    if [ "$1" = btrfs ]; then
        for member in /sys/fs/btrfs/*/devices/*; do
            [ "$(cat "$member/dev" 2>/dev/null)" = "$2" ] || continue
            for member in "${member%/*}"/*; do disk_below "$(cat "$member/dev")"; done
            return 0
        done
    fi
    disk_below "$2"
}

disk_words() { # paths -> $words: their keys in one line, sorted
    keys=
    for under in "$@"; do disk_keys "$under"; done
    disk_sorted
}

disk_sorted() { # after $keys -> $words: the same in one line, sorted
    words=${keys%?}
    case $words in # most often the number of one disk
        *[!A-Za-z0-9:._/-]*)
            words=$(printf %s "$keys" | tr -c 'A-Za-z0-9:._/\n-' '?' | sort -u)
            set -f # a key may hold what the shell takes for a pattern
            # shellcheck disable=SC2086 # one line
            set -- $words
            set +f
            words=$*
            ;;
    esac
}

disk_uptime() { read -r up rest </proc/uptime && up=${up%.*}; } # -> $up (s)


disk_is_ours() { # words -> whether any of them is among $disks
    for word in $1; do case " $disks " in *" $word "*) return 0 ;; esac; done
    return 1
}

disk_forget() { c_ticket= c_trial= c_user= c_pid= c_born= c_since= c_until= c_disks= c_state= c_runs=; }

disk_line() { # key, value: a line of a claim -> $c_KEY
    case $2 in *[!A-Za-z0-9:._/@\ ?-]*) return 0 ;; esac # not written by diskbench
    case $1 in
        ticket | pid | born | since | until | runs)
            case $2 in '' | *[!0-9]* | ???????????????*) ;; *) eval "c_$1=\$2" ;; esac ;;
        trial | user | disks | state) eval "c_$1=\$2" ;;
    esac
}

disk_read() { # file of a claim -> its values in $c_…; they stay empty where the file is no claim
    disk_forget
    [ -f "$1" ] && [ ! -L "$1" ] || return 1
    while read -r key value; do disk_line "$key" "$value"; done 2>/dev/null <<END
$(dd if="$1" bs="$DISK_CLAIM_BYTES" count=1 2>/dev/null)
END
}

disk_locked() { # files -> those that a process has locked for itself alone, as far as the kernel lists it here
    # What is not listed (locks of other PID namespaces; two are asked as quickly) is asked by flock.
    [ -r /proc/locks ] || return 0
    stat -c '%d %i %n' "$@" 2>/dev/null | awk '
        FNR == NR { if ($2 == "FLOCK" && $4 == "WRITE") held[$6]; next } # 1: FLOCK ADVISORY WRITE PID MAJOR:MINOR:INODE
        NF == 3 && $3 ~ /^[A-Za-z0-9\/._-]+$/ {
            minor = $1 % 256 + int($1 / 1048576) * 256
            if (sprintf("%02x:%02x:%s", int($1 / 256) % 4096, minor, $2) in held) print $3
        }' /proc/locks -
}

disk_held() { # file, after its lines were read -> whether the process of the claim exists, or its trial keeps its turn
    case "
$locked
" in *"
$1
"*) return 0 ;; esac
    if command -v flock >/dev/null 2>&1; then
        if ! flock -n -s 4; then return 0; fi 4<"$1" 2>/dev/null
    elif [ -n "$c_pid" ]; then
        if disk_born "$c_pid" && [ "$born" = "$c_born" ]; then return 0; fi
    fi
    disk_uptime
    [ "${c_until:-0}" -gt "$((up - 2))" ] && [ -d "$c_state" ]
}

disk_born() { # process -> $born: its start time, which differs from that of a later process with its number
    read -r stat 2>/dev/null <"/proc/$1/stat" || return 1
    set -- ${stat##*) }
    shift 19
    born=$1
}

disk_rivals() { # [ticket [own claim]] -> a line for each living claim on $disks, with a ticket: before ours. In a
    # subshell only, as disk_alone saves it.
    own_ticket=${1:-} own_claim=${2:-}
    set --
    for file in "$place"/diskbench-*.claim; do
        [ "$file" = "$own_claim" ] || [ ! -f "$file" ] || [ -L "$file" ] || set -- "$@" "$file"
    done
    [ $# != 0 ] || return 0
    locked= # one look for all instead of a flock for each: a machine may have a hundred
    if [ $# -gt 2 ]; then locked=$(disk_locked "$@"); fi
    # All at once: a machine may have a hundred. Of two files and more head names each.
    head -c "$DISK_CLAIM_BYTES" "$@" /dev/null 2>/dev/null | {
        file=
        disk_forget
        while read -r key value; do
            if [ "$key" != '==>' ]; then disk_line "$key" "$value"; continue; fi
            disk_rival
            disk_forget
            file=${value% <==}
        done
        disk_rival
    } 2>/dev/null
}

disk_rival() { # $file, after its lines were read: a line when it lives, and is before $own_ticket where there is one
    case $file in "$place"/diskbench-*.claim) ;; *) return 0 ;; esac
    { [ -z "$c_disks" ] || disk_is_ours "$c_disks"; } || return 0
    disk_held "$file" || { disk_remove "$file"; return 0; }
    if [ -z "$c_ticket" ]; then
        [ -z "$own_ticket" ] || echo "choosing $(stat -c %U "$file" 2>/dev/null)"
    elif [ -z "$own_ticket" ] || [ "$c_ticket" -lt "$own_ticket" ] ||
        { [ "$c_ticket" = "$own_ticket" ] && expr "$file" \< "$own_claim" >/dev/null; }; then
        echo "${c_runs:-0} $c_ticket $c_trial $c_user $c_pid $c_since"
    fi
}

disk_remove() { # file of a dead claim, after its lines were read -> it is removed by a unit of the same user, when its
    # trial lost its turn long ago: each one that is left costs every later look a flock.
    [ -n "$own_claim" ] && [ "$lock_method" = flock ] && [ -O "$1" ] || return 0
    [ -n "$c_trial" ] && [ -n "$c_until" ] || return 0 # not written by diskbench
    disk_uptime
    [ "$((up - c_until))" -gt "$DISK_DEAD_S" ] || return 0
    # Under its lock, so that nobody else removes it, or takes it, between the look and the removal.
    if flock -n 4 && [ "$1" -ef /proc/self/fd/4 ]; then rm -f "$1"; fi 4<"$1" 2>/dev/null
}

disk_alone() { # whether there is no claim but $claim, so that nothing has to be asked about others
    set -- "$place"/diskbench-*.claim
    [ $# = 1 ] && { [ "$1" = "$claim" ] || ! [ -e "$1" ]; }
}

disk_claim() { # ticket runs until -> the claim is written anew; without a ticket it is being made
    disk_uptime
    [ -n "${own_user:-}" ] || own_user=$(id -un 2>/dev/null || id -u)
    [ -n "${clock_zero:-}" ] || clock_zero=$(($(date +%s) - up)) # Unix time of the machine's start
    disk_born $$
    {
        echo "disks $disks"
        echo "trial $trial"
        echo "user $own_user"
        echo "pid $$"
        echo "born $born"
        echo "since $((clock_zero + up))"
        echo "state $state_dir"
        echo "runs $2"
        echo "until $3"
        [ -z "$1" ] || echo "ticket $1"
    } 2>/dev/null >"$claim"
}

disk_open() { # -> whether the claim is ours, locked on descriptor 5; else the reason in $lock_why
    claim=$place/diskbench-$trial.claim
    looks=100
    while :; do
        # An existing one is of an earlier step, or a trap: opening a FIFO would block.
        if ! [ -e "$claim" ] && ! [ -L "$claim" ]; then
            umask 022
            set -C
            { true >"$claim"; } 2>/dev/null
            set +C
            umask 077
        fi
        if [ -L "$claim" ] || ! [ -f "$claim" ] || ! [ -O "$claim" ]; then
            lock_why="$claim cannot be made, or belongs to somebody else"
            return 1
        fi
        command -v flock >/dev/null 2>&1 || { lock_method=pid; return 0; }
        exec 5<>"$claim"
        if flock -n 5; then
            # A lock on a file that was removed meanwhile (disk_remove) would be seen by nobody.
            if ! [ -e /proc/self/fd/5 ] || [ "$claim" -ef /proc/self/fd/5 ]; then break; fi
        else
            sleep 0.1
        fi
        looks=$((looks - 1))
        if [ "$looks" = 0 ] || ending; then lock_why="$claim is locked by what an earlier step left"; return 1; fi
    done
    lock_method=flock
}

disk_ticket() { # -> $ticket: a number behind those of all others that are there; an earlier step's while it is kept
    if [ -s "$claim" ]; then
        disk_read "$claim"
        ticket=$c_ticket
        disk_uptime
        [ -z "$ticket" ] || [ "${c_until:-0}" -le "$up" ] || return 0
    fi
    disk_claim "" 0 0
    rivals=
    disk_alone || rivals=$(disk_rivals "" "$claim")
    disk_uptime
    ticket=$up
    while read -r runs before rest; do
        before=${before#"${before%%[!0]*}"} # 010 would be 8
        [ "${before:-0}" -lt "$ticket" ] || ticket=$((before + 1))
    done <<END
$rivals
END
}

disk_date() { # Unix time (s) -> $date: it as a date of UTC. Starts no process: there may be a hundred claims.
    # Howard Hinnant's civil_from_days; a year begins in March here, an era has 400 years.
    days=$(($1 / 86400 + 719468)) second=$(($1 % 86400))
    era=$((days / 146097)) days=$((days % 146097))
    year=$(((days - days / 1460 + days / 36524 - days / 146096) / 365))
    days=$((days - (365 * year + year / 4 - year / 100)))
    month=$(((5 * days + 2) / 153))
    day=$((days - (153 * month + 2) / 5 + 1))
    year=$((year + era * 400))
    if [ "$month" -lt 10 ]; then month=$((month + 3)); else month=$((month - 9)) year=$((year + 1)); fi
    date=$year-$((month / 10))$((month % 10))-$((day / 10))$((day % 10))
    set -- $((second / 3600)) $((second / 60 % 60)) $((second % 60))
    date="$date $(($1 / 10))$(($1 % 10)):$(($2 / 10))$(($2 % 10)):$(($3 / 10))$(($3 % 10)) UTC"
}

disk_sentence() { # line of disk_rivals -> $sentence: who that is
    # shellcheck disable=SC2086 # six words, of a claim that anybody may have written
    set -- $1
    case ${6:-} in
        '' | 0* | *[!0-9]* | ????????????*) date=${6:-} ;;
        *) disk_date "$6" ;;
    esac
    sentence="trial ${3:-} (user ${4:-}, process ${5:-} there, since $date)"
}

disk_take() { # paths -> 0: it is our turn; 1: it is not, with the reason in $reason. A stop ends the wait.
    lock_method=none lock_why= lock_behind= waited=0 disks= claim=
    disk_look "$@"
    if ! disk_place; then lock_why="no directory is shared by all users"; return 0; fi
    disk_words "$@"
    disks=$words
    disk_looked= # later looks are looks of their own
    if [ -z "$disks" ]; then lock_why="what $* lies on cannot be told"; return 0; fi
    disk_open || { lock_method=none; return 0; }
    disk_ticket
    disk_claim "$ticket" 0 0
    disk_uptime
    begun=$up seen=
    while [ "$if_busy" != share ] && ! disk_alone && rivals=$(disk_rivals "$ticket" "$claim") && [ -n "$rivals" ]; do
        if ending; then disk_drop; return 0; fi
        disk_uptime
        waited=$((up - begun))
        first=$(echo "$rivals" | grep -v '^choosing' | sort -k 2n | head -n 1)
        if [ -n "$first" ]; then
            disk_sentence "$first"
            lock_behind=$sentence
        elif [ "$waited" -ge "$DISK_CHOOSING_S" ]; then
            lock_behind="a claim in $place that names no trial (user $(echo "$rivals" | sed -n '1s/^choosing //p'))"
        else
            sleep 0.1
            continue
        fi
        reason="busy: the disk under $* ($disks) is measured by $lock_behind"
        case $if_busy in
            fail) disk_drop; return 1 ;;
            wait) ;;
            *) if [ "$waited" -ge "$if_busy" ]; then reason="$reason, and still after $waited s"; disk_drop; return 1; fi ;;
        esac
        [ "$seen" = "$lock_behind" ] || echo "~ waits for the disk under $* ($disks), which is measured by $lock_behind" >>live.tsv
        seen=$lock_behind
        echo "~" >>live.tsv
        ending || sleep 1
    done
    disk_claim "$ticket" 1 0 && return 0
    disk_drop
    lock_method=none lock_why="$claim cannot be written"
}

disk_drop() { # the claim is given up
    if [ -n "$claim" ]; then rm -f "$claim"; fi
}

disk_leave() { # the disk is free for the next step of this trial for DISK_KEPT_S, then for others
    [ "$lock_method" != none ] && [ -e "$claim" ] || return 0
    disk_uptime
    disk_claim "${ticket:-0}" 0 "$((up + DISK_KEPT_S))"
    [ "$lock_method" != flock ] || flock -u 5
}

disk_opened() { # names of processes' files /proc/N/comm -> "DEVICE PROCESS DESCRIPTOR" for each device and filesystem that
    # they have files on. One call for all: there may be a hundred of them, or one with thousands of files open.
    for comm in "$@"; do
        for fd in "${comm%/comm}"/fd/*; do echo "$fd"; done
    done | xargs stat -L -c '%f %d %t:%T %n' 2>/dev/null | awk '
        { split($4, part, "/") } # /proc/PROCESS/fd/NUMBER
        part[5] < 3 { next }
        $1 ~ /^8...$/ { on = "file:" $2 }
        $1 ~ /^6...$/ { on = "disk:" $3 }
        $1 ~ /^[86]...$/ && !seen[part[3], on]++ { print on, part[3], $4 }'
}

disk_fios() { # -> "beside WHO" for each other process named fio with a file or device on $disks open, as far as we may see
    fios=$(grep -l -x fio /proc/[0-9]*/comm 2>/dev/null)
    [ -n "$fios" ] || return 0
    fios=$(disk_on_ours $fios)
    [ -n "$fios" ] || return 0
    # All of them at once, since there may be a hundred. Of two files and more tail names each.
    set --
    for process in $fios; do set -- "$@" "/proc/$process/environ"; done
    own=$(tail -c +1 "$@" /dev/null 2>/dev/null | tr '\000' '\n' | own="DISKBENCH_TRIAL=$state_dir" awk '
        /^==> \/proc\/[0-9]+\/environ <==$/ { split($2, part, "/"); process = part[3] }
        $0 == ENVIRON["own"] { printf "%s ", process }')
    set --
    for process in $fios; do
        case " $own" in *" $process "*) ;; *) set -- "$@" "/proc/$process" ;; esac
    done
    [ $# = 0 ] || stat -c '%n %U' "$@" 2>/dev/null | while read -r process user; do
        echo "beside a process of fio (number ${process#/proc/}, user $user)"
    done
}

disk_of() { # "file:DEVICE" or "disk:MAJOR:MINOR" (hexadecimal), path of the open file -> $words: the keys of what it is on
    keys=
    case $1 in
        file:*) [ ! -e "$2" ] || disk_on "${1#file:}" "$2" ;;
        *)
            set -- "${1#disk:}"
            disk_below "$((0x${1%:*})):$((0x${1#*:}))"
            ;;
    esac
    disk_sorted
}

disk_on_ours() { # names as for disk_opened -> the number of each process with a file or device on $disks open
    on_ours= on_others= met=
    disk_opened "$@" | while read -r on process fd; do
        case " $met " in *" $process "*) continue ;; esac
        case " $on_others " in *" $on "*) continue ;; esac
        case " $on_ours " in
            *" $on "*) ;;
            *)
                disk_of "$on" "$fd"
                [ -n "$words" ] || continue # it has ended, or closed it
                if ! disk_is_ours "$words"; then on_others="$on_others $on"; continue; fi
                on_ours="$on_ours $on"
                ;;
        esac
        met="$met $process"
        echo "$process"
    done 2>/dev/null
}

disk_beside() { # -> "beside WHO" for each measurement that runs on $disks beside ours
    [ -n "$disks" ] || return 0
    disk_alone || disk_rivals "" "$claim" | while read -r line; do
        case $line in
            1*)
                disk_sentence "$line"
                echo "beside $sentence"
                ;;
        esac
    done
    disk_fios
}

disk_report() { # -> lock.txt: how the disk was locked
    echo "method $lock_method"
    echo "why $lock_why"
    echo "disks $disks"
    echo "waited_s $waited"
    echo "behind $lock_behind"
}
