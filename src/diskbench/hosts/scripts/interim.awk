# Reads what fio prints while and after it runs; for any awk (mawk, gawk, busybox, bwk).
#
# stdout    the newest complete document of fio and all text outside of such documents
# LIVE      one line for each interim document, tab-separated: Unix time (s), runtime (s), then for
#           read, write and trim: ios, bytes, sum of latency (ns), number of latencies
#
# The runtime is that of the direction that has run longest. The job_runtime of a group
# (group_reporting) is the sum of its jobs (3.33, tried), the runtime of a direction the longest.
#
# A document goes from a line that is "{" to one that is "}": fio indents everything between. It is
# fio's own when it begins with fio's version and holds a whole list of jobs.

function begin(   i, d) {
    inside = 1; lines = 0; whole = 0; stamp = 0; runtime = 0; elapsed = 0; in_jobs = 0; way = ""; block = ""
    for (i = 1; i <= 3; i++) { d = name[i]; ios[d] = 0; moved[d] = 0; lat[d] = 0; n[d] = 0 }
}

function give_up(   i) { # what was held for a document is text
    for (i = 0; i < lines; i++) print doc[i]
    inside = 0
}

function value(   v) {
    v = $0
    sub(/^[^:]*: */, "", v)
    sub(/,$/, "", v)
    return v + 0
}

function finish_way() {
    if (way == "") return
    if (count == 0 && mean > 0) count = total      # fio before 3.17 gives latencies no N
    ios[way] += total; moved[way] += size; lat[way] += mean * count; n[way] += count
    way = ""
}

function emit(   i, d) {
    printf "%.3f\t%.3f", stamp, runtime ? runtime : elapsed >> LIVE
    for (i = 1; i <= 3; i++) {
        d = name[i]
        printf "\t%.0f\t%.0f\t%.0f\t%.0f", ios[d], moved[d], lat[d], n[d] >> LIVE
    }
    printf "\n" >> LIVE
    fflush(LIVE)
}

BEGIN { name[1] = "read"; name[2] = "write"; name[3] = "trim"; inside = 0; kept = 0 }

$0 == "{" { if (inside) give_up(); begin() }

!inside { print; next }

{ doc[lines++] = $0 }

lines == 2 && $0 !~ /^  "fio version" : "fio-/ { give_up(); next }

$0 == "}" {
    finish_way()
    if (!whole) { give_up(); next }
    inside = 0
    for (i = 0; i < lines; i++) newest[i] = doc[i]
    kept = lines
    emit()
    next
}

# Everything of interest is indented by at most ten spaces; histogram bins lie deeper.
/^             / { next }

/^  "timestamp_ms" :/ { stamp = value() / 1000; next }
/^  "timestamp" :/    { if (stamp == 0) stamp = value(); next }
/^  "jobs" :/         { in_jobs = 1; next }
/^  \]/               { if (in_jobs) whole = 1; in_jobs = 0; next }
!in_jobs              { next }

/^      "(read|write|trim|mixed)" : \{/ {
    way = $1; gsub(/"/, "", way)
    if (way == "mixed") way = "read"
    total = 0; size = 0; mean = 0; count = 0; block = ""
    next
}
/^      \}/ { finish_way(); next }
/^      "elapsed" :/ { if (value() > elapsed) elapsed = value(); next } # s, while nothing is done yet

way != "" && /^        "total_ios" :/ { total = value(); next }
way != "" && /^        "runtime" :/   { if (value() / 1000 > runtime) runtime = value() / 1000; next }
way != "" && /^        "io_bytes" :/  { size = value(); next }
way != "" && /^        "lat_ns" : \{/ { block = "lat"; next }
way != "" && /^        \}/            { block = ""; next }
block == "lat" && /^          "mean" :/ { mean = value(); next }
block == "lat" && /^          "N" :/    { count = value(); next }

END {
    for (i = 0; i < kept; i++) print newest[i]
    if (inside) for (i = 0; i < lines; i++) print doc[i]
}
