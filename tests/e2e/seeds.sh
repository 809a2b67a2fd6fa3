# SPDX-License-Identifier: MIT
# seeds.sh KREPLAY BUILD-ROOT SCRIPT NAME: SCRIPT.sh's test NAME under many mixtures of switches, KREPLAY_TEST_ROUNDS (3)
# seeds each. What fails is printed, with its seed; a seed makes similar runs, not equal ones.
set -u
here=$(dirname "$0")
kreplay=$1 build=$2 script=$3 name=$4
output=$(mktemp "${TMPDIR:-/tmp}/kreplay-seeds-XXXXXX")
trap 'rm -f "$output"' EXIT
failed=0 runs=0 round=0
unset KREPLAY_NIGHTLY # many runs, not long ones

while [ $round -lt "${KREPLAY_TEST_ROUNDS:-3}" ]; do
	round=$((round + 1))
	for switches in reorder delay private-vram reorder,delay reorder,private-vram delay,private-vram delay=2000 \
		doorbell=1 threads=1,reorder threads=4,reorder,delay,private-vram,doorbell=1; do
		runs=$((runs + 1))
		sh "$here/$script.sh" "$kreplay" "$build" "$name" "$switches" >"$output" 2>&1 && continue
		failed=$((failed + 1))
		cat "$output"
	done
done
echo "$runs runs, $failed failed"
[ $failed -eq 0 ]
