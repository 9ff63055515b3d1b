# Where a program is, without the process that command -v costs in a substitution.
program() { # name -> $program: its path; empty where there is none
    program=
    set -f
    IFS=:
    for directory in $PATH; do
        [ -z "$program" ] && [ -f "$directory/$1" ] && [ -x "$directory/$1" ] && program=$directory/$1
    done
    unset IFS
    set +f
}
