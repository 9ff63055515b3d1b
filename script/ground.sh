# What script/demo, script/test and script/check stand on: system packages and a locked .venv.
# Sourced, not run. Everything it does to the machine it says first.
# shellcheck shell=bash

# --help: the lines at the top of the script that sources this, before anything is done.
if [[ ${1-} == -h || ${1-} == --help ]]; then
  awk 'NR > 1 && !/^#/ { exit } NR > 1 { sub(/^# ?/, ""); print }' "$0"
  exit 0
fi

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
PATH="$PATH:/usr/sbin:/sbin" # Debian leaves these out for users; mkfs, losetup and sshd live there
export DEBIAN_FRONTEND=noninteractive UV_PYTHON_DOWNLOADS=never PIP_DISABLE_PIP_VERSION_CHECK=1
# Trust what the system trusts, as git and pip do: a company's own certificate authority included.
if [[ -e /etc/ssl/certs/ca-certificates.crt || -e /etc/pki/tls/certs/ca-bundle.crt ]]; then
  export UV_SYSTEM_CERTS=${UV_SYSTEM_CERTS:-true}
fi

say() { printf '==> %s\n' "$*" >&2; }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 2
}

# have COMMAND: is it there? PostgreSQL's server programs are not on any PATH in Debian.
have() {
  case $1 in
    initdb) command -v initdb || compgen -G '/usr/lib/postgresql/*/bin/initdb' ;;
    venv) "$(python_3_11)" -c 'import ensurepip, venv' ;;
    pango) "$(python_3_11)" -c 'import ctypes.util; assert ctypes.util.find_library("pangoft2-1.0")' ;;
    *) command -v "$1" ;;
  esac >/dev/null 2>&1
}

# python_3_11: the first Python on PATH that is new enough.
python_3_11() {
  local name
  for name in python3 python3.14 python3.13 python3.12 python3.11; do
    if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      printf '%s\n' "$name"
      return
    fi
  done
  die "no Python 3.11 or newer found: install one, then run this again"
}

# install_missing COMMAND=APT,DNF,BREW…: install the packages whose command is not there; several
# of one system stand with spaces between them.
# A dash means that this package manager has none, or that its system brings the command along.
install_missing() {
  local manager='' column=0 wanted=() packages=() entry command
  for manager in apt-get dnf brew none; do
    column=$((column + 1))
    if command -v "$manager" >/dev/null; then break; fi
  done
  for entry in "$@"; do
    command=${entry%%=*}
    if have "$command"; then continue; fi
    read -ra packages <<<"$(cut -d, -f"$column" <<<"${entry#*=}")"
    if [[ $manager == none || ${packages[*]} == - || ${#packages[@]} -eq 0 ]]; then
      die "'$command' is missing and this script does not know how to install it here"
    fi
    wanted+=("${packages[@]}")
  done
  if ((${#wanted[@]} == 0)); then return; fi
  local as_root=()
  if [[ $manager != brew && $(id -u) -ne 0 ]]; then
    command -v sudo >/dev/null ||
      die "not root and no sudo; have somebody run: $manager install ${wanted[*]}"
    as_root=(sudo)
  fi
  say "installing with ${as_root[*]:+${as_root[*]} }$manager: ${wanted[*]}"
  case $manager in
    apt-get)
      "${as_root[@]}" apt-get update -qq </dev/null
      "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "${wanted[@]}" </dev/null >/dev/null
      ;;
    dnf) "${as_root[@]}" dnf install -y -q "${wanted[@]}" </dev/null ;;
    brew) brew install --quiet "${wanted[@]}" </dev/null ;;
  esac
}

# uv_on_path: for tests that build a wheel.
uv_on_path() { PATH="$(dirname "$(uv_command "$(python_3_11)")"):$PATH"; }

# make_venv NAME: .venv as requirements/NAME.txt locks it, with this checkout installed in it.
# The stamp names what was installed, so that the next call returns at once.
make_venv() {
  local python stamp
  python=$(python_3_11)
  stamp="$1 $("$python" -V) $(cat requirements/*.txt pyproject.toml | cksum)"
  if [[ -x .venv/bin/diskbench && $(cat .venv/stamp 2>/dev/null) == "$stamp" ]]; then return; fi
  # The development environment holds everything that a run needs.
  if [[ $1 == run && $(cat .venv/stamp 2>/dev/null) == "dev${stamp#run}" ]]; then return; fi
  have venv || install_missing "venv=$python-venv,-,-" # Debian splits it off
  local uv
  uv=$(uv_command "$python")
  say "making .venv from requirements/$1.txt (hashes checked)"
  "$uv" venv --quiet --clear --python "$python" .venv
  "$uv" pip install --quiet --compile-bytecode --python .venv/bin/python --require-hashes -r "requirements/$1.txt"
  "$uv" pip install --quiet --python .venv/bin/python --no-deps \
    --build-constraints requirements/build.txt --editable .
  printf '%s\n' "$stamp" >.venv/stamp
}

# uv_command PYTHON: uv from PATH, else the locked one in a place of its own: a system's Python may
# refuse to install into itself (PEP 668), and nothing is fetched but from the package registry.
uv_command() {
  if command -v uv >/dev/null && uv --version >/dev/null 2>&1; then
    command -v uv
    return
  fi
  local place=$PWD/.venv-uv
  if [[ ! -x $place/bin/uv ]]; then
    say "installing uv into $place (requirements/uv.txt, hashes checked)"
    "$1" -m venv --clear "$place" >&2
    "$place/bin/pip" install --quiet --require-hashes -r requirements/uv.txt >&2
  fi
  printf '%s\n' "$place/bin/uv"
}
