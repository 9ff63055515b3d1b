#!/usr/bin/env bash
# Measures the disk below a directory in a CI job: installs diskbench, runs it, and leaves
#   diskbench/junit.xml     a case per step, a failure per missed condition
#   diskbench/summary.md    the result, also on the job's page of GitHub
#   diskbench/page.html     the page with charts
# Settings are environment variables; all are optional:
#   DISKBENCH_PATH      directory to measure in (the working directory)
#   DISKBENCH_PROFILE   profile (quick)
#   DISKBENCH_FAIL_IF   conditions, one a line: p99 > 10ms
#   DISKBENCH_OPTIONS   further options of `diskbench run`, as in a shell: --runs 3
#   DISKBENCH           the command, if it is installed
# The exit code is that of `diskbench run`: 1 if a condition was met or the measurement failed.
set -euo pipefail

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
mkdir -p diskbench

if [[ -z ${DISKBENCH:-} ]]; then
  if ! command -v fio >/dev/null || ! python3 -c 'import ensurepip' 2>/dev/null; then
    as_root=$([[ $EUID -eq 0 ]] || echo sudo)
    $as_root apt-get update -q
    $as_root apt-get install -q --yes --no-install-recommends fio python3 python3-venv ca-certificates
  fi
  venv=${RUNNER_TEMP:-${TMPDIR:-/tmp}}/diskbench-venv
  python3 -m venv "$venv"
  "$venv/bin/pip" install -q --require-hashes -r "$source_dir/requirements/run.txt"
  "$venv/bin/pip" install -q --no-deps "$source_dir"
  DISKBENCH=$venv/bin/diskbench
fi

arguments=(--path "${DISKBENCH_PATH:-.}" --profile "${DISKBENCH_PROFILE:-quick}")
while IFS= read -r condition; do
  [[ -z ${condition//[[:space:]]/} ]] || arguments+=(--fail-if "$condition")
done <<<"${DISKBENCH_FAIL_IF:-}"
# xargs splits as a shell does, and expands nothing.
mapfile -t further < <(xargs -n 1 printf '%s\n' <<<"${DISKBENCH_OPTIONS:-}")
for word in "${further[@]}"; do
  [[ -z $word ]] || arguments+=("$word")
done

code=0
"$DISKBENCH" run "${arguments[@]}" --junit diskbench/junit.xml || code=$?
# 2 is a mistake in the settings: nothing was measured.
if [[ $code -ne 2 ]]; then
  "$DISKBENCH" report last --quiet -o diskbench/summary.md -o diskbench/page.html
  if [[ -n ${GITHUB_STEP_SUMMARY:-} ]]; then
    cat diskbench/summary.md >>"$GITHUB_STEP_SUMMARY"
  fi
fi
exit "$code"
