# What can be checked without running the program. Sourced by script/test and script/check after
# ground.sh; the slow ones run side by side. Returns 1 when one of them fails.
# shellcheck shell=bash

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
    shellcheck --external-sources script/{demo,test,check,ground.sh,static.sh} .ci/run \
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
