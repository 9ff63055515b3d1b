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
    shellcheck=shellcheck,ShellCheck,shellcheck
}

# build_simulator: that of vSphere takes minutes where it was never built, and would take them from
# the first test that needs it. Without it the tests say what is wrong.
build_simulator() {
  local as_root=()
  if [[ $(id -u) -ne 0 ]]; then as_root=(sudo env PATH="$PATH" PYTHONDONTWRITEBYTECODE=1); fi
  say "the simulator of vSphere"
  "${as_root[@]}" .venv/bin/python -m tests.cloud.emulator.vsphere.build </dev/null ||
    say "the simulator of vSphere was not built"
}

# run_tests PYTEST-ARGUMENT…: as root, since they make loop devices, mounts and users' files of their
# own. For another user that means sudo, and nothing of root's is left in the checkout.
run_tests() {
  if [[ $(id -u) -eq 0 ]]; then
    # Rewritten assertions are kept as bytecode: without, every process rewrites them all.
    PYTHONDONTWRITEBYTECODE='' .venv/bin/python -m pytest -n 3 -q "$@" </dev/null
    return
  fi
  say "with sudo, because the tests make loop devices and mounts of their own"
  local scratch status=0
  scratch=$(mktemp -d)
  sudo env PATH="$PATH" PYTHONDONTWRITEBYTECODE=1 HYPOTHESIS_STORAGE_DIRECTORY="$scratch" \
    UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS:-}" \
    .venv/bin/python -m pytest -n 3 -q -p no:cacheprovider "$@" </dev/null || status=$?
  sudo rm -rf "$scratch"
  return "$status"
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
    shellcheck --external-sources script/{demo,demo-cloud,test,check,lock,ground.sh,checks.sh} .ci/run \
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
