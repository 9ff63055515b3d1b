# Given before this text: attached (yes, or nothing); after it: the body of `list`. Prints the disks
# as they were before ours came, and writes them down the first time; ends with 3 where that is too
# late. /var/tmp outlives a reboot.
remember() {
    file=/var/tmp/diskbench-disks-before
    if [ ! -s "$file" ]; then
        [ -z "$attached" ] || exit 3
        (umask 077 && { echo written; list; } >"$file.$$") && mv "$file.$$" "$file"
    fi
    cat "$file"
}
list() {
