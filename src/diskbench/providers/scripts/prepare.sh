# Installs what a measurement needs, and says in a file how that ended. Given before this text:
# packages. Runs in cloud-init's last stage, when SSH is up already. A mirror may be away for a while
# and apt may be busy with the image's own upgrades: tried for ten minutes.
set -u
export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 LC_ALL=C
state=/var/lib/diskbench
mkdir -p "$state"
read -r begin rest </proc/uptime

installed() {
    if command -v dpkg-query >/dev/null 2>&1; then
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
    elif command -v rpm >/dev/null 2>&1; then
        rpm -q "$1" >/dev/null 2>&1
    else
        command -v "$1" >/dev/null 2>&1
    fi
}

missing() { for p in $packages; do installed "$p" || printf '%s ' "$p"; done; }

install() { # packages
    if command -v apt-get >/dev/null 2>&1; then
        apt="apt-get -q -y -o DPkg::Lock::Timeout=120 -o Acquire::Retries=3"
        apt="$apt -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20"
        $apt update
        $apt install --no-install-recommends "$@"
    elif command -v dnf >/dev/null 2>&1; then
        dnf -q -y --setopt=timeout=20 install "$@"
    else
        yum -q -y install "$@"
    fi
}

pause=5
left=$(missing)
while [ -n "$left" ]; do
    # shellcheck disable=SC2086 # split on purpose: one word a package
    install $left </dev/null >"$state/install.log" 2>&1
    left=$(missing)
    [ -n "$left" ] || break
    cat "$state/install.log"
    read -r now rest </proc/uptime
    if [ $((${now%%.*} - ${begin%%.*})) -ge 600 ]; then
        echo "could not install $left: $(tail -n 1 "$state/install.log")" >"$state/failed"
        exit 1
    fi
    sleep "$pause"
    [ "$pause" -ge 40 ] || pause=$((pause * 2))
done
: >"$state/ready"
