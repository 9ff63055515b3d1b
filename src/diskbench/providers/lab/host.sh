# Process 1 of a lab host, in mount, UTS, IPC and PID namespaces of its own. $1 is the directory
# with what the host is given, $2 the sshd. Everything mounted here ends with the namespace.
set -eu
guest=$1 sshd=$2
mount --make-rprivate /

# A copy of a mount keeps its device busy after its owner unmounted it: only the system's own stay,
# and what the host's directory lies on.
while read -r _ _ _ _ at _; do
    case $at in *\\*) at=$(printf '%b' "$at") ;; esac
    case $at in
        / | /usr | /usr/* | /lib* | /bin | /sbin | /etc | /etc/* | /opt | /opt/* | /nix | /nix/* | /var) ;;
        /proc | /proc/* | /sys | /sys/* | /dev | /dev/*) ;;
        *) case $guest/ in "$at"/*) ;; *) umount -l "$at" 2>/dev/null || : ;; esac ;;
    esac
done </proc/self/mountinfo

cat "$guest/etc/hostname" >/proc/sys/kernel/hostname

new() { # mount point, options: a tmpfs at $guest/mnt, to be filled and then moved
    mount -t tmpfs -o "$2" lab "$guest/mnt"
}

new /dev mode=755,size=16m
cp -a /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty "$guest/mnt"
mkdir -p "$guest/mnt/pts" "$guest/mnt/shm" "$guest/mnt/disk/by-id" "$guest/mnt/disk/azure/scsi1"
ln -s pts/ptmx "$guest/mnt/ptmx"
ln -s /proc/self/fd "$guest/mnt/fd"
ln -s fd/0 "$guest/mnt/stdin"
ln -s fd/1 "$guest/mnt/stdout"
ln -s fd/2 "$guest/mnt/stderr"
mount --move "$guest/mnt" /dev
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts /dev/pts
mount -t tmpfs -o mode=1777 shm /dev/shm

new /run mode=755,size=64m
mkdir -p "$guest/mnt/sshd" "$guest/mnt/lab" "$guest/mnt/lock" "$guest/mnt/mount"
cp -p "$guest"/etc/* "$guest/mnt/lab"
mount -n --move "$guest/mnt" /run # -n: mount's own notes lie in the /run that was

# The machine's own homes are nobody's business here; /sys lists only disks that are the host's.
for at in /home /root /mnt; do mount -t tmpfs -o mode=755 lab "$at"; done
for at in /sys/block /sys/class/block; do mount -t tmpfs -o mode=755,size=1m lab "$at"; done
for file in passwd group shadow sudoers; do
    if [ -e "/run/lab/$file" ]; then mount --bind "/run/lab/$file" "/etc/$file"; fi
done
if [ -e /run/lab/user ]; then
    read -r user <"/run/lab/user"
    mkdir -m 700 "/home/$user"
    chown "$user:" "/home/$user"
fi

# The one that hides the host's own directory comes last.
case $guest in
    /tmp/*) mount --bind "$guest/var-tmp" /var/tmp; mount --bind "$guest/tmp" /tmp ;;
    *) mount --bind "$guest/tmp" /tmp; mount --bind "$guest/var-tmp" /var/tmp ;;
esac
mount -o remount,bind,ro / # nothing done here can touch the machine's own system
cd /
exec "$sshd" -D -e -f /run/lab/sshd_config
