# All facts that diskbench reads of a machine, in one round trip. Given before this text: block.sh, lock.sh, path
# (a directory, a device, or nothing), is_device (0 or 1), look (a script, or nothing), known_fio (the
# identity of the fio whose version and engines the caller knows, or nothing). Prints "== SECTION" lines, each followed by
# raw text, which facts.py parses. Must run under dash, bash and busybox.
export LC_ALL=C
section() { echo "== $1"; }
quietly() { "$@" 2>/dev/null; }

section clock; date +%s.%N
section id
user=$(id) # uid=NUMBER(NAME) gid=..., without the name where the number has none
user=${user#uid=}
user_id=${user%%[( ]*}
user=${user#"$user_id"}
case $user in
    \(*)
        user=${user#?}
        user=${user%%)*}
        ;;
    *) user= ;;
esac
read -r nodename release machine <<END
$(uname -nrm)
END
printf '%s\n' "$user_id" "$user" "$nodename"
section sudo
if [ "$user_id" = 0 ]; then echo root; elif quietly sudo -n true; then echo yes; else echo no; fi
section uname; printf '%s\n' "$release" "$machine"
# One process for all of these files: it costs what each of them would.
awk -v is_directory="$([ -z "$path" ] || [ "$is_device" = 1 ] || echo 1)" 'function copy(title, file, pattern,   line, n) {
        if (title != "") print "== " title
        while ((getline line <file) > 0) { n++; if (line ~ pattern) print line }
        close(file)
        return n
    }
    BEGIN {
        if (!copy("os", "/etc/os-release")) copy("", "/usr/lib/os-release")
        copy("cpuinfo", "/proc/cpuinfo", "^(processor|model name|CPU implementer|CPU part|vendor_id|cpu |machine|Hardware)[ \t]*:")
        while ((getline line <"/proc/cpuinfo") > 0) if (line ~ /^flags[ \t]*:/ && line ~ / hypervisor( |$)/) { print "hypervisor : yes"; break }
        copy("meminfo", "/proc/meminfo", "^(MemTotal|MemAvailable):")
        copy("loadavg", "/proc/loadavg")
        copy("hypervisor", "/sys/hypervisor/type")
        copy("cgroup", "/sys/fs/cgroup/memory.max"); copy("", "/sys/fs/cgroup/cpu.max")
        copy("boot", "/proc/sys/kernel/random/boot_id")
        if (is_directory) copy("mountinfo", "/proc/self/mountinfo")
        if ((getline line <"/sys/devices/system/cpu/online") > 0) { # 0-3,6
            ranges = split(line, range, ",")
            for (i = 1; i <= ranges; i++) { ends = split(range[i], end, "-"); count += end[ends] - end[1] + 1 }
            print "== online"; print count
        }
    }'
[ -r /sys/devices/system/cpu/online ] || { section online; quietly getconf _NPROCESSORS_ONLN; }
section virt; quietly systemd-detect-virt
section dmi
for f in sys_vendor product_name product_version chassis_asset_tag bios_vendor board_vendor board_asset_tag; do
    [ ! -r "/sys/class/dmi/id/$f" ] || block_line "$f" "/sys/class/dmi/id/$f"
done
section cloudinit; [ ! -r /run/cloud-init/instance-data.json ] || quietly cat /run/cloud-init/instance-data.json
section systemd; [ -d /run/systemd/system ] && echo yes
section tools
for t in fio awk tar sha256sum setsid mkfifo gzip fincore blkid wipefs lsblk losetup mkfs.ext4 mkfs.xfs systemd-run sudo; do
    quietly command -v "$t" >/dev/null && echo "$t"
done
# Hashed, as machine-id(5) requires where it is shown to others.
section machine
if [ -s /etc/machine-id ]; then
    block_read /etc/machine-id
    sha256sum <<END # 32 digits are kept
diskbench
$value
END
fi

# The device below a directory; where that does not exist yet, of its nearest existing ancestor.
at=$path
if [ -n "$path" ] && [ "$is_device" != 1 ]; then
    while [ ! -e "$at" ] && [ "$at" != / ]; do at=$(dirname "$at"); done
fi
fio=$(command -v fio 2>/dev/null) || fio=
disk_look ${at:+"$at"} ${fio:+"$fio"}

looked=
case $fio in /*) disk_raw "$fio" || : ;; esac
section fiofile; echo "$looked"
if [ -z "$looked" ] || [ "$looked" != "${known_fio:-}" ]; then
    # A wrapper may print other lines, too. The two run side by side; each writes its few lines at once.
    said=$(quietly fio --enghelp </dev/null & quietly fio --version </dev/null; wait)
    section fio
    while IFS= read -r line; do case $line in fio-*) echo "$line"; break ;; esac done <<END
$said
END
    section engines; printf '%s\n' "$said"
fi

number= statfs=
if [ "$is_device" = 1 ]; then
    number=$(block_number "$path")
elif [ -n "$path" ]; then
    real=
    case $at in /*) [ ! -d "$at" ] || block_real "$at" ;; esac
    [ -n "$real" ] || real=$(quietly readlink -f "$at")
    section directory; echo "$real"
    statfs=$(quietly stat -f -L -c '%S %b %a' "$at")
    section statfs; echo "$statfs"
    disk_raw "$at" || raw=0
    section stat; echo "$raw"
    section mountid
    while read -r key value; do [ "$key" != mnt_id: ] || echo "$value"; done 3<"$at" </proc/self/fdinfo/3
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
        block_real "/sys/dev/block/$disk"
        echo "== through"; echo "${real##*/}"
        block_read "$1/dev"
        disk=$(block_disk "$value")
    done
    section disk; block_describe "$disk"
fi
if [ -n "$path" ]; then
    disks=$(disk_words "$at")
    section disks; echo "$disks"
    section busy # which trials measure them
    if [ -n "$disks" ] && disk_place; then
        disk_rivals | while read -r line; do case $line in choosing) ;; *) disk_told "$line" ;; esac done
    fi
fi
# What else the caller looks at, in the same round trip; it may exit.
if [ -n "${look:-}" ]; then section look; (eval "$look"); fi
section end; date +%s.%N
