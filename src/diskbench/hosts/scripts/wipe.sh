# Remove the filesystem that diskbench made, known by its UUID, and no other. Given before this text:
# block.sh, device, device_number, uuid.
export LC_ALL=C
[ "$(block_number "$device")" = "$device_number" ] || exit 0
[ "$(blkid -p -o value -s UUID "$device" 2>/dev/null)" = "$uuid" ] || exit 0
wipefs -q -a "$device"
