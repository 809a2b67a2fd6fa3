# SPDX-License-Identifier: MIT
# One example through both doors: a fixed number of passes, and an indefinite loop that a tool leaves.
# contract 2: the rows of replay_pass_count; contract 3: the program sees nothing of it.
. "$(dirname "$0")/lib.sh"
name=$1
set -- $(grep "^$name " "$(dirname "$0")/examples.txt")
line="$name: $(echo "$3" | tr _ ' ')"
shift 3

expect_example() {
	expect_status 0 "$4"
	expect_out "$line" "$4"
	total=0
	for kernel in $1; do
		expect_replayed "${kernel%=*}" "${kernel#*=}" "$2" "$4"
		total=$((total + ${kernel#*=}))
	done
	expect_json totals dispatches "$total" "$4"
	expect_json totals declined 0 "$4"
	if [ "$2" -gt 1 ]; then
		expect_json totals passes $((total * $2)) "$4"
	fi
	grep -q '"dropped": 0' "$folder/r.json" || fail "$4: records dropped"
}

for door in $doors; do
	for passes in 1 2 5; do
		replay $door -n $passes -- "$examples/$name"
		expect_example "$*" $passes $door "$name, $door, $passes passes"
	done
	# three passes, then replay_continue says no
	E2E_COUNT=0 E2E_LAST=2 E2E_LOG=/dev/null replay $door -t "$tools/recorder.so" -- "$examples/$name"
	expect_example "$*" 3 $door "$name, $door, indefinite"
done
finish
