# The machine's counters, once for each input line; for any awk. Given: unix (the time of the
# start), zero (the uptime then), number (MAJOR:MINOR of each disk, or nothing), beat (a file that gets
# a sign of life, or nothing). Read by fio/samples.py. No process is started: it runs beside fio.

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
