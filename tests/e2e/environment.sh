# SPDX-License-Identifier: MIT
# The library without the launcher: the variables alone make it work, and without them it does nothing.
. "$(dirname "$0")/lib.sh"
program=$examples/saxpy
line='saxpy: ok (65536 elements, 3 launches)'

# expect_table PASSES WHAT: the table is there, once, and counts these passes
expect_table() {
	expect_status 0 "$2"
	expect_out "$line" "$2"
	expect_err "^saxpy  *3  *3  *0  *$1 " "$2"
	[ "$(grep -c '^kernel ' "$folder/err")" -eq 1 ] && [ "$(grep -c '^total: ' "$folder/err")" -eq 1 ] ||
		fail "$2: not one table: $(cat "$folder/err")"
	expect_no_err '^kreplay: ' "$2"
}

for door in $doors; do
	loaded $door KREPLAY_PASSES=3 "$program"
	expect_table 9 "$door, KREPLAY_PASSES"
	loaded $door KREPLAY_PASSES=2 KREPLAY_OUTPUT="$folder/r.json" "$program"
	expect_table 6 "$door, KREPLAY_OUTPUT"
	expect_replayed saxpy 3 2 "$door, KREPLAY_OUTPUT"
	loaded $door KREPLAY_KERNEL='^saxpy$' "$program"
	expect_table 9 "$door, KREPLAY_KERNEL and the default number of passes"

	# inert: nothing set, or nothing that asks for anything
	for setting in A=B KREPLAY_PASSES= KREPLAY_LOG=debug KREPLAY_TEST_NO_RESTORE=1; do
		loaded $door $setting "$program"
		expect_status 0 "$door, inert with $setting"
		expect_out "$line" "$door, inert with $setting"
		expect_err_lines 0 "$door, inert with $setting"
	done

	# a value that cannot be: one line, and the program runs as if we were not there
	loaded $door KREPLAY_PASSES=many "$program"
	expect_status 0 "$door, bad value"
	expect_out "$line" "$door, bad value"
	expect_err '^kreplay: .*KREPLAY_PASSES.*many' "$door, bad value"
	expect_err_lines 1 "$door, bad value"

	# a tool that is not there: said, and the program runs
	loaded $door KREPLAY_TOOL="$folder/none.so" "$program"
	expect_status 0 "$door, no such tool"
	expect_out "$line" "$door, no such tool"
	expect_err "^kreplay: .*$folder/none.so" "$door, no such tool"
done
finish
