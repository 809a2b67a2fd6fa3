#!/bin/sh
# SPDX-License-Identifier: MIT
# sanitize.sh address|thread|valgrind [BUILD]: the unit suite under a tool that sees what tests do not: a build of its own
# with AddressSanitizer and UndefinedBehaviorSanitizer, or ThreadSanitizer; or a plain one run by valgrind.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
what=${1:-address}
build=${2:-$root/build/sanitize-$what}

# whole programs on the runtime are for the other suites: its own faults would be shown there
set -- -Dsoftgpu=false -Dexamples=false -Dhip=disabled
case $what in
# gcc's warnings are unreliable with sanitizers, which its manual says; the plain build has them as errors
address) set -- "$@" -Db_sanitize=address,undefined -Db_lundef=false -Dwerror=false ;;
thread) set -- "$@" -Db_sanitize=thread -Db_lundef=false -Dwerror=false ;;
valgrind)
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

[ -f "$build/build.ninja" ] || meson setup "$build" "$root" "$@" >/dev/null
ninja -C "$build" >"$build/ninja.log" || {
	tail -n 30 "$build/ninja.log"
	exit 1
}

# No leaks: the tests forget a whole stand-in runtime at once, with all that lies in it, and tables that are read without a
# lock keep what they have outgrown. What a process leaves behind is counted by the soak.
export ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=1:abort_on_error=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1:abort_on_error=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
set -- meson test -C "$build" --no-rebuild --suite unit --print-errorlogs --timeout-multiplier 20
if [ "$what" = valgrind ]; then
	set -- "$@" --wrap 'valgrind --quiet --error-exitcode=99 --fair-sched=yes --leak-check=no --child-silent-after-fork=yes'
fi
"$@"
