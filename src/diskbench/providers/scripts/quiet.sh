# Keeps the system's own chores off a machine that is being measured: upgrades, trimming, indexing,
# and snapd, which soon after the first boot of Ubuntu's images seeds and refreshes its snaps on the
# root disk. Masked for good, as the machine is; systemd learns it with the next reload.
for chore in apt-daily.timer apt-daily-upgrade.timer dnf-makecache.timer e2scrub_all.timer \
    fstrim.timer man-db.timer plocate-updatedb.timer snapd.seeded.service snapd.service \
    snapd.socket unattended-upgrades.service update-notifier-download.timer; do
    ln -sf /dev/null "/etc/systemd/system/$chore" || :
done
