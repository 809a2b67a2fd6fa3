# SPDX-License-Identifier: MIT
# Programs that end badly or never come to a dispatch: a clear notice, a report, and the program's own exit status.
. "$(dirname "$0")/lib.sh"

for door in $doors; do
	# killed by a signal after two launches: report written, exit status 128 + n
	for signal in 9 15 11; do
		replay $door -n 3 -- "$programs/killme" 2 $signal
		expect_status $((128 + signal)) "$door, killed by $signal"
		expect_out 'killme: ok (1024 elements, 2 launches)' "$door, killed by $signal"
		expect_replayed add 2 3 "$door, killed by $signal"
		expect_err "^kreplay: .*killed by signal $signal " "$door, killed by $signal"
	done

	replay $door -n 3 -- "$programs/nohsa" 5
	expect_status 5 "$door, no HSA"
	expect_out 'nohsa: ok' "$door, no HSA"
	expect_err '^kreplay: no kernel dispatch was seen$' "$door, no HSA"
	expect_json totals dispatches 0 "$door, no HSA"

	# An instruction that no GPU has, in the first pass: the callback of the application's own queue hears of it.
	for passes in 1 3; do
		replay $door -n $passes -- "$programs/qerror"
		expect_status 3 "$door, queue error, $passes passes"
		expect_err '^qerror: queue [0-9]* stopped: ' "$door, queue error, $passes passes"
		expect_out_empty=$(cat "$folder/out")
		[ -z "$expect_out_empty" ] || fail "$door, queue error: standard output: $expect_out_empty"
		expect_json illegal dispatches 1 "$door, queue error, $passes passes"
		expect_json illegal replayed 0 "$door, queue error, $passes passes"
	done
	expect_json illegal declined '{"pass failed": 1}' "$door, queue error"

	replay $door -- "$folder/none"
	expect_status 127 "$door, no such program"
	replay $door -- "$examples"
	expect_status 126 "$door, a folder for a program"
	replay $door -t "$folder/none.so" -- "$programs/nohsa"
	expect_status 125 "$door, no such tool"
	replay $door -k '(' -- "$programs/nohsa"
	expect_status 125 "$door, not a regular expression"
	replay $door -n zero -- "$programs/nohsa"
	expect_status 125 "$door, not a number of passes"
	run "$kreplay" run --door $door -o "$programs/nohsa/r.json" -- "$programs/nohsa"
	expect_status 125 "$door, output that cannot be written"
done
finish
