# SPDX-License-Identifier: MIT
# The bundled tools on a program whose kernel leaves something else each time, and on one whose does not.
. "$(dirname "$0")/../cli/lib.sh" "$@"
racy=$build/racy
observer=$build/observer.so

json() { /usr/bin/python3 - "$folder/r.json" "$1" <<-'END'
	import json, sys
	report = json.load(open(sys.argv[1]))
	notes = report["notes"]
	spans = [n for n in notes if "end_ns" in n]
	def of(topic): return [n for n in notes if n["topic"] == topic and "end_ns" not in n]
	if not eval(sys.argv[2]): sys.exit(repr([n for n in notes if "end_ns" not in n])[:3000])
	END
}
# expect_json EXPRESSION WHAT
expect_json() { json "$1" 2>"$folder/why" || fail "$2: not $1: $(cat "$folder/why")"; }

# all at once, and a user's observer beside them
run "$kreplay" run --softgpu -n 4 --check --writes -t "$observer" -o "$folder/r.json" -- "$racy"
expect_status 0 'all tools'
expect_out 'racy: done
' 'all tools'
expect_err '^determinism: racy: dispatch 1, pass 1 left other bytes than pass 0 in the allocation at 0x[0-9a-f]* (16.0 KiB), argument 1 "float\* output"$' 'all tools'
expect_err '^  [12] bytes\? differs\?, the first at offset 0x19[23]; at 0x190:$' 'all tools'
expect_err '^  hex 0000803f[0-9a-f]* -> 00000040[0-9a-f]*   i32 1065353216 -> 1073741824   f32 1 -> 2   f64 ' 'all tools'
expect_err '^determinism: \.\.\. and 2 more of this kernel, which the files have$' 'all tools'
expect_err '^determinism: 2 dispatches compared: the passes of 2 differ$' 'all tools'
expect_err '^writes: racy: changed [0-9]* B of the .* in scope$' 'all tools'
expect_err '^  changed    [0-9]* B of 16.0 KiB (.*%) in 1 range at 0x[0-9a-f]*, argument 1 "float\* output"$' 'all tools'
expect_err '^  unchanged  16.0 KiB at 0x[0-9a-f]*, argument 0 "uint\* input"$' 'all tools'
expect_err '^  unchanged  [1-9] other allocation' 'all tools'
expect_err '^my-observer: 8 passes$' 'all tools'
expect_err '^  second line "quoted" ?$' 'all tools'
expect_err '^my-observer: 8 answers of 8 as they should be$' 'all tools'
expect_err '^kreplay: 1 notes of tools were too long or found the journal full$' 'all tools'
expect_err '^timing  *q1  *median  *q3  *mean  *first  *later  *outliers$' 'all tools'
expect_json 'len(of("determinism")) == 7 and sum(n["severity"] == "finding" for n in notes) == 6' 'determinism'
expect_json 'of("determinism")[2]["pass"] == 3 and of("determinism")[2]["data"]["value"]["f32"] == 4.0' 'determinism'
expect_json 'of("determinism")[0]["data"]["reference"]["f32"] == 1.0 and of("determinism")[0]["data"]["argument_name"] == "output"' 'determinism'
expect_json 'of("determinism")[0]["data"]["value_offset"] == 400 and of("determinism")[0]["data"]["bytes"] == 16384' 'determinism'
expect_json 'len(of("writes")) == 2 and of("writes")[1]["text"] is None and of("writes")[0]["dispatch"] == 1' 'writes'
expect_json '{r["state"] for r in of("writes")[0]["data"]["regions"]} == {"changed", "unchanged"}' 'writes'
expect_json '[r for r in of("writes")[0]["data"]["regions"] if r["state"] == "changed"][0]["ranges"][0][0] < 4' 'writes'
expect_json 'of("my-observer")[0]["data"] == {"passes": [1, 2500.0, None, "\u00e9"]}' 'an observer of the user'
expect_json 'len([s for s in spans if s["text"] == "pass"]) == 8 and len([s for s in spans if s["text"] == "restore"]) == 6' 'timing'
expect_json 'len([s for s in spans if s["text"] == "snapshot"]) == 2 and all(s["end_ns"] >= s["start_ns"] for s in spans)' 'timing'

# a pass is inside its span, and its span inside its window
expect_json 'all(any(s["text"] == "pass" and s["dispatch"] == e[2] and s["pass"] == e[3] and s["start_ns"] <= e[5] and e[5] + e[6] <= s["end_ns"] for s in spans) for e in report["executions"]["rows"])' 'one clock'

# a tool that drives leaves nothing to the flags, which is said
template=$(dirname "$kreplay")/examples/template_tool.so
run "$kreplay" run --softgpu -n 4 --dispatch 2 -t "$template" -- "$racy" steady
expect_status 0 'a tool that drives'
expect_err "^kreplay: tool '.*template_tool.*' decides the passes: -n, --dispatch are not used\$" 'a tool that drives'
run "$kreplay" run --softgpu -t "$template" -- "$racy" steady
expect_no_err 'decides the passes' 'a tool that drives alone'

# with the exit status
run "$kreplay" run --softgpu -n 3 --check=fail -- "$racy"
expect_status 3 '--check=fail'
run "$kreplay" run --softgpu -n 3 --check=fail -- "$racy" steady
expect_status 0 '--check=fail, steady'
expect_err '^determinism: 2 dispatches compared: all passes agree$' '--check=fail, steady'
run "$kreplay" run --softgpu -n 3 --check=fail -k nothing -- "$racy" steady
expect_status 3 '--check=fail, nothing chosen'
expect_err "^kreplay: no dispatch was chosen: no kernel's name matches -k 'nothing'\$" '--check=fail, nothing chosen'
expect_err '^kreplay: --check=fail: no dispatch was replayed, so that nothing was compared$' '--check=fail, nothing chosen'
run "$kreplay" run --softgpu -n 3 --check -k nothing -k steady -- "$racy" steady
expect_status 0 'one of two patterns'
expect_no_err 'no dispatch was chosen' 'one of two patterns'
run "$kreplay" run --softgpu --dispatch 7- -- "$racy" steady
expect_status 0 '--dispatch that names nothing'
expect_err '^kreplay: no dispatch was chosen: --dispatch names none of the 2 dispatches$' '--dispatch that names nothing'
run "$kreplay" run --softgpu --dispatch 7- -k steady -- "$racy" steady
expect_err "^kreplay: no dispatch was chosen: none that --dispatch names is of a kernel that matches -k 'steady'\$" 'both'
KREPLAY_CHECK=fail run "$kreplay" run --softgpu -n 3 -- sh -c "$racy; exit 9"
expect_status 9 'the failure of the program matters more'
run "$kreplay" run --softgpu -t determinism -n 3 -- "$racy"
expect_status 0 '-t determinism'
expect_err '^determinism: racy: dispatch 1, pass 1 ' '-t determinism'

# without the launcher, from the variables alone
LD_LIBRARY_PATH=$(dirname "$kreplay")/src/softgpu LD_PRELOAD=$(dirname "$kreplay")/preload/libkreplay.so KREPLAY_PASSES=3 \
	KREPLAY_CHECK=1 KREPLAY_WRITES=1 KREPLAY_OUTPUT="$folder/new/%n.json" run "$racy"
expect_status 0 'preloaded'
expect_err '^determinism: racy: dispatch 1, pass 1 ' 'preloaded'
expect_err '^writes: racy: changed ' 'preloaded'
[ -s "$folder/new/racy.json" ] || fail 'preloaded: no report'
LD_LIBRARY_PATH=$(dirname "$kreplay")/src/softgpu LD_PRELOAD=$(dirname "$kreplay")/preload/libkreplay.so \
	KREPLAY_TOOL=writes KREPLAY_PASSES=2 KREPLAY_OUTPUT="$folder/p.html" run "$racy"
expect_err '^writes: racy: changed ' 'preloaded, by name'
expect_err 'p.html: only the launcher makes such a file: writing .*/p.html.json' 'preloaded, by name'
[ -s "$folder/p.html.json" ] || fail 'preloaded, by name: no report'

# through the other door
run "$kreplay" run --softgpu --door tools-lib -n 3 --check --writes -- "$racy"
expect_err '^determinism: racy: dispatch 1, pass 1 ' 'tools-lib'
expect_err '^writes: racy: changed ' 'tools-lib'

# until it has settled; the second limit is one that no clock can meet
run "$kreplay" run --softgpu --until cv=100% -o "$folder/r.json" -- "$racy" steady
expect_err '^until: steady: dispatch 1 settled after [0-9]* passes: cv of the last 8 [0-9.]*%$' '--until'
expect_json 'of("until")[1]["data"]["settled"] and of("until")[1]["data"]["passes"] >= 9' '--until'
run "$kreplay" run --softgpu --until cv=0.0001% -n 12 -o "$folder/r.json" -- "$racy" steady
expect_err '^until: steady: dispatch 1 had not settled after 12 passes: cv of the last 8 [0-9.]*%$' '--until with a cap'
expect_json 'report["kernels"][0]["passes"] == 24' '--until with a cap'
expect_json 'report["windows"][0]["passes"] == 12' '--until with a cap'

# they stand on the public header and nothing else of the project
grep -h '#include "' "$source_root"/src/tools/*.[ch] | grep -v '"common.h"' >"$folder/includes"
[ ! -s "$folder/includes" ] || fail "a bundled tool includes $(cat "$folder/includes")"
! grep -h '#include <' "$source_root"/src/tools/*.[ch] | grep -v 'kreplay/kreplay.h' | grep / >"$folder/includes" || fail "a bundled tool includes $(cat "$folder/includes")"

finish
