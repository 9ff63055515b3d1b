# What script/test and script/check share. Sourced after ground.sh.
# shellcheck shell=bash

install_test_tools() {
  install_missing \
    fio=fio,fio,fio \
    ssh=openssh-client,openssh-clients,- \
    sshd=openssh-server,openssh-server,- \
    sudo=sudo,sudo,- \
    curl=curl,curl,- \
    ip=iproute2,iproute,- \
    losetup=mount,util-linux,- \
    lsblk=util-linux,util-linux,- \
    mkfs.ext4=e2fsprogs,e2fsprogs,- \
    mkfs.xfs=xfsprogs,xfsprogs,- \
    initdb=postgresql,postgresql-server,postgresql \
    bonnie++=bonnie++,bonnie++,bonnie++ \
    hdparm=hdparm,hdparm,- \
    gcc='gcc libc6-dev,gcc glibc-devel,-' \
    qemu-system-x86_64=qemu-system-x86,qemu-system-x86-core,- \
    mmdebstrap=mmdebstrap,mmdebstrap,- \
    chromium=chromium,chromium,chromium \
    pango='libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0,pango,pango' \
    groff=groff-base,groff-base,groff \
    shellcheck=shellcheck,ShellCheck,shellcheck
}

# build_simulator: that of vSphere takes minutes where it was never built, and would take them from
# the first test that needs it. Without it the tests say what is wrong.
build_simulator() {
  local as_root=()
  if [[ $(id -u) -ne 0 ]]; then as_root=(sudo env PATH="$PATH" PYTHONDONTWRITEBYTECODE=1); fi
  say "the simulator of vSphere"
  "${as_root[@]}" .venv/bin/python -m emulators.vsphere.build </dev/null ||
    say "the simulator of vSphere was not built"
}

# run_tests PYTEST-ARGUMENT…: with the Python of $VENV (.venv unless set), as root, since they make
# loop devices, mounts and users' files of their own. For another user that means sudo, and nothing
# of root's is left in the checkout. Four processes: half of the time of two cores was waiting.
run_tests() {
  local venv=${VENV:-.venv}
  if [[ $(id -u) -eq 0 ]]; then
    # Rewritten assertions are kept as bytecode: without, every process rewrites them all. In a new
    # checkout one process makes them before the others, which would each (17 s of CPU less).
    local -x PYTHONDONTWRITEBYTECODE=''
    if [[ ! -d tests/__pycache__ ]]; then
      "$venv/bin/python" -m pytest --collect-only -q "$@" </dev/null >/dev/null 2>&1 || true
    fi
    "$venv/bin/python" -m pytest -n 4 -q --max-worker-restart=0 "$@" </dev/null
    return
  fi
  say "with sudo, because the tests make loop devices and mounts of their own"
  local scratch status=0
  scratch=$(mktemp -d)
  sudo env PATH="$PATH" PYTHONDONTWRITEBYTECODE=1 HYPOTHESIS_STORAGE_DIRECTORY="$scratch" \
    UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS:-}" \
    "$venv/bin/python" -m pytest -n 4 -q --max-worker-restart=0 -p no:cacheprovider "$@" </dev/null || status=$?
  sudo rm -rf "$scratch"
  return "$status"
}

# named_pythons: the versions of Python that pyproject.toml's classifiers name, one a line.
named_pythons() {
  sed -n 's/.*"Programming Language :: Python :: \(3\.[0-9]*\)".*/\1/p' pyproject.toml
}

# our_version: of the Python in .venv, as the classifiers name it.
our_version() { .venv/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])'; }

# find_python VERSION: the command of a Python of that version on this machine: on PATH, or one that
# pyenv has made. Nothing is fetched. Returns 1 where there is none.
find_python() {
  local one
  local candidates=("python$1" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python)
  for one in "${candidates[@]}"; do
    # A shim of pyenv is there also for a version that is not chosen.
    if "$one" -c "import sys; sys.exit(sys.version_info[:2] != tuple(map(int, '$1'.split('.'))))" \
      2>/dev/null; then
      printf '%s\n' "$one"
      return
    fi
  done
  return 1
}

# make_other_venv VERSION PYTHON: .venv-VERSION, as requirements/dev.txt locks it, with this checkout
# installed in it. Returns 1 where that fails: it is called where `set -e` does not hold. Bytecode
# is made of what the tests import, a part of all, but under sudo (run_tests), which leaves none.
make_other_venv() {
  local place=.venv-$1 uv stamp compiled=()
  if [[ $(id -u) -ne 0 ]]; then compiled=(--compile-bytecode); fi
  stamp="$("$2" -V) $(cat requirements/*.txt pyproject.toml | cksum)"
  if [[ $(cat "$place/stamp" 2>/dev/null) == "$stamp" ]]; then return; fi
  say "making $place from requirements/dev.txt (hashes checked)"
  uv=$(uv_command "$2") &&
    "$uv" venv --quiet --clear --python "$2" "$place" &&
    "$uv" pip install --quiet "${compiled[@]}" --python "$place/bin/python" --require-hashes \
      -r requirements/dev.txt &&
    "$uv" pip install --quiet --python "$place/bin/python" --no-deps \
      --build-constraints requirements/build.txt --editable . &&
    printf '%s\n' "$stamp" >"$place/stamp"
}

# make_other_venvs: that of every Python that the classifiers name and this machine has, where it is
# not there yet. Returns 0 also where one could not be made: other_pythons says so.
make_other_venvs() {
  local version python ours
  ours=$(our_version)
  for version in $(named_pythons); do
    if [[ $version != "$ours" ]] && python=$(find_python "$version"); then
      make_other_venv "$version" "$python" || true
    fi
  done
}

# list_failures: what the files in the directory $FAILURES name, as the last lines of the output: of
# a long log, CI keeps the end.
list_failures() {
  local file
  for file in "$FAILURES"/*; do
    if [[ $file == */log || ! -s $file ]]; then continue; fi
    say "failed, ${file##*/}:"
    cat "$file" >&2
  done
}

# other_pythons TESTS-ON-NEWEST TESTS-ON-OTHERS: a whole run on every Python that the classifiers name
# but that of .venv, and those of these tests that are fast (places without blanks, with blanks
# between them) on the newest of them, and on the others. Says which were run and which this machine
# does not have. Returns 1 when one fails.
# A passed one is a line of output. What failed stands in the directory $FAILURES (list_failures).
other_pythons() {
  local version python ours newest='' place failed=0 ran=() absent=() chosen=()
  ours=$(our_version)
  local -A found=()
  for version in $(named_pythons); do # the oldest first
    if [[ $version == "$ours" ]]; then continue; fi
    if python=$(find_python "$version"); then
      found[$version]=$python
      newest=$version
    else
      absent+=("$version")
    fi
  done
  for version in $(named_pythons); do
    if [[ -z ${found[$version]:-} ]]; then continue; fi
    if ! make_other_venv "$version" "${found[$version]}"; then
      failed=1
      ran+=("$version (NOT INSTALLED)")
      continue
    fi
    place=$2
    if [[ $version == "$newest" ]]; then place=$1; fi
    read -ra chosen <<<"$place"
    # Python 3.13 also warns of a database connection that a test's own rig leaves to the collector.
    if run_fast_tests ".venv-$version" --hypothesis-profile=repeatable \
      --failures-to="$FAILURES/Python $version" -W ignore::pytest.PytestUnraisableExceptionWarning \
      "${chosen[@]}" tests/run/test_python.py >"$FAILURES/log" 2>&1; then
      say "Python $version: $(tail -n 1 "$FAILURES/log" | tr -d '=')"
      ran+=("$version")
    else
      failed=1
      cat "$FAILURES/log"
      ran+=("$version (FAILED)")
    fi
  done
  say "Python $ours is that of .venv; also run: ${ran[*]:-none}; not on this machine: ${absent[*]:-none}"
  return "$failed"
}

# run_fast_tests VENV PYTEST-ARGUMENT…: what script/check runs, with the Python of VENV. Two
# processes for two cores: nothing here waits.
run_fast_tests() {
  local venv=$1
  shift
  VENV=$venv run_tests -m "not slow" -n 2 -p no:playwright -p no:nbmake \
    --hypothesis-profile=quick "$@"
}

# static_checks: what can be checked without running the program, side by side. Returns 1 when one
# of them fails.
static_checks() {
  local output failed=0 name
  output=$(mktemp -d)
  local -A running=()
  .venv/bin/python -m mypy >"$output/types" 2>&1 &
  running[types]=$!
  .venv/bin/lint-imports >"$output/layers" 2>&1 &
  running[layers]=$!
  .venv/bin/ruff format --check . >"$output/format" 2>&1 &
  running[format]=$!
  .venv/bin/ruff check . >"$output/lint" 2>&1 &
  running[lint]=$!
  if command -v shellcheck >/dev/null; then
    shellcheck --external-sources script/{demo,demo-cloud,test,check,bench,lock,ground.sh,checks.sh} .ci/run \
      >"$output/shell" 2>&1 &
    running[shell]=$!
  fi
  for name in "${!running[@]}"; do
    if wait "${running[$name]}"; then
      say "$name: ok"
    else
      failed=1
      say "$name: FAILED"
      cat "$output/$name" >&2
    fi
  done
  rm -rf "$output"
  return "$failed"
}
