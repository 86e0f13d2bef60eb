# Steps of .ci/run and scripts/nightly: source it in the root of the tree.

test_jobs=$((2 * $(nproc)))  # system tests are idle for half of their time
mkdir -p build
slow_tests=build/slow-tests
: >"$slow_tests"

# The time of each step, and the slowest tests of all.
print_times() {
  printf '\ntime per step:\n'
  printf '%s\n' "${step_times[@]}"
  if [[ -s $slow_tests ]]; then
    printf '\nthe ten slowest tests:\n'
    sort -rn "$slow_tests" | awk 'NR <= 10 { printf "%5d s  %s  %s\n", $1, $2, $3 }'
  fi
}

# note_tests PRESET: keeps the times of the tests that ctest ran last.
note_tests() {
  local log=build/$1/Testing/Temporary/LastTest.log
  [[ -f $log ]] || return 0
  awk -v preset="$1" '/^[0-9]+\/[0-9]+ Test: / { name = $3 }
    /^Test time = / { printf "%.0f %s %s\n", $4, preset, name }' "$log" >>"$slow_tests"
}

# test_preset PRESET CTEST-OPTIONS…: builds the preset and runs its tests.
test_preset() {
  local preset=$1 status=0
  shift
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset" --parallel "$(nproc)"
  ctest --preset "$preset" --parallel "$test_jobs" "$@" || status=$?
  note_tests "$preset"
  scripts/check-skips "$preset" || status=$?
  return "$status"
}
