# Take away everything of one trial; any number of times. Given before this text: state, work
# (directories, or nothing), mount (a mount point under state, or nothing). Prints what is left.
export LC_ALL=C
as=
[ "$(id -u)" = 0 ] || { sudo -n true 2>/dev/null && as='sudo -n'; }

living() { # processes of the trial: those that stand in its directory (fio's workers leave its group)
    $as ls -l /proc/[0-9]*/cwd 2>/dev/null | awk -v s="$state" '
        { at = index($0, " -> "); to = substr($0, at + 4) }
        at && (to == s || index(to, s "/") == 1) {
            split(substr($0, index($0, "/proc/")), part, "/")
            print part[3]
        }'
}

mounts_under() { # path -> whether anything is mounted on it or below it
    awk -v p="$1" '$5 == p || index($5, p "/") == 1 { found = 1 } END { exit !found }' /proc/self/mountinfo
}

if [ -d "$state" ]; then
    tries=0
    while pids=$(living) && [ -n "$pids" ]; do
        tries=$((tries + 1))
        if [ "$tries" -gt 150 ]; then echo "processes $(echo $pids) do not end"; exit 1; fi
        if [ "$tries" -gt 100 ]; then signal=KILL; else signal=TERM; fi
        $as kill "-$signal" $pids 2>/dev/null
        sleep 0.05
    done
fi
if [ -n "$mount" ] && mounts_under "$mount"; then
    $as umount "$mount" || { echo "$mount is still mounted"; exit 1; }
    work=
fi
for path in "$work" "$state"; do
    [ -n "$path" ] && [ -e "$path" ] || continue
    if mounts_under "$path"; then echo "$path holds a mount"; exit 1; fi
    rm -rf -- "$path" 2>/dev/null || $as rm -rf -- "$path"
    [ ! -e "$path" ] || { echo "$path"; exit 1; }
done
exit 0
