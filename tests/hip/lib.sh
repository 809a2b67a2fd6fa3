# SPDX-License-Identifier: MIT
# Sourced after e2e/lib.sh by the tests that run HIP programs. POSIX sh.

# hip_program NAME: leaves its path in $program; skips the test where it was not built
hip_program() {
	program=$programs/hip/$1
	if [ -x "$program" ]; then
		# built elsewhere, as for the tree of another release
		missing=$(ldd "$program" | sed -n 's/ => not found$//p')
		[ -z "$missing" ] || skip "$1: this system has no$(echo $missing | sed 's/^/ /')"
		return
	fi
	case $1 in
	rand | sparse) skip "$1: no hipcc or no library of Debian's for it when the build was configured" ;;
	*) skip 'no hipcc was found when the build was configured' ;;
	esac
}

# expect_said NAME WHAT: what the program prints when all is well. Text that kernels print comes once for each pass and in
# any order of the wavefronts, so of that program the different lines count.
expect_said() {
	case $1 in
	print)
		LC_ALL=C sort -u "$folder/out" >"$folder/sorted"
		expect_same "$folder/sorted" "$2" <<-TEXT
			a line with nothing in it
			lane 0 of even:  0.00 1.250000e+00 0xff a -5000000000 100%
			lane 1 of odd:  1.25 1.250000e+00 0xfe b -5000000000 100%
			lane 2 of even:  2.50 1.250000e+00 0xfd c -5000000000 100%
			lines
			print: ok
			two
		TEXT
		;;
	*) expect_out "$1: ok" "$2" ;;
	esac
}

# hip_replay DOOR NAME PASSES [FLAG...]: what the program does in place to the host's memory is not for replay, and a
# pass that waits for the program itself is given up in time
hip_replay() {
	hip_door=$1
	hip_name=$2
	hip_passes=$3
	shift 3
	case $hip_name in
	atomics) set -- -k '^void (run|run_silent|run_group|sum|narrow)<' -k '^(tickets|guarded)' "$@" ;;
	memory) set -- -k '^(triple|__amd_rocclr)' "$@" ;;
	handshake) set -- --drain-timeout 2 "$@" ;;
	esac
	replay "$hip_door" -n "$hip_passes" "$@" -- "$program"
}
