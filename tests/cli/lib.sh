# SPDX-License-Identifier: MIT
# Sourced by each test: sh TEST KREPLAY BUILD-FOLDER SOURCE-ROOT. Ends with the number of failed checks as exit status.
set -u
kreplay=$1
build=$2
source_root=$3
folder=$(mktemp -d "${TMPDIR:-/tmp}/kreplay-cli-XXXXXX")
trap 'rm -rf "$folder"' EXIT
failed=0

# meson sets LD_LIBRARY_PATH
for variable in $(env | sed -n 's/^\(KREPLAY_[A-Z_]*\)=.*/\1/p') HSA_TOOLS_LIB LD_LIBRARY_PATH LD_PRELOAD; do
	unset "$variable"
done

fail() {
	echo "FAILED: $*"
	failed=$((failed + 1))
}

# run COMMAND...: leaves its exit status in $status and what it printed in the files out and err.
run() {
	status=0
	"$@" >"$folder/out" 2>"$folder/err" </dev/null || status=$?
}

expect_status() {
	[ "$status" -eq "$1" ] || fail "$2: exit status $status instead of $1; it said: $(cat "$folder/err")"
}

# expect_err PATTERN WHAT: some line of standard error matches.
expect_err() {
	grep -q -e "$1" "$folder/err" || fail "$2: no line '$1' in: $(cat "$folder/err")"
}

expect_no_err() {
	! grep -q -e "$1" "$folder/err" || fail "$2: a line '$1' in: $(cat "$folder/err")"
}

expect_out() {
	printf '%s' "$1" | cmp -s - "$folder/out" || fail "$2: standard output is: $(cat "$folder/out")"
}

# expect_error STATUS PATTERN WHAT: refused with this status and exactly one line, and nothing on standard output.
expect_error() {
	expect_status "$1" "$3"
	expect_err "^kreplay: $2" "$3"
	[ "$(wc -l <"$folder/err")" -eq 1 ] || fail "$3: not one line: $(cat "$folder/err")"
	expect_out '' "$3"
}

finish() {
	[ "$failed" -eq 0 ] || echo "$failed checks failed"
	exit "$failed"
}
