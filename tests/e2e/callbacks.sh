# SPDX-License-Identifier: MIT
# contract 2: the whole order of callbacks and upcalls, line by line, and what the payload holds in each. The program
# is matmul: one dispatch.
. "$(dirname "$0")/lib.sh"
log=$folder/log

# record DOOR WHAT: with what is set, leaves the lines in the log
record() {
	rm -f "$log"
	E2E_LOG=$log replay "$1" -t "$tools/recorder.so" -- "$examples/matmul"
	expect_status 0 "$1, $2"
	expect_out 'matmul: ok (96 x 96 elements, 1 launches)' "$1, $2"
}

# pass NUMBER TOTAL CONTINUE
pass() {
	cat <<-TEXT
		PASS ENTER id=1 pass=$1 total=$2 count=0 continue=0 start=1 stop=1 outcome=0 decline=none run=$1 memory=1
		enqueue ENTER id=1 pass=$1 total=$2
		enqueue EXIT id=1 pass=$1 total=$2
		complete - id=1 pass=$1 total=$2 times
		PASS EXIT id=1 pass=$1 total=$2 count=0 continue=$3 start=0 stop=0 outcome=0 decline=none run=$(($1 + 1)) memory=1
	TEXT
}

# restore PASS TOTAL
restore() {
	for phase in ENTER EXIT; do
		echo "RESTORE $phase id=1 pass=$1 total=$2 $rest run=$(($1 + 1)) memory=1"
	done
}

# The upcalls that a payload still holds in SNAPSHOT, RESTORE and CONFIG EXIT are nobody's business: they are left out here.
normal() {
	sed -E '/^(SNAPSHOT|RESTORE|CONFIG EXIT)/s/ count=[01] continue=[01]/ count=? continue=?/' "$log"
}
rest='count=? continue=? start=0 stop=0 outcome=0 decline=none'

snapshot() {
	echo "SNAPSHOT ENTER id=1 pass=0 total=$1 $rest run=0 memory=0"
	echo "SNAPSHOT EXIT id=1 pass=0 total=$1 $rest run=0 memory=1"
}

config_enter='CONFIG ENTER id=1 pass=0 total=0 count=0 continue=0 start=0 stop=0 outcome=0 decline=none run=0 memory=0'

# config_exit TOTAL RUN
config_exit() {
	echo "CONFIG EXIT id=1 pass=0 total=$1 count=? continue=? start=0 stop=0 outcome=2 decline=none run=$2 memory=1"
}

# A dispatch that runs once has CONFIG ENTER and EXIT alone; its records come when they come, the three of them in order.
expect_once() {
	grep -E '^(enqueue|complete)' "$log" >"$folder/records"
	expect_same "$folder/records" "$1, records" <<-TEXT
		enqueue ENTER id=1 pass=0 total=1
		enqueue EXIT id=1 pass=0 total=1
		complete - id=1 pass=0 total=1 times
	TEXT
	grep -vE '^(enqueue|complete)' "$log" | sed -E 's/^(CONFIG EXIT.*) total=[0-9]+ count=[01] continue=[01]/\1/' >"$folder/once"
	expect_same "$folder/once" "$1"
}

for door in $doors; do
	E2E_COUNT=2 record $door '2 passes'
	normal >"$folder/found"
	expect_same "$folder/found" "$door, 2 passes" <<-TEXT
		$config_enter
		pass_count id=1
		$(snapshot 2)
		$(pass 0 2 0)
		$(restore 0 2)
		$(pass 1 2 0)
		$(config_exit 2 2)
		finalize
	TEXT

	# contract 2: not asked after the last pass of a fixed count: for three passes it sees 0 and 1, and cannot extend it
	E2E_COUNT=3 E2E_LAST=9 record $door '3 passes with continue'
	normal >"$folder/found"
	expect_same "$folder/found" "$door, 3 passes with continue" <<-TEXT
		$config_enter
		pass_count id=1
		$(snapshot 3)
		$(pass 0 3 1)
		continue pass=0 total=3 answer=1
		$(restore 0 3)
		$(pass 1 3 1)
		continue pass=1 total=3 answer=1
		$(restore 1 3)
		$(pass 2 3 1)
		$(config_exit 3 3)
		finalize
	TEXT

	# contract 2: it may say no before the count is reached
	E2E_COUNT=9 E2E_LAST=0 record $door 'left early'
	normal >"$folder/found"
	expect_same "$folder/found" "$door, left early" <<-TEXT
		$config_enter
		pass_count id=1
		$(snapshot 9)
		$(pass 0 9 1)
		continue pass=0 total=9 answer=0
		$(config_exit 9 1)
		finalize
	TEXT

	# contract 2: indefinite: asked after every pass, total_passes reads 0
	E2E_COUNT=0 E2E_LAST=1 record $door 'indefinite'
	normal >"$folder/found"
	expect_same "$folder/found" "$door, indefinite" <<-TEXT
		$config_enter
		pass_count id=1
		$(snapshot 0)
		$(pass 0 0 1)
		continue pass=0 total=0 answer=1
		$(restore 0 0)
		$(pass 1 0 1)
		continue pass=1 total=0 answer=0
		$(config_exit 0 2)
		finalize
	TEXT

	# contract 2: PASS EXIT puts another one in its place, for that decision only; here it ends the loop
	E2E_COUNT=0 E2E_LAST=5 E2E_SWITCH=1 record $door 'replaced in PASS EXIT'
	grep -E '^(other )?continue' "$log" >"$folder/found"
	expect_same "$folder/found" "$door, replaced in PASS EXIT" <<-TEXT
		continue pass=0 total=0 answer=1
		other continue pass=1 total=0 answer=0
	TEXT
	# ... and it may be put there where there was none
	E2E_COUNT=4 E2E_SWITCH=2 record $door 'set in PASS EXIT'
	grep -E '^(other )?continue' "$log" >"$folder/found"
	expect_same "$folder/found" "$door, set in PASS EXIT" <<-TEXT
		other continue pass=2 total=4 answer=0
	TEXT

	# contract 2: the rows that run once
	E2E_COUNT=none record $door 'count not set'
	expect_once "$door, count not set" <<-TEXT
		$config_enter
		CONFIG EXIT id=1 pass=0 start=0 stop=0 outcome=1 decline=none run=0 memory=0
		finalize
	TEXT
	E2E_COUNT=1 record $door 'count 1'
	expect_once "$door, count 1" <<-TEXT
		$config_enter
		pass_count id=1
		CONFIG EXIT id=1 pass=0 start=0 stop=0 outcome=1 decline=none run=0 memory=0
		finalize
	TEXT
	E2E_COUNT=0 record $door '0 without continue'
	expect_once "$door, 0 without continue" <<-TEXT
		$config_enter
		pass_count id=1
		CONFIG EXIT id=1 pass=0 start=0 stop=0 outcome=3 decline=bad pass count run=0 memory=0
		finalize
	TEXT
	expect_err '^kreplay: replay: .* without end for matmul but sets no replay_continue: it runs once$' \
		"$door, 0 without continue: a warning"
	E2E_COUNT=99999999999 record $door 'a count beyond the limit'
	expect_err '^kreplay: replay: the tool wants 99999999999 passes of matmul: it runs once$' \
		"$door, a count beyond the limit: a warning"
	expect_json matmul replayed 0 "$door, a count beyond the limit"
	expect_json matmul declined '{"bad pass count": 1}' "$door, a count beyond the limit"

	# contract 2: CONFIG EXIT exactly once for each CONFIG ENTER, on declines too: here no snapshot fits
	E2E_LOG=$log replay $door -t "$tools/recorder.so" --budget 1 -- "$examples/saxpy"
	expect_status 0 "$door, declined"
	expect_json saxpy declined '{"over budget": 3}' "$door, declined"
	expect_json saxpy replayed 0 "$door, declined"
	grep -E '^(CONFIG|PASS|SNAPSHOT|RESTORE)' "$log" | sed -E 's/ pass=.*outcome=/ outcome=/; s/ run=.*//' >"$folder/found"
	for id in 1 2 3; do
		for line in 'CONFIG ENTER' 'SNAPSHOT ENTER' 'SNAPSHOT EXIT' 'CONFIG EXIT'; do
			case $line in
			*'ENTER') echo "$line id=$id outcome=0 decline=none" ;;
			'SNAPSHOT EXIT') echo "$line id=$id outcome=0 decline=over budget" ;;
			*) echo "$line id=$id outcome=3 decline=over budget" ;;
			esac
		done
	done >"$folder/want"
	expect_same "$folder/found" "$door, declined" <"$folder/want"

	# several dispatches: everything of one before anything of the next
	E2E_LOG=$log E2E_COUNT=2 replay $door -t "$tools/recorder.so" -- "$examples/scan"
	expect_status 0 "$door, three dispatches"
	[ "$(grep -c '^CONFIG ENTER' "$log")" -eq 3 ] && [ "$(grep -c '^CONFIG EXIT' "$log")" -eq 3 ] ||
		fail "$door, three dispatches: not three CONFIG of each phase: $(cat "$log")"
	sed -n 's/.* id=\([0-9]*\).*/\1/p' "$log" | sort -nc 2>/dev/null || fail "$door, three dispatches: mixed: $(cat "$log")"
	# contract 2: one thread and one correlation id throughout
	! grep -E 'OTHER|BAD' "$log" || fail "$door: another thread, another correlation id or bad times"
done
finish
