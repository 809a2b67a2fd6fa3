#!/bin/sh
# SPDX-License-Identifier: MIT
# Every test, from a clean checkout on a fresh Debian 12: installs what is missing, builds, runs `meson test` with the
# arguments given, and ends with the line "N passed, N failed, N skipped". With KREPLAY_NIGHTLY=1 the long ones too.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/tests/lib/setup.sh"

if [ -n "${KREPLAY_NIGHTLY:-}" ]; then
	test_packages="$test_packages $nightly_packages"
	set -- --setup nightly "$@"
fi
setup_packages $quickstart_packages $test_packages
setup_build

results=$root/build/meson-logs/testlog.json
rm -f "$results"
status=0
meson test -C "$root/build" --no-rebuild --print-errorlogs "$@" || status=$?
[ -f "$results" ] || setup_die "meson test left no results (exit status $status)"

# one JSON object a line for each test
count() {
	grep -cE "\"result\": \"($1)\"" "$results" || true
}
passed=$(count 'OK|EXPECTEDFAIL')
skipped=$(count 'SKIP|IGNORED')
failed=$(($(grep -c '"result": "' "$results" || true) - passed - skipped))

echo "$passed passed, $failed failed, $skipped skipped"
[ "$status" -eq 0 ] && [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
