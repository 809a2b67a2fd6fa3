#!/bin/sh
# SPDX-License-Identifier: MIT
# sanitize.sh address|thread|valgrind [BUILD]: the suites under a tool that sees what tests do not. address (with
# leaks and undefined behaviour) and thread: the unit and the end-to-end suite, in a build of its own in which the
# programs, the library and the software GPU have the sanitizer; the runtime is the system's. valgrind: the unit suite.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
what=${1:-address}
build=${2:-$root/build/sanitize-$what}

# What of the end-to-end suite is left out.
# 10, 11, declines: a library of the test's stands in for the C library's malloc, as the sanitizer does. (So does one in
# the last part of 24.)
left_out='(10_copy_fails|11_allocation_fails|24_long_run|contract_declines)(-mixed)?'
# The software GPU's switches, each for itself: all of them together are not left out.
left_out="$left_out|-reorder|-delay|-private-vram"
# hip: the HIP runtime takes no part in this build.
left_out="$left_out|hip"

case $what in
# gcc's warnings are unreliable with sanitizers, which its manual says; the plain build has them as errors
address) sanitizer=address,undefined ;;
thread)
	sanitizer=thread
	# the sanitizer cannot follow a runtime that is unloaded
	left_out="$left_out|22_init_again(-mixed)?"
	;;
valgrind)
	sanitizer=
	if ! command -v valgrind >/dev/null; then
		echo "skipped: valgrind is not installed"
		exit 77
	fi
	;;
*)
	echo "usage: sanitize.sh address|thread|valgrind [BUILD]" >&2
	exit 2
	;;
esac

# what the caller wants of its own tests is not meant for these
for variable in $(env | sed -n 's/^\(KREPLAY_[A-Z_]*\)=.*/\1/p'); do
	unset "$variable"
done

mkdir -p "$build"
if [ -n "$sanitizer" ]; then
	cc -O2 -g -fno-omit-frame-pointer -fPIC -c "$root/tests/lib/aligned.c" -o "$build/aligned.o"
	set -- -Db_sanitize=$sanitizer -Db_lundef=false -Dwerror=false "-Dc_link_args=$build/aligned.o"
else
	set -- -Dsoftgpu=false -Dexamples=false
fi
[ -f "$build/build.ninja" ] || meson setup "$build" "$root" -Dhip=disabled "$@" >/dev/null
ninja -C "$build" >"$build/ninja.log" || {
	tail -n 30 "$build/ninja.log"
	exit 1
}

# Reports are in files: tests read what programs print. Faults that a program makes on purpose, and those that the
# software GPU finds by, go to who handles them.
reports=$build/reports
rm -rf "$reports"
mkdir "$reports"
common="log_path=$reports/report:handle_segv=0:handle_sigbus=0:handle_abort=0"
export ASAN_OPTIONS="$common:detect_leaks=1:detect_stack_use_after_return=1:verify_asan_link_order=0:abort_on_error=1"
export UBSAN_OPTIONS="$common:print_stacktrace=1:halt_on_error=1:abort_on_error=1"
export LSAN_OPTIONS="suppressions=$root/tests/lsan.supp:print_suppressions=0:use_tls=0"
# a test forks with threads about, and makes others in the child
export TSAN_OPTIONS="$common:second_deadlock_stack=1:history_size=7:die_after_fork=0:suppressions=$root/tests/tsan.supp"

# run SUITE-OR-TEST...: of the build
run() {
	meson test -C "$build" --no-rebuild --print-errorlogs --timeout-multiplier 20 "$@"
}

status=0
if [ "$what" = valgrind ]; then
	run --suite unit --wrap 'valgrind --quiet --error-exitcode=99 --fair-sched=yes --child-silent-after-fork=yes
		--leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite' || status=1
else
	run --suite unit || status=1
	names=$(meson test -C "$build" --no-rebuild --list --suite e2e 2>/dev/null | sed 's/.* \/ //' |
		grep -vE "($left_out)\$")
	[ "$(echo "$names" | wc -l)" -gt 40 ] || {
		echo "there is no end-to-end suite in: $names"
		exit 1
	}
	run $names soak || status=1
fi
for report in "$reports"/*; do
	# there are remarks as well
	grep -qE 'ERROR: |WARNING: ThreadSanitizer|runtime error|CHECK failed' "$report" 2>/dev/null || continue
	status=1
	echo "--- $report"
	head -n 60 "$report"
done
exit $status
