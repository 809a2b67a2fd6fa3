# SPDX-License-Identifier: MIT
# What is wrong is said in one line, with status 125, before the program starts.
. "$(dirname "$0")/lib.sh" "$@"

witness="touch $folder/started"

# refuse PATTERN FLAG...
refuse() {
	pattern=$1
	shift
	run "$kreplay" run "$@" -- $witness
	expect_error 125 "$pattern" "kreplay run $*"
	[ ! -e "$folder/started" ] || fail "kreplay run $*: the program was started"
	rm -f "$folder/started"
}

run "$kreplay"
expect_status 125 'no arguments'
expect_err '^usage: ' 'no arguments'
expect_out '' 'no arguments'
run "$kreplay" frobnicate
expect_error 125 "'frobnicate' is not a kreplay command" 'unknown command'
run "$kreplay" help frobnicate
expect_error 125 "'frobnicate' is not a kreplay command" 'help of an unknown command'
run "$kreplay" run
expect_error 125 'run: no command is given' 'no command'
run "$kreplay" run -n 3 --
expect_error 125 'run: no command is given' 'no command after --'

# nobody gets what was asked for
for what in --version --help 'help run' info 'man run' 'completion bash'; do
	status=0
	"$kreplay" $what >/dev/full 2>"$folder/err" </dev/null || status=$?
	: >"$folder/out"
	expect_error 125 'standard output: No space left on device$' "$what to a full disk"
done

refuse 'unknown or ambiguous flag --frobnicate ' --frobnicate
refuse 'unknown flag -q ' -q
run "$kreplay" run --passes
expect_error 125 '--passes: its argument is missing' 'missing argument'
run "$kreplay" run -n
expect_error 125 '-n: its argument is missing' 'missing argument'

for value in many 0 -1 3x '' ' 3' 99999999999999999999; do
	refuse "--passes: " -n "$value"
done
refuse "--passes: 'many' is not a number of passes (1 or more)\$" --passes=many
refuse "--kernel: '(a' is not a regular expression: Unmatched ( " -k ok -k '(a'
refuse "--kernel: an empty value\$" -k ''
refuse "--kernel: 'a?b' holds a line break" -k 'a
b'
refuse "--dispatch: '5-2' is not a list of dispatches" --dispatch 5-2
refuse "--dispatch: '0' is not a list of dispatches" --dispatch 0
refuse "--door: 'window' is not a door (preload or tools-lib)\$" --door window
refuse "--budget: 'half' is neither a size" --budget half
refuse "--drain-timeout: '0' is not a number of seconds" --drain-timeout 0
refuse "--log: 'loud' is not a level" --log loud
for value in cv 1% cv=1 cv=% cv=0% cv=101% cv=1%% 'cv=1 %' ''; do
	refuse "--until: " --until "$value"
done
refuse "--check: 'loudly' is not \"fail\"\$" --check=loudly
refuse "--writes=1: takes no argument" --writes=1
refuse "--output: '.*%q.json': %q stands for nothing" -o '%q.json'

refuse "--until: it takes 9 passes to tell whether the duration has settled; -n allows 8\$" --until cv=1% -n 8
refuse "cannot write '.*/r.txt': the suffix is none of .json, .csv, .html and .perfetto.json\$" -o "$folder/r.txt"

refuse "tool '/nonexistent.so': No such file or directory\$" -t /nonexistent.so
refuse "tool 'kreplay-no-such-tool.so': does not load: .*cannot open shared object file" -t kreplay-no-such-tool.so
refuse "tool '$0': does not load: .*\(invalid ELF header\|file too short\)" -t "$0"
refuse "tool '.*': is not a tool: it does not export kreplay_configure\$" -t "$build/cli-no-tool.so"
refuse "tool '.*': dies of signal 6 (Aborted) when it is loaded\$" -t "$build/cli-crashing-tool.so"
refuse "tool '.*cli-no-tool.so': is not a tool" -t "$build/cli-good-tool.so" -t "$build/cli-no-tool.so"
refuse "tool 'determinisn': does not load: " -t determinisn
refuse "--tool: 'a.so:b.so' holds a colon" -t a.so:b.so

refuse "cannot write '/proc/none/r.json': No such file or directory\$" -o /proc/none/r.json
refuse "cannot write '.*': Is a directory\$" -o "$folder"
if [ "$(id -u)" -ne 0 ]; then
	mkdir -m 555 "$folder/sealed"
	refuse "cannot write '.*': Permission denied\$" -o "$folder/sealed/r.json"
fi
status=0
"$kreplay" run -o "$folder/same" -- $witness >"$folder/same" 2>"$folder/err" || status=$?
expect_status 125 'output is standard output'
expect_err "the program's standard output goes there\$" 'output is standard output'

# the same through the environment, which is named then
KREPLAY_PASSES=many refuse "KREPLAY_PASSES: 'many' is not a number of passes (1 or more)\$"
KREPLAY_KERNEL='(a' refuse "KREPLAY_KERNEL: '(a' is not a regular expression: "
KREPLAY_DISPATCH=x refuse "KREPLAY_DISPATCH: 'x' is not a list of dispatches"
KREPLAY_DOOR=window refuse "KREPLAY_DOOR: 'window' is not a door"
KREPLAY_TOOL=/nonexistent.so refuse "tool '/nonexistent.so': No such file or directory\$"
KREPLAY_OUTPUT=/proc/none/r.json refuse "cannot write '/proc/none/r.json': "
# unless a flag wins over it
KREPLAY_PASSES=many run "$kreplay" run -n 2 -- true
expect_status 0 'a flag wins over a bad variable'

# a report that is there is not touched by what fails
echo old >"$folder/r.json"
run "$kreplay" run -o "$folder/r.json" -n many -- true
run "$kreplay" run -o "$folder/r.json" -- kreplay-no-such-program
[ "$(cat "$folder/r.json")" = old ] || fail 'an old report was touched'

finish
