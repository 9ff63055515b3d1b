# Process 1 of a lab host, in mount, UTS, IPC and PID namespaces of its own. $1 is the directory
# with what the host is given, $2 the sshd. Everything mounted here ends with the namespace.
set -eu
umask 022 # the usual one of a host, whatever that of this machine is: sshd refuses an open /run
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

# From here on by relative paths (-c leaves them so): what is mounted may hide the directory.
cd "$guest"
new() { mount -c -t tmpfs -o "$1" lab ./mnt; } # options: a tmpfs to be filled and then moved

new mode=755,size=16m
cp -a /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty mnt
mkdir -p mnt/pts mnt/shm mnt/disk/by-id mnt/disk/azure/scsi1
ln -s pts/ptmx mnt/ptmx
ln -s /proc/self/fd mnt/fd
ln -s fd/0 mnt/stdin
ln -s fd/1 mnt/stdout
ln -s fd/2 mnt/stderr
mount -c --move ./mnt /dev
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts /dev/pts
mount -t tmpfs -o mode=1777 shm /dev/shm

new mode=755,size=64m
mkdir -p mnt/sshd mnt/lab mnt/lock mnt/mount
cp -p etc/* mnt/lab
mount -n -c --move ./mnt /run # -n: mount's own notes lie in the /run that was

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

mount -c --bind ./tmp /tmp
mount -c --bind ./var-tmp /var/tmp
mount -o remount,bind,ro / # nothing done here can touch the machine's own system
cd /
exec "$sshd" -D -e -f /run/lab/sshd_config
