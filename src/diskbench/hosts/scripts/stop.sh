# Ask a unit to stop; it ends fio, which keeps what it measured. Given before this text: state (the
# trial's directory), dir. The word is written before anything else, also where the unit was not
# started yet. Prints "ended", "running" or "new": whether a unit was there.
umask 077
[ -d "$state" ] || { echo gone; exit 0; }
mkdir -p "$dir"
cd "$dir" || exit 1
true 2>/dev/null >stop # on a disk that is full or read-only the signal alone ends it
[ -e exit ] && { echo ended; exit 0; }
read -r pid started boot 2>/dev/null <pid || { echo new; exit 0; }
echo running
[ "$boot" = "$(cat /proc/sys/kernel/random/boot_id)" ] || exit 0
read -r stat 2>/dev/null <"/proc/$pid/stat" || exit 0
set -- ${stat##*) }
shift 19
[ "$1" = "$started" ] && kill -TERM "$pid"
exit 0
