# Prints where a disk, or a partition of it, is mounted; nothing where it is not. Given before this
# text: number (MAJOR:MINOR of the disk).
for device in "/sys/dev/block/$number" /sys/dev/block/"$number"/*/; do
    [ -r "$device/dev" ] || continue
    read -r wanted <"$device/dev"
    while read -r _ _ found _ point _; do
        if [ "$found" = "$wanted" ]; then
            printf '%b\n' "$point" # blanks are written as \040 there
            exit 0
        fi
    done </proc/self/mountinfo
done
