# SPDX-License-Identifier: MIT
# A tool that is in the program without KREPLAY_TOOL: a preloaded library that exports kreplay_configure. It alone makes the
# library active, and then nothing but the tool speaks.
. "$(dirname "$0")/lib.sh"

# exported DOOR COMMAND...
exported() {
	case $1 in
	preload) shift && bare LD_PRELOAD="$library $tools/recorder.so" "$@" ;;
	*) shift && bare LD_PRELOAD="$tools/recorder.so" HSA_TOOLS_LIB="$library" "$@" ;;
	esac
}

for door in $doors; do
	exported $door E2E_LOG="$folder/log" E2E_COUNT=4 "$examples/matmul"
	expect_status 0 "$door"
	expect_out 'matmul: ok (96 x 96 elements, 1 launches)' "$door"
	expect_err_lines 0 "$door"
	[ "$(grep -c '^PASS EXIT id=1 ' "$folder/log")" -eq 4 ] || fail "$door: not four passes: $(cat "$folder/log")"
	grep -q '^CONFIG EXIT id=1 .* outcome=2 ' "$folder/log" || fail "$door: not replayed: $(cat "$folder/log")"
	[ "$(grep -c '^finalize' "$folder/log")" -eq 1 ] || fail "$door: not finalized once: $(cat "$folder/log")"
done
finish
