# Keeps the system's own chores off a machine that is being measured: upgrades, trimming, indexing.
# For this boot only; chores that it does not have are passed over.
systemctl --quiet --runtime --no-block --now mask \
    apt-daily.timer apt-daily-upgrade.timer dnf-makecache.timer e2scrub_all.timer fstrim.timer \
    man-db.timer plocate-updatedb.timer unattended-upgrades.service update-notifier-download.timer \
    >/dev/null 2>&1 || :
