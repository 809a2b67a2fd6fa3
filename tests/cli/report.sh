# SPDX-License-Identifier: MIT
# The table and the JSON file, from a program that writes to the journal as the library does.
. "$(dirname "$0")/lib.sh" "$@"

program=$build/cli-journal-program

check_table() {
	expect_err '^kernel      dispatches  replayed  declined  passes      min   median      max     cv$' "$1"
	expect_err '^vector_add           1         1         0       2  2.00 us  2.50 us  3.00 us  28.3%$' "$1"
	expect_err '^total: 1 dispatch, 1 replayed, 0 declined, 2 passes$' "$1"
	expect_err '^memory: 4.00 KiB snapshotted, 100 B restored, 4.00 KiB over the host link; 1.00 ms in windows$' "$1"
	expect_out "the program's own output
" "$1"
}

check_json() {
	grep -q '"name": "vector_add",' "$folder/r.json" || fail "$1: no kernel in $(cat "$folder/r.json")"
	grep -q '"duration_ns": {"min": 2000, "median": 2500, "max": 3000, "mean": 2500.000, "stddev": 707.107}' \
		"$folder/r.json" || fail "$1: other durations in $(cat "$folder/r.json")"
	grep -q '"window_seconds": 0.001000000' "$folder/r.json" || fail "$1: other totals in $(cat "$folder/r.json")"
	[ "$(ls -A "$folder" | sort | tr '\n' ' ')" = 'err out r.json ' ] || fail "$1: files left: $(ls -A "$folder")"
}

run "$kreplay" run -o "$folder/r.json" -- "$program"
expect_status 0 'plain'
check_table 'plain'
check_json 'plain'

echo old >"$folder/r.json"
run "$kreplay" run -o "$folder/r.json" -- "$program" 7
expect_status 7 'over an old report'
check_table 'over an old report'
check_json 'over an old report'

run "$kreplay" run -o "$folder/r.json" -- "$program" killed
expect_status 137 'killed'
check_table 'killed'
check_json 'killed'
expect_err "was killed by signal 9 (SIGKILL)\$" 'killed'

# relative to where kreplay was started, whatever the program does; and through the variable
cd "$folder" || exit 1
rm r.json
KREPLAY_OUTPUT=r.json run "$kreplay" run -- sh -c "cd /; exec $program"
check_json 'KREPLAY_OUTPUT'

# processes of one run share the journal
run "$kreplay" run -- sh -c "$program & $program; wait"
expect_err '^vector_add           2         2         0       4 ' 'two processes'

# standard error closed, or its reader gone: the exit status stays the program's
status=0
"$kreplay" run -- "$program" 7 2>&- >"$folder/out" || status=$?
expect_status 7 'standard error closed'
{
	"$kreplay" run -- sh -c 'sleep 0.3; exit 7' 2>&1 >/dev/null
	echo $? >"$folder/err"
} | true
for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	[ -s "$folder/err" ] && break
	sleep 0.1
done
[ "$(cat "$folder/err")" = 7 ] || fail "reader of standard error gone: $(cat "$folder/err")"

# the report's folder went away meanwhile
mkdir "$folder/gone"
run "$kreplay" run -o "$folder/gone/r.json" -- rmdir "$folder/gone"
expect_status 0 'folder gone'
[ -s "$folder/gone/r.json" ] || fail 'folder gone: it was not made anew'
# or something else took its place
mkdir "$folder/else"
run "$kreplay" run -o "$folder/else/r.json" -- sh -c "rmdir $folder/else && echo file >$folder/else"
expect_status 125 'folder became a file'
expect_err "^kreplay: cannot write '.*/else/r.json': Not a directory\$" 'folder became a file'

# and what is printed does not get anywhere
status=0
"$kreplay" report "$folder/gone/r.json" >/dev/full 2>"$folder/err" </dev/null || status=$?
: >"$folder/out"
expect_error 125 'standard output: No space left on device$' 'report to a full disk'

finish
