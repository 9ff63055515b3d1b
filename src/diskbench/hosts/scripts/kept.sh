# Which files of a step are evidence. The working directory is the step's.

kept_files() { # -> $kept: their names, one on each line. skipped.txt lists those that are nearly all holes, which would
    # be read for minutes: "SIZE WRITTEN NAME" (bytes). Nothing of fio or diskbench writes such a file.
    kept='' skipped='' holes='
'
    set --
    for name in *; do
        case $name in
            alive | pid | pid.* | exit | exit.new | stop | reserve | ready.* | new.* | pipe.* | SHA256SUMS | skipped.txt) continue ;;
        esac
        # FIFOs and devices are read without end.
        [ ! -f "$name" ] || [ -L "$name" ] || set -- "$@" "$name"
    done
    while read -r size blocks name; do
        [ "${#size}" -gt 8 ] && [ "$((blocks * 512000))" -lt "$size" ] || continue
        skipped="$skipped$size $((blocks * 512)) $name
" holes="$holes$name
"
    done <<END
$(stat -c '%s %b %n' -- "$@" 2>/dev/null)
END
    for name in "$@"; do
        case $holes in
            *"
$name
"*) ;;
            *)
                kept="$kept$name
"
                ;;
        esac
    done
    if [ -n "$skipped" ] && printf %s "$skipped" >skipped.txt; then
        kept="${kept}skipped.txt
"
    fi
}
