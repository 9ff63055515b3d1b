# Prints every whole disk that has a node in /dev, and the links that clouds know disks by:
#   disk NODE MAJOR:MINOR SECTORS IDENTITY SERIAL MODEL WWN NSID     link PATH MAJOR:MINOR
# with tabs between. A SCSI disk has its WWN for identity. It goes by /dev and not by /sys, which a
# container shares with its host.
first_line() {
    line=
    if [ -r "$1" ]; then IFS= read -r line <"$1" || :; fi
    printf '%s' "$line" | sed 's/^[[:space:]]*//;s/[[:space:]]*$//'
}
number_of() { # a node or a link to it
    set -- $(stat -L -c '%t %T' "$1")
    echo "$((0x$1)):$((0x$2))"
}
udev_serial() { # number -> what udev read: the kernel has no attribute for the designator of Google's SCSI disks
    if [ -r "/run/udev/data/b$1" ]; then sed -n 's/^E:ID_SERIAL=//p' "/run/udev/data/b$1"; fi
}
for node in /dev/nvme*n[0-9] /dev/nvme*n[0-9][0-9] /dev/xvd[a-z] /dev/xvd[a-z][a-z] /dev/sd[a-z] /dev/sd[a-z][a-z]; do
    [ -b "$node" ] && [ ! -L "$node" ] || continue
    number=$(number_of "$node")
    sys=/sys/dev/block/$number
    [ -r "$sys/size" ] && [ ! -e "$sys/partition" ] || continue
    serial=$(first_line "$sys/device/serial")
    wwn=$(first_line "$sys/wwid") # of an NVMe namespace
    [ -n "$wwn" ] || wwn=$(first_line "$sys/device/wwid")
    identity=$serial
    [ -n "$identity" ] || identity=$wwn
    [ -n "$identity" ] || identity=$(udev_serial "$number")
    [ -n "$identity" ] || identity=$(first_line "$sys/loop/backing_file")
    [ -n "$identity" ] || identity=$(first_line "$sys/device/nodename")
    printf 'disk\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$node" "$number" "$(first_line "$sys/size")" \
        "$identity" "$serial" "$(first_line "$sys/device/model")" "$wwn" \
        "$(first_line "$sys/nsid")"
done
for link in /dev/disk/by-id/nvme-Amazon* /dev/disk/by-id/google-* /dev/disk/by-id/wwn-0x* \
    /dev/disk/azure/scsi1/lun* /dev/disk/azure/data/by-lun/* /dev/disk/azure/resource \
    /dev/disk/azure/local/by-serial/*; do
    if [ -b "$link" ]; then printf 'link\t%s\t%s\n' "$link" "$(number_of "$link")"; fi
done
