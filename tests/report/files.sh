# SPDX-License-Identifier: MIT
# Files of every kind, from a real run: each is checked against its format's rules, and against the JSON report.
. "$(dirname "$0")/../cli/lib.sh" "$@"
racy=$build/../tools/racy
checker=$(dirname "$0")/check.py
python=/usr/bin/python3
[ -x "$python" ] || { echo "SKIP: there is no $python"; exit 77; }
skipped=

# check KIND FILE...
check() {
	status=0
	"$python" "$checker" "$@" >"$folder/said" 2>&1 || status=$?
	case $status in
	0) ;;
	77) skipped=$(cat "$folder/said") ;;
	*) fail "$*: $(cat "$folder/said")" ;;
	esac
}

run "$kreplay" run --softgpu -n 4 --check --writes -o "$folder/deep/down/%n.json" -o "$folder/r.csv" -o "$folder/r.html" \
	-o "$folder/%h.perfetto.json" -- sh -c "$racy & $racy steady; wait"
expect_status 0 'every kind'
json=$folder/deep/down/sh.json
perfetto=$folder/$(hostname).perfetto.json
[ -s "$json" ] || fail "there is no $json"
check json "$json"
check csv "$folder/r.csv" "$json"
check perfetto "$perfetto" "$json"
check html "$folder/r.html" "$json"
[ "$(grep -c '"pid"' "$json")" -eq 2 ] || fail "not two processes: $(grep '"pid"' "$json")"
grep -q '"rank": null, .*"program": "racy"' "$json" || fail "no program: $(grep '"pid"' "$json")"

# what runs once, and what is not timed
run "$kreplay" run --softgpu -n 1 -o "$folder/once.json" -o "$folder/once.csv" -o "$folder/once.perfetto.json" -o "$folder/once.html" -- "$racy"
check json "$folder/once.json"
check csv "$folder/once.csv" "$folder/once.json"
check perfetto "$folder/once.perfetto.json" "$folder/once.json"
check html "$folder/once.html" "$folder/once.json"
run "$kreplay" run --softgpu -k nothing -o "$folder/none.json" -o "$folder/none.csv" -o "$folder/none.perfetto.json" -o "$folder/none.html" -- "$racy"
check json "$folder/none.json"
check csv "$folder/none.csv" "$folder/none.json"
check perfetto "$folder/none.perfetto.json" "$folder/none.json"
check html "$folder/none.html" "$folder/none.json"
# names that are no good JSON, CSV or HTML
run "$kreplay" run -o "$folder/names.json" -o "$folder/names.csv" -o "$folder/names.html" -- "$build/../cli/cli-journal-program" names
check json "$folder/names.json"
check csv "$folder/names.csv" "$folder/names.json"
check html "$folder/names.html" "$folder/names.json"
# a budget that nothing fits into
run "$kreplay" run --softgpu --budget 1K -o "$folder/declined.json" -- "$racy"
check json "$folder/declined.json"
grep -q '"reason": "over budget"' "$folder/declined.json" || fail "no reason in $(cat "$folder/declined.json")"

# kreplay report: the table again, one file from two, files of other kinds from a file
run "$kreplay" report "$json"
expect_status 0 'report'
grep -q '^racy  *2  *2  *0  *8 ' "$folder/out" || fail "report: $(cat "$folder/out")"
grep -q '^steady  *2  *2  *0  *8 ' "$folder/out" || fail "report: $(cat "$folder/out")"
grep -q '^determinism: racy: dispatch 1, pass 1 ' "$folder/out" || fail "report: $(cat "$folder/out")"
run "$kreplay" report "$json" -o "$folder/again.json" -o "$folder/again.csv" -o "$folder/again.html" -o "$folder/again.perfetto.json"
for kind in json csv html perfetto.json; do
	case $kind in
	json) first=$json ;;
	perfetto.json) first=$perfetto ;;
	*) first=$folder/r.$kind ;;
	esac
	cmp -s "$first" "$folder/again.$kind" || fail "report -o: another $kind: $(diff "$first" "$folder/again.$kind" | head -n 4)"
done
run "$kreplay" report "$folder/once.json" -o "$folder/both.json" "$json" --dispatches
check json "$folder/both.json"
grep -q '^racy  *4  *2  *0  *8 ' "$folder/out" || fail "merged: $(cat "$folder/out")"
grep -q '^kernel  *dispatch  *passes  *min ' "$folder/out" || fail "merged: no dispatches in $(cat "$folder/out")"
run "$kreplay" report "$folder/both.json"
grep -q '^racy  *4  *2  *0  *8 ' "$folder/out" || fail "merged and read: $(cat "$folder/out")"

# a comparison, with lengths that were set by hand
"$python" - "$json" "$folder" <<-'END'
	import json, sys
	report = json.load(open(sys.argv[1]))
	def write(name, lengths):
	    names = [k["name"] for k in report["kernels"]]
	    count = {}
	    for row in report["executions"]["rows"]:
	        kernel = names[row[1]]
	        count[kernel] = count.get(kernel, 0) + 1
	        row[6] = lengths[kernel] + count[kernel]
	    json.dump(report, open(sys.argv[2] + "/" + name, "w"))
	write("base.json", {"racy": 1000, "steady": 1000})
	write("now.json", {"racy": 1004, "steady": 1100})
	write("fast.json", {"racy": 900, "steady": 1000})
END
run "$kreplay" report --diff "$folder/base.json" "$folder/now.json"
expect_status 0 'diff'
grep -q '^kernel  *base  *now  *change  *spread  *verdict$' "$folder/out" || fail "diff: $(cat "$folder/out")"
grep -q '^racy  *1.00 us  *1.01 us  *+0.4%  *0.3%  *slower$' "$folder/out" || fail "diff: $(cat "$folder/out")"
grep -q '^steady  *1.00 us  *1.10 us  *+10.0%  *0.3%  *slower$' "$folder/out" || fail "diff: $(cat "$folder/out")"
run "$kreplay" report "$folder/fast.json" --diff "$folder/base.json"
grep -q '^racy .* -10.0%  *0.3%  *faster$' "$folder/out" || fail "diff: $(cat "$folder/out")"
grep -q '^steady .* +0.0%  *0.3%  *same$' "$folder/out" || fail "diff: $(cat "$folder/out")"
run "$kreplay" report "$folder/once.json" --diff "$folder/base.json"
grep -q '^racy .* too few$' "$folder/out" || fail "diff: $(cat "$folder/out")"
grep -q '^steady .* gone$' "$folder/out" || fail "diff: $(cat "$folder/out")"

# what is no report
echo '{"format": 1}' >"$folder/bad.json"
run "$kreplay" report "$folder/bad.json"
expect_error 125 "'.*/bad.json' is not a report of kreplay's: \"kernels\" is missing or wrong in it\$" 'no report'
echo '{' >"$folder/bad.json"
run "$kreplay" report "$folder/bad.json"
expect_error 125 "'.*/bad.json' is not a report of kreplay's: it is not JSON (line 2: .*)\$" 'no JSON'
sed 's/"executions": {/"executions": {"rows": [[0, 99, 1, 0, true, 1, 1]], "ignored": {/' "$json" >"$folder/bad.json"
run "$kreplay" report "$folder/bad.json"
expect_status 125 'a kernel that is not there'
run "$kreplay" report "$folder/absent.json"
expect_error 125 "cannot read '.*/absent.json': No such file or directory\$" 'no file'
run "$kreplay" report "$json" --diff "$folder/absent.json"
expect_error 125 "cannot read '.*/absent.json': No such file or directory\$" '--diff without a file'
run "$kreplay" report "$json" --diff "$folder"
expect_error 125 "cannot read '.*': Is a directory\$" '--diff with a folder'
run "$kreplay" report "$json" --diff "$0"
expect_error 125 "'.*' is not a report of kreplay's: it is not JSON (line 1: .*)\$" '--diff with no JSON'
run "$kreplay" report "$json" -o "$folder/r.txt"
expect_error 125 "cannot write '.*/r.txt': the suffix is none of " 'report -o with an unknown suffix'
run "$kreplay" report
expect_error 125 'report: no file is given' 'no file given'

# a child that is forked off does not write over its parent's file
LD_LIBRARY_PATH=$(dirname "$kreplay")/src/softgpu LD_PRELOAD=$(dirname "$kreplay")/preload/libkreplay.so KREPLAY_PASSES=2 \
	KREPLAY_OUTPUT=$folder/fork.json run "$build/../programs/forks"
check json "$folder/fork.json"
[ "$(grep -c 'kernel  *dispatches' "$folder/err")" -ge 1 ] || fail "fork: no table in $(cat "$folder/err")"

[ "$failed" -ne 0 ] || [ -z "$skipped" ] || { echo "$skipped"; exit 77; }
finish
