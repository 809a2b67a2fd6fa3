# SPDX-License-Identifier: MIT
# A HIP program: the HIP runtime's own way with queues, kernel arguments and memory.
. "$(dirname "$0")/lib.sh"
program=$programs/hip_saxpy
[ -x "$program" ] || skip 'no hipcc was found when the build was configured'
kernel='saxpy(float*, float const*, float, int)'

for door in $doors; do
	for passes in 1 2 5; do
		replay $door -n $passes -- "$program" 4
		what="HIP, $door, $passes passes"
		expect_status 0 "$what"
		expect_out 'hip_saxpy: ok (5000 elements, 4 launches)' "$what"
		expect_replayed "$kernel" 4 $passes "$what"
		expect_json "$kernel" mangled '"_Z5saxpyPfPKffi"' "$what"
	done
	KREPLAY_TEST_NO_RESTORE=1 replay $door -n 2 -- "$program" 4
	expect_status 1 "HIP, $door, not restored"
	expect_err '^hip_saxpy: wrong: ' "HIP, $door, not restored"
	# HIP never calls hsa_shut_down: the report comes all the same
	loaded $door KREPLAY_PASSES=3 KREPLAY_OUTPUT="$folder/r.json" "$program" 4
	expect_status 0 "HIP, $door, by the environment"
	expect_replayed "$kernel" 4 3 "HIP, $door, by the environment"
	replay $door -n 3 -k '^saxpy\(float' --dispatch 2-3 -- "$program" 4
	expect_status 0 "HIP, $door, chosen"
	expect_json "$kernel" replayed 2 "HIP, $door, chosen"
done
finish
