# The dead-man's switch: a timer that powers this machine off when its lease has ended, with nobody
# asking it to. Given before this text: expires (Unix seconds), calendar (the same for systemd, UTC)
# and limit (seconds of uptime after which it goes off whatever the clock says).
# No unit waits for anything: they work however little of the boot succeeds.
set -eu
umask 022
units=/etc/systemd/system
put() { cat >"$1.new" && mv -f "$1.new" "$1"; }

mkdir -p /etc/diskbench
# Looks for itself, so that whatever starts it (a corrected clock, a boot, a quarter of an hour) is
# harmless before the time. What cannot be read counts as over.
put /etc/diskbench/expire.sh <<END
expires=$expires limit=$limit
read -r up rest </proc/uptime
if [ "\$(date +%s)" -lt "\$expires" ] && [ "\${up%%.*}" -lt "\$limit" ]; then exit 0; fi
echo "the lease of this machine has ended: powering off"
systemctl -i --no-block poweroff
sleep 120 # then with less and less regard for what hangs
systemctl --force poweroff
sleep 30
systemctl --force --force poweroff
sleep 10
echo o >/proc/sysrq-trigger
END

put "$units/diskbench-expire.service" <<END
[Unit]
Description=Power off when the diskbench lease of this machine has ended
DefaultDependencies=no
[Service]
Type=oneshot
ExecStart=/bin/sh /etc/diskbench/expire.sh
# So that whoever looks at a dead machine is told why.
StandardOutput=journal+console
END

put "$units/diskbench-expire.timer" <<END
[Unit]
Description=End of the diskbench lease of this machine
DefaultDependencies=no
[Timer]
OnCalendar=$calendar
OnBootSec=$limit
OnBootSec=30
OnUnitInactiveSec=900
AccuracySec=1
[Install]
WantedBy=timers.target
END

# As `systemctl enable` does, without its second reload: each takes a slow guest seconds of its boot.
mkdir -p "$units/timers.target.wants"
ln -sf ../diskbench-expire.timer "$units/timers.target.wants/diskbench-expire.timer"
systemctl daemon-reload
systemctl restart diskbench-expire.timer
