# SPDX-License-Identifier: MIT
# declines.sh KREPLAY BUILD-ROOT NAME [SWITCHES]. contract 6: each reason for a decline is in CONFIG EXIT, in the log
# (once, then counted) and in the report, and the dispatch runs once. Each that a program can meet comes up here.
. "$(dirname "$0")/stories.sh"

# declined KERNEL REASON COUNT WHAT: of the last run, with scenario_driver's lines or recorder's in the file driver
declined() {
	expect_json "$1" declined "{\"$2\": $3}" "$4: report"
	expect_json "$1" replayed 0 "$4: report"
	declined_line="^kreplay: .*$1 (dispatch [0-9]*) is not replayed: $2; others like it are only counted\$"
	[ "$(grep -c "$declined_line" "$folder/err")" -eq 1 ] || fail "$4: not one line in the log: $(cat "$folder/err")"
	declined_line="^(dispatch [0-9]+ declined: $2, |CONFIG EXIT id=[0-9]+ .* outcome=3 decline=$2 run=)"
	[ "$(grep -Ec "$declined_line" "$folder/driver")" -eq "$3" ] ||
		fail "$4: not $3 times in CONFIG EXIT: $(cat "$folder/driver")"
}

# beneath DOOR [NAME=VALUE...]: saxpy, its three dispatches driven by recorder.so, with calls below us that fail
beneath() {
	beneath_door=$1
	shift
	rm -f "$folder/r.json"
	case $beneath_door in
	preload) bare LD_PRELOAD="$library $tools/beneath.so" KREPLAY_TOOL="$tools/recorder.so" \
		KREPLAY_OUTPUT="$folder/r.json" E2E_LOG="$folder/driver" "$@" "$examples/saxpy" ;;
	*) bare LD_PRELOAD="$tools/beneath_table.so" HSA_TOOLS_LIB="$tools/beneath_table.so $library" \
		KREPLAY_TOOL="$tools/beneath_table.so:$tools/recorder.so" \
		KREPLAY_OUTPUT="$folder/r.json" E2E_LOG="$folder/driver" "$@" "$examples/saxpy" ;;
	esac
	expect_status 0 "$beneath_door, $*"
	expect_out 'saxpy: ok (65536 elements, 3 launches)' "$beneath_door, $*"
}

for door in $doors; do
	beneath $door
	expect_replayed saxpy 3 3 "$door, nothing fails"
	beneath $door KREPLAY_SNAPSHOT=device E2E_FAIL_PHASE=snapshot E2E_FAIL_POOL=1
	declined saxpy 'out of memory' 3 "$door, out of memory"
	beneath $door KREPLAY_SNAPSHOT=full E2E_FAIL_PHASE=snapshot E2E_FAIL_COPY=1
	declined saxpy 'copy failed' 3 "$door, copy failed"
	beneath $door E2E_FAIL_LOADER=1
	declined saxpy 'variables unknown' 3 "$door, variables unknown"
	beneath $door KREPLAY_BUDGET=1
	declined saxpy 'over budget' 3 "$door, over budget"
	beneath $door E2E_COUNT=0
	declined saxpy 'bad pass count' 3 "$door, bad pass count"

	# the queue's error callback is the application's own; nothing runs after it
	E2E_LOG=$folder/driver replay $door -t "$tools/recorder.so" -- "$programs/qerror"
	expect_status 3 "$door, pass failed"
	declined illegal 'pass failed' 1 "$door, pass failed"

	# a kernel on another queue goes on and on; the state of each queue is said
	tell $door drain_timeout --drain-timeout 1
	declined mix 'drain timeout' 2 "$door, drain timeout"
	expect_err '^kreplay: window: the agent did not come to rest within 1 s: kernel mix runs once$' \
		"$door, drain timeout"
	[ "$(grep -c '^kreplay: queue: queue [0-9]*: read [0-9]*, written [0-9]*, ' "$folder/err")" -eq 2 ] ||
		fail "$door, drain timeout: not the state of both queues: $(cat "$folder/err")"

	# the first pass ends, the second does not: named are pass, kernel and queue, and what is waited for
	tell $door stuck_pass --drain-timeout 3 --log warn,wait=info
	declined handshake 'stuck pass' 1 "$door, stuck pass"
	what="$door, stuck pass"
	expect_err '^kreplay: window: pass 1 of kernel handshake (dispatch 1, queue [0-9]*) has not finished after ' "$what"
	expect_err '^kreplay: wait: for a pass to finish: dispatch 1 of kernel handshake on queue [0-9]* has waited ' "$what"

	# and one that never will: the program would hang, which it does not do without us
	what="$door, stuck for ever"
	replay "$door" -t "$tools/scenario_driver.so" --drain-timeout 1 -- "$scenarios" stuck_for_ever
	expect_status 134 "$what"
	expect_err '^kreplay: completer: pass 1 of kernel handshake (dispatch 1, queue [0-9]*) was left to itself and does not end: ' \
		"$what"
done
finish
