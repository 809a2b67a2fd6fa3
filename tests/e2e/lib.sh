# SPDX-License-Identifier: MIT
# Sourced by each test: sh TEST KREPLAY BUILD-ROOT [ARGUMENT...]. A check that fails says what it found; the number of
# failed checks is the exit status. POSIX sh.
set -u
kreplay=$1
build=$2
shift 2
library=$build/preload/libkreplay.so
softgpu=$build/src/softgpu
examples=$build/examples
programs=$build/tests/programs
tools=$build/tests/e2e/tools
scenarios=$programs/scenarios/scenarios
folder=$(mktemp -d "${TMPDIR:-/tmp}/kreplay-e2e-XXXXXX")
trap 'rm -rf "$folder"' EXIT
failed=0
doors='preload tools-lib'

# what the caller's environment says of us is not meant for the tests; the sanitizers' and meson's is kept
for variable in $(env | sed -n 's/^\(KREPLAY_[A-Z_]*\)=.*/\1/p') HSA_TOOLS_LIB LD_LIBRARY_PATH LD_PRELOAD; do
	# a run of the whole suite under other switches of the software GPU says so here
	[ "$variable" = KREPLAY_SOFTGPU ] || unset "$variable"
done

fail() {
	echo "FAILED: $*"
	failed=$((failed + 1))
}

finish() {
	[ "$failed" -eq 0 ] || echo "$failed checks failed"
	exit "$failed"
}

skip() {
	echo "skipped: $*"
	exit 77
}

# run COMMAND...: leaves its exit status in $status and what it printed in the files out and err.
run() {
	status=0
	"$@" >"$folder/out" 2>"$folder/err" </dev/null || status=$?
}

# replay DOOR [FLAG...] -- COMMAND...: through the launcher, with the report in r.json.
replay() {
	rm -f "$folder/r.json"
	replay_door=$1
	shift
	run "$kreplay" run --softgpu --door "$replay_door" -o "$folder/r.json" "$@"
}

# bare COMMAND...: on the software GPU, without the launcher and without the library.
bare() {
	run env LD_LIBRARY_PATH="$softgpu" "$@"
}

# loaded DOOR [NAME=VALUE...] COMMAND...: with the library, brought in by the environment alone.
loaded() {
	case $1 in
	preload) loaded_door=LD_PRELOAD=$library ;;
	*) loaded_door=HSA_TOOLS_LIB=$library ;;
	esac
	shift
	bare "$loaded_door" "$@"
}

# --- checks; the last argument says what was done ---

expect_status() {
	[ "$status" -eq "$1" ] || fail "$2: exit status $status instead of $1; it said: $(cat "$folder/err" "$folder/out")"
}

# expect_out LINE WHAT: standard output is this one line.
expect_out() {
	printf '%s\n' "$1" | cmp -s - "$folder/out" || fail "$2: standard output is '$(cat "$folder/out")' instead of '$1'"
}

# expect_err PATTERN WHAT: some line of standard error matches.
expect_err() {
	grep -q -e "$1" "$folder/err" || fail "$2: no line '$1' in: $(cat "$folder/err")"
}

expect_no_err() {
	! grep -q -e "$1" "$folder/err" || fail "$2: a line '$1' in: $(cat "$folder/err")"
}

expect_err_lines() {
	[ "$(wc -l <"$folder/err")" -eq "$1" ] || fail "$2: not $1 lines on standard error: $(cat "$folder/err")"
}

# expect_tidy WHAT: the runtime found nothing left behind when it was shut down.
expect_tidy() {
	expect_no_err 'leak' "$1"
}

# expect_same FILE WHAT: the file holds what stands on standard input.
expect_same() {
	cat >"$folder/expected"
	diff -u "$folder/expected" "$1" >"$folder/diff" || fail "$2: - expected, + found: $(cat "$folder/diff")"
}

# json KERNEL FIELD: of the report; KERNEL is a demangled name, or `totals`.
json() {
	if [ "$1" = totals ]; then
		sed -n '/^  "totals": {$/,/^  }/p' "$folder/r.json"
	else
		awk -v want="      \"name\": \"$1\"," '$0 == want { on = 1 } on { print } /^    }/ { on = 0 }' "$folder/r.json"
	fi | sed -n "s/^ *\"$2\": \(.*[^,]\),\{0,1\}\$/\1/p"
}

# expect_json KERNEL FIELD VALUE WHAT
expect_json() {
	if [ ! -f "$folder/r.json" ]; then
		fail "$4: there is no report"
	elif [ "$(json "$1" "$2")" != "$3" ]; then
		fail "$4: $2 of $1 is '$(json "$1" "$2")' instead of '$3'; standard error: $(cat "$folder/err")"
	fi
}

# expect_replayed KERNEL DISPATCHES PASSES-OF-EACH WHAT: every dispatch of the kernel was replayed, none declined. With one
# pass there is nothing to replay.
expect_replayed() {
	expect_json "$1" dispatches "$2" "$4"
	expect_json "$1" declined '{}' "$4"
	if [ "$3" -gt 1 ]; then
		expect_json "$1" replayed "$2" "$4"
		expect_json "$1" passes $(($2 * $3)) "$4"
	else
		expect_json "$1" replayed 0 "$4"
		expect_json "$1" passes 0 "$4"
	fi
}
