# SPDX-License-Identifier: MIT
# Which dispatches are replayed: -k, --dispatch and the variables behind them.
. "$(dirname "$0")/lib.sh"

# counter: bump, bump, bump, report
for door in $doors; do
	while read -r flags bump report; do
		replay $door -n 4 $(echo "$flags" | tr _ ' ') -- "$examples/counter"
		what="$door, $flags"
		expect_status 0 "$what"
		expect_json bump dispatches 3 "$what"
		expect_json bump replayed "$bump" "$what"
		expect_json bump passes $((bump * 4)) "$what"
		expect_json bump declined '{}' "$what"
		expect_json report dispatches 1 "$what"
		expect_json report replayed "$report" "$what"
		expect_json report passes $((report * 4)) "$what"
	done <<-'CASES'
		--dispatch_2 1 0
		--dispatch_2-3 2 0
		--dispatch_3- 1 1
		--dispatch_-2 2 0
		--dispatch_1_--dispatch_4 1 1
		--dispatch_5- 0 0
		--dispatch_1,3 2 0
		--dispatch_-1,3- 2 1
		--dispatch_1,2_--dispatch_4 2 1
		-k_^bump$ 3 0
		-k_p 3 1
		-k_nothing 0 0
		-k_bum_-k_^rep 3 1
		-k_b(um|an)p_--dispatch_1-2 2 0
		-k_report_--dispatch_1-3 0 0
	CASES

	loaded $door KREPLAY_DISPATCH=1,3-4 KREPLAY_OUTPUT="$folder/r.json" "$examples/counter"
	expect_json bump replayed 2 "$door, KREPLAY_DISPATCH"
	expect_json report replayed 1 "$door, KREPLAY_DISPATCH"
	loaded $door "KREPLAY_KERNEL=^none
^report" KREPLAY_OUTPUT="$folder/r.json" "$examples/counter"
	expect_json bump replayed 0 "$door, KREPLAY_KERNEL"
	expect_json report replayed 1 "$door, KREPLAY_KERNEL"
	expect_json report passes 3 "$door, KREPLAY_KERNEL"
done
finish
