# SPDX-License-Identifier: MIT
# The tutorial's plugin, as the tutorial says it is used, and what it prints.
. "$(dirname "$0")/lib.sh"

for door in $doors; do
	TEMPLATE_TOOL_PASSES=4 TEMPLATE_TOOL_OUTPUT=$folder/tool.txt \
		replay $door -t "$examples/template_tool.so" -- "$examples/counter"
	expect_status 0 "$door"
	expect_out 'counter: ok (1024 work-items, 4 launches)' "$door"
	expect_replayed bump 3 4 "$door"
	# Bytes: launches 0, 1, 2 and 3, work-items 0, 0x400, 0x800 and 0xc00. One byte of each, every time; then both words
	# are written to new memory: 3 and 0xc00.
	sed 's/, [0-9.]* \.\. [0-9.]* us,/, T,/' "$folder/tool.txt" >"$folder/tool"
	expect_same "$folder/tool" "$door, what the tool says" <<-'TEXT'
		bump: 4 passes, T, 2 bytes changed
		bump: 4 passes, T, 2 bytes changed
		bump: 4 passes, T, 2 bytes changed
		report: 4 passes, T, 2 bytes changed
		4 dispatches replayed
	TEXT
	[ "$(grep -cE ', [0-9]+\.[0-9] \.\. [0-9]+\.[0-9] us,' "$folder/tool.txt")" -eq 4 ] ||
		fail "$door: no times in: $(cat "$folder/tool.txt")"

	TEMPLATE_TOOL_OUTPUT=$folder/tool.txt loaded $door KREPLAY_TOOL="$examples/template_tool.so" "$examples/matmul"
	expect_status 0 "$door, by the environment"
	grep -qE '^matmul: 5 passes, ' "$folder/tool.txt" || fail "$door, by the environment: $(cat "$folder/tool.txt")"
done
finish
