# All facts that diskbench reads of a machine, in one round trip. Given before this text: block.sh, lock.sh, path
# (a directory, a device, or nothing), is_device (0 or 1), look (a script, or nothing). Prints "== SECTION" lines, each followed by
# raw text, which facts.py parses. Must run under dash, bash and busybox.
export LC_ALL=C
section() { echo "== $1"; }
quietly() { "$@" 2>/dev/null; }

section clock; date +%s.%N
section id; id -u; id -un; uname -n
section sudo
if [ "$(id -u)" = 0 ]; then echo root; elif quietly sudo -n true; then echo yes; else echo no; fi
section uname; uname -r; uname -m
section os; quietly cat /etc/os-release || quietly cat /usr/lib/os-release
section cpuinfo
awk '/^(processor|model name|CPU implementer|CPU part|vendor_id|cpu |machine|Hardware)[ \t]*:/ { print }
     /^flags[ \t]*:/ && / hypervisor( |$)/ { h = 1 } END { if (h) print "hypervisor : yes" }' /proc/cpuinfo
section online; quietly getconf _NPROCESSORS_ONLN
section meminfo; quietly grep -E '^(MemTotal|MemAvailable):' /proc/meminfo
section loadavg; quietly cat /proc/loadavg
section virt; quietly systemd-detect-virt
section hypervisor; quietly cat /sys/hypervisor/type
section dmi
for f in sys_vendor product_name product_version chassis_asset_tag bios_vendor board_vendor board_asset_tag; do
    [ -r "/sys/class/dmi/id/$f" ] && echo "$f=$(block_value "/sys/class/dmi/id/$f")"
done
section cloudinit; quietly cat /run/cloud-init/instance-data.json
section systemd; [ -d /run/systemd/system ] && echo yes
section fio; quietly fio --version </dev/null | grep -m 1 '^fio-' # a wrapper may print other lines first
section engines; quietly fio --enghelp
section tools
for t in fio awk tar sha256sum setsid mkfifo gzip fincore blkid wipefs lsblk losetup mkfs.ext4 mkfs.xfs systemd-run sudo; do
    quietly command -v "$t" >/dev/null && echo "$t"
done
section cgroup; quietly cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/cpu.max

section boot; quietly cat /proc/sys/kernel/random/boot_id
# Hashed, as machine-id(5) requires where it is shown to others.
section machine; [ -s /etc/machine-id ] && { echo diskbench; cat /etc/machine-id; } | sha256sum | cut -c 1-32

number= at=$path
if [ "$is_device" = 1 ]; then
    number=$(block_number "$path")
elif [ -n "$path" ]; then
    # The device below a directory; where that does not exist yet, of its nearest existing ancestor.
    at=$path
    while [ ! -e "$at" ] && [ "$at" != / ]; do at=$(dirname "$at"); done
    section directory; quietly readlink -f "$at"
    section mountinfo; cat /proc/self/mountinfo
    section statfs; quietly stat -f -L -c '%S %b %a' "$at"
    section stat; quietly stat -L -c '%d' "$at"
    section mountid
    exec 3<"$at" && quietly sed -n 's/^mnt_id:[ \t]*//p' /proc/self/fdinfo/3
    exec 3<&-
    raw=$(stat -L -c %d "$at")
    number=$(((raw >> 8) & 0xfff)):$(((raw & 0xff) | ((raw >> 12) & 0xfff00)))
    if [ ! -e "/sys/dev/block/$number" ]; then # btrfs, overlay …: by the mount's source
        source=$(quietly findmnt -n -o SOURCE --target "$at")
        number=$(block_number "${source%%\[*}")
    fi
fi
if [ -n "$number" ] && [ -e "/sys/dev/block/$number" ]; then
    disk=$(block_disk "$number")
    # Through LVM, LUKS or MD to the one disk below, where there is one.
    while set -- "/sys/dev/block/$disk/slaves/"* && [ $# = 1 ] && [ -e "$1/dev" ]; do
        echo "== through"; basename "$(readlink -f "/sys/dev/block/$disk")"
        disk=$(block_disk "$(cat "$1/dev")")
    done
    section disk; block_describe "$disk"
fi
if [ -n "$path" ]; then
    disks=$(disk_words "$at")
    section disks; echo "$disks"
    section busy # which trials measure them
    if [ -n "$disks" ] && place=$(disk_place); then
        disk_rivals | while read -r line; do case $line in choosing) ;; *) disk_told "$line" ;; esac done
    fi
fi
# What else the caller looks at, in the same round trip; it may exit.
if [ -n "${look:-}" ]; then section look; (eval "$look"); fi
section end; date +%s.%N
