# Ask a unit to stop; it ends fio, which keeps what it measured. Given before this text: dir.
cd "$dir" 2>/dev/null || exit 0
: >stop
[ -e exit ] && exit 0
read -r pid started boot 2>/dev/null <pid || exit 0
[ "$boot" = "$(cat /proc/sys/kernel/random/boot_id)" ] || exit 0
read -r stat 2>/dev/null <"/proc/$pid/stat" || exit 0
set -- ${stat##*) }
shift 19
[ "$1" = "$started" ] && kill -TERM "$pid"
exit 0
