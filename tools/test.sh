#!/usr/bin/env bash
# cargo test and pytest. `make test` calls this; the environment and the extension must exist.
# Tests with the clock of the machine are mostly idle, and everything else that is long takes what they leave of the
# cores. The runners' own closing lines are repeated at the end, where a reader of a long log looks for them.
set -uo pipefail
cd "$(dirname "$0")/.."
log=$(mktemp -d)
real_time_job=''
trap '[ -z "$real_time_job" ] || kill -- "-$real_time_job" 2>/dev/null; rm -rf "$log"' EXIT
failed=0

# Runs only while nothing else wants the core (SCHED_IDLE), where the machine can.
idle=(nice -n 19)
if command -v chrt >/dev/null && chrt --idle 0 true 2>/dev/null; then idle=(chrt --idle 0); fi

set -m # a process group of its own, which ends with this script
real_time=(.venv/bin/python -m pytest -o "cache_dir=$log/cache" -m real_time tests)
"${real_time[@]}" --durations=20 >"$log/real_time" 2>&1 &
real_time_job=$!
set +m

"${idle[@]}" cargo test --workspace --locked --no-run || failed=1
# Tests that compare with an unoptimised build take what cargo test has built, and fail where it is not there.
export AIRLANE_CARGO_TEST="${CARGO_TARGET_DIR:-$PWD/target}/debug"
"${idle[@]}" .venv/bin/python -m pytest --durations=20 -n auto --dist loadfile -m "not real_time" 2>&1 | tee "$log/pytest"
[ "${PIPESTATUS[0]}" -eq 0 ] || failed=1

real_time_status=0
wait "$real_time_job" || real_time_status=$?
real_time_job=''
cat "$log/real_time"
if [ "$real_time_status" -eq 1 ]; then # some tests failed, and the run came to its end
    printf '\nREPEATED, now that the cores are free: the tests in real time that failed\n'
    "${real_time[@]}" --last-failed --last-failed-no-failures none 2>&1 | tee "$log/repeated"
    real_time_status=${PIPESTATUS[0]}
fi
[ "$real_time_status" -eq 0 ] || failed=1
# Some of these are in real time, too, and come when the cores are free.
cargo test --workspace --locked 2>&1 | tee "$log/cargo"
[ "${PIPESTATUS[0]}" -eq 0 ] || failed=1

printf '\ncargo test:\n'
grep -hE '^(test result:|error)' "$log/cargo"
printf 'pytest:\n'
tail -qn 1 "$log/pytest" "$log/real_time" "$log/repeated" 2>/dev/null
[ "$failed" -eq 0 ]
