# The machine's counters, once for each input line; for any awk. Given: unix (the time of the
# start), zero (the uptime then), number (MAJOR:MINOR of each disk, or nothing), beat (a file that gets
# a sign of life, or nothing), began and ended (two readings "UPTIME UNIX", or nothing: then .between gets the
# seconds by the uptime, what the clock was moved by, the Unix time of the end, and the kernel's count of processes
# that it killed for want of memory). Read by fio/samples.py. No process is started: it runs beside fio.

function uptime(   line, part) {
    getline line <"/proc/uptime"; close("/proc/uptime")
    split(line, part, " ")
    return part[1]
}

BEGIN { n = split(number, id, " "); for (i = 1; i <= n; i++) ours[id[i]] = 1 }

{
    printf "@ %.9f\n", unix + uptime() - zero
    while ((getline line <"/proc/stat") > 0)
        if (line ~ /^(cpu|ctxt)/) print line
    close("/proc/stat")
    getline line <"/proc/loadavg"; close("/proc/loadavg")
    print line
    while ((getline line <"/proc/diskstats") > 0) {
        split(line, part, " ")
        if ((part[1] ":" part[2]) in ours) print line
    }
    close("/proc/diskstats")
    fflush()
    if (beat != "") { print "#" >>beat; fflush(beat) }
}

END {
    if (ended == "") exit
    split(began, from, " "); split(ended, to, " ")
    lasted = to[1] - from[1]; moved = to[2] - from[2] - lasted
    if (moved * moved < 0.25) moved = 0 # dates and uptimes are read one after the other
    while ((getline line <"/proc/vmstat") > 0) if (line ~ /^oom_kill /) { split(line, part, " "); kills = part[2] }
    printf "%.2f %.3f %.6f %s\n", lasted, moved, from[2] + lasted, kills >".between"
}
