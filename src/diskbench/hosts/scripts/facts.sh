# All facts that diskbench reads of a machine, in one round trip. Given before this text: block.sh, lock.sh, program.sh, path
# (a directory, a device, or nothing), is_device (0 or 1), look (a script, or nothing), known_fio (the
# identity of the fio whose version and engines the caller knows, or nothing). Prints "== SECTION" lines, each followed by
# raw text, which facts.py parses. Must run under dash, bash and busybox.
export LC_ALL=C
section() { echo "== $1"; }
quietly() { "$@" 2>/dev/null; }

section clock; date +%s.%N
section id
while read -r key user_id rest; do [ "$key" != Uid: ] || break; done </proc/self/status # the real one
user= # none where the number has no name
while IFS=: read -r name rest; do
    rest=${rest#*:}
    case $rest in "$user_id":*) user=$name; break ;; esac
done 2>/dev/null </etc/passwd
[ -n "$user" ] || user=$(quietly id -un) || user=
for name in hostname osrelease arch; do # arch since Linux 6.1
    block_read "/proc/sys/kernel/$name"
    eval "$name=\$value"
done
if [ -z "$hostname" ] || [ -z "$osrelease" ] || [ -z "$arch" ]; then
    read -r hostname osrelease arch <<END
$(uname -nrm)
END
fi
printf '%s\n' "$user_id" "$user" "$hostname"
section sudo
if [ "$user_id" = 0 ]; then echo root; elif quietly sudo -n true; then echo yes; else echo no; fi
section uname; printf '%s\n' "$osrelease" "$arch"
is_directory=
[ -z "$path" ] || [ "$is_device" = 1 ] || is_directory=1
# One process for all of these files: it costs what each of them would.
awk -v is_directory="$is_directory" 'function copy(title, file, pattern,   line, n) {
        if (title != "") print "== " title
        while ((getline line <file) > 0) { n++; if (line ~ pattern) print line }
        close(file)
        return n
    }
    function trimmed(text) { gsub(/^ +| +$/, "", text); return text }
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
        print "== dmi"
        n = split("sys_vendor product_name product_version chassis_asset_tag bios_vendor board_vendor board_asset_tag", name, " ")
        for (i = 1; i <= n; i++) {
            line = ""
            if ((getline line <("/sys/class/dmi/id/" name[i])) >= 0) print name[i] "=" trimmed(line)
        }
    }'
[ -r /sys/devices/system/cpu/online ] || { section online; quietly getconf _NPROCESSORS_ONLN; }
section virt; quietly systemd-detect-virt
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
leading= # the directories that lead to it, through symbolic links, too: one on each line
lead_to() { # path -> behind those in $leading
    case $1 in
        *[!/]*) ;;
        *)
            leading="$leading/
"
            return
            ;;
    esac
    set -- "${1%"${1##*[!/]}"}" # without slashes at its end
    lead_to "${1%/*}"
    if ! [ -L "$1" ]; then
        leading="$leading$1
"
        return
    fi
    set -- "$1" "$(readlink "$1")"
    case $2 in /*) lead_to "$2" ;; *) lead_to "${1%/*}/$2" ;; esac
}
if [ -n "${look:-}" ] && [ "$user_id" = 0 ] && [ -n "$is_directory" ] && [ -d "$path" ]; then lead_to "$path"; fi
program fio
fio=$program
set -f
IFS='
'
disk_look ${at:+"$at"} ${fio:+"$fio"} $leading
unset IFS
set +f

looked=
case $fio in /*) disk_raw "$fio" || : ;; esac
section fiofile; echo "$looked"
if [ -z "$looked" ] || [ "$looked" != "${known_fio:-}" ]; then
    # A wrapper may print other lines, too. The two run side by side; each writes its few lines at once.
    said=$(fio --enghelp </dev/null 2>/dev/null & fio --version </dev/null 2>/dev/null; wait)
    section fio
    while IFS= read -r line; do case $line in fio-*) echo "$line"; break ;; esac done <<END
$said
END
    section engines; printf '%s\n' "$said"
fi

number= statfs=
if [ "$is_device" = 1 ]; then
    block_look "$path"
elif [ -n "$path" ]; then
    real=
    case $at in /*) [ ! -d "$at" ] || block_real "$at" ;; esac
    [ -n "$real" ] || real=$(quietly readlink -f "$at")
    section directory; echo "$real"
    statfs=$(stat -f -L -c '%S %b %a' "$at" 2>/dev/null)
    section statfs; echo "$statfs"
    disk_raw "$at" || raw=0
    section stat; echo "$raw"
    section mountid
    while read -r key value; do [ "$key" != mnt_id: ] || echo "$value"; done 3<"$at" </proc/self/fdinfo/3
    number=$(((raw >> 8) & 0xfff)):$(((raw & 0xff) | ((raw >> 12) & 0xfff00)))
    if [ ! -e "/sys/dev/block/$number" ]; then # btrfs, overlay …: by the mount's source
        source=$(quietly findmnt -n -o SOURCE --target "$at")
        block_look "${source%%\[*}"
    fi
fi
if [ -n "$number" ] && [ -e "/sys/dev/block/$number" ]; then
    block_disk "$number"
    # Through LVM, LUKS or MD to the one disk below, where there is one.
    while set -- "/sys/dev/block/$disk/slaves/"* && [ $# = 1 ] && [ -e "$1/dev" ]; do
        block_real "/sys/dev/block/$disk"
        echo "== through"; echo "${real##*/}"
        block_read "$1/dev"
        block_disk "$value"
    done
    section disk; block_describe "$disk"
fi
if [ -n "$path" ]; then
    disk_words "$at"
    disks=$words
    section disks; echo "$disks"
    section busy # which trials measure them
    claim= # none is ours
    if [ -n "$disks" ] && disk_place && ! disk_alone; then
        disk_rivals | while read -r line; do
            disk_sentence "$line"
            echo "$sentence"
        done
    fi
fi
# What else the caller looks at, in the same round trip; it may return.
also() { eval "$look"; }
if [ -n "${look:-}" ]; then section look; also; fi
section end; date +%s.%N
