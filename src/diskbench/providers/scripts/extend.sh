# Moves the dead-man's switch that this machine has. Given before this text: expires and calendar as
# for deadman.sh, which follows, and left (seconds that the controller still wants; nothing: leave
# the limit on the uptime as it is). Exit 3: there is no such switch here, and none was made.
if [ ! -e /etc/systemd/system/diskbench-expire.timer ] ||
    ! systemctl show diskbench-expire.timer >/dev/null 2>&1; then # no systemd runs here
    echo "this machine has no dead-man's switch of diskbench" >&2
    exit 3
fi
if [ -n "$left" ]; then
    read -r up rest </proc/uptime
    limit=$((${up%%.*} + left))
else
    limit=$(sed -n 's/^expires=[0-9]* limit=\([0-9]*\)$/\1/p' /etc/diskbench/expire.sh)
fi
