# Take away everything of one trial; any number of times. Given before this text: block.sh, place.sh,
# state, work (directories, or nothing), mount (a mount point under state, or nothing). Prints what is
# left.
export LC_ALL=C state
as=
while read -r key value rest; do [ "$key" != Uid: ] || break; done </proc/self/status # value, rest: real, effective
[ "${rest%%[!0-9]*}" = 0 ] || { sudo -n true 2>/dev/null && as='sudo -n'; }

living() { # -> $environs: of processes in the trial's directory, as those of its units are: /proc/N/environ
    environs=
    links=$($as ls -l /proc/[0-9]*/cwd 2>/dev/null)
    case $links in *" -> $state"*) ;; *) return ;; esac # most often none lives
    environs=$(awk '
        { at = index($0, " -> "); to = substr($0, at + 4) }
        at && (to == ENVIRON["state"] || index(to, ENVIRON["state"] "/") == 1) {
            split(substr($0, index($0, "/proc/")), part, "/")
            print "/proc/" part[3] "/environ"
        }' <<END
$links
END
    )
}

marked() { # files of living -> the processes with the mark of start.sh. All at once; of two files and more tail names each.
    $as tail -c +1 "$@" /dev/null 2>/dev/null | tr '\000' '\n' | awk '
        /^==> \/proc\/[0-9]+\/environ <==$/ { split($2, part, "/"); process = part[3] }
        $0 == "DISKBENCH_TRIAL=" ENVIRON["state"] { print process }'
}

if [ -d "$state" ]; then
    tries=0
    # shellcheck disable=SC2086 # paths of the kernel
    while living; [ -n "$environs" ] && pids=$(marked $environs) && [ -n "$pids" ]; do
        tries=$((tries + 1))
        if [ "$tries" -gt 150 ]; then echo "processes $(echo $pids) do not end"; exit 1; fi
        if [ "$tries" -gt 100 ]; then signal=KILL; else signal=TERM; fi
        $as kill "-$signal" $pids 2>/dev/null
        [ "$tries" = 1 ] || sleep 0.05 # most end at once
    done
fi
if [ -n "$mount" ]; then
    if [ -n "$(mounted_below "$mount")" ]; then
        $as umount "$mount" || { echo "$mount is still mounted"; exit 1; }
    fi
    work=
fi
# A user who may write to the directory above may have replaced it: then it is not removed.
if [ -n "$work" ] && { [ -e "$work" ] || [ -L "$work" ]; }; then
    if [ -L "$work" ] || ! [ -O "$work" ] || { [ -e "$state/work.id" ] && ! place_is "$work" "$state/work.id"; }; then
        echo "$work is not the directory that diskbench made: it is left as it is, and $state with it"
        exit 1
    fi
fi
claims= # of the trial on disks: see lock.sh. Their names hold no blanks
for claim in /run/lock /dev/shm /tmp; do
    claim=$claim/${state##*/}.claim
    if [ -f "$claim" ] && [ ! -L "$claim" ]; then claims="$claims $claim"; fi
done
gone() { # paths -> removed, with what lies in them on the same filesystem
    if rm -rf --one-file-system -- "$@" 2>/dev/null || $as rm -rf --one-file-system -- "$@" 2>/dev/null; then return 0; fi
    if rm -f --one-file-system 2>/dev/null; then return 1; fi # else busybox, which has no such option
    rm -rf -- "$@" 2>/dev/null || $as rm -rf -- "$@"
}

set --
for path in "$work" "$state"; do
    if [ -n "$path" ] && [ -e "$path" ]; then set -- "$@" "$path"; fi
done
if [ $# != 0 ]; then held_by=$(mounted_below "$@"); else held_by=; fi
if [ -n "$held_by" ]; then
    [ -z "$claims" ] || gone $claims
    echo "$held_by holds a mount"
    exit 1
fi
[ $# = 0 ] && [ -z "$claims" ] || gone $claims "$@"
for path in "$@"; do
    [ ! -e "$path" ] || { echo "$path"; exit 1; }
done
exit 0
