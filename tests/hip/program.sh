# SPDX-License-Identifier: MIT
# program.sh KREPLAY BUILD-ROOT NAME [VARIABLE=VALUE...]: one HIP program, alone on the software GPU and through both doors,
# three passes of each dispatch; it says the same each time.
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/lib.sh"
name=$1
shift
hip_program "$name"
for variable in "$@"; do
	export "$variable"
done

bare "$program"
expect_status 0 "$name, alone"
expect_said "$name" "$name, alone"
expect_no_err '^softgpu: ' "$name, alone"
for door in $doors; do
	hip_replay $door "$name" 3
	expect_status 0 "$name, $door"
	expect_said "$name" "$name, $door"
	[ "$(json totals replayed)" -gt 0 ] || fail "$name, $door: nothing was replayed"
	# a kernel that spins until the program goes on cannot be replayed
	[ "$name" = handshake ] || expect_json totals declined 0 "$name, $door"
	! grep -q '"dropped": [1-9]' "$folder/r.json" || fail "$name, $door: records dropped"
	if [ "$name" = print ]; then
		once=$(LC_ALL=C grep -c '^lane 0 of even' "$folder/out")
		hip_replay $door "$name" 3 --decline-visible
		expect_said "$name" "$name, $door, --decline-visible"
		[ $(($(LC_ALL=C grep -c '^lane 0 of even' "$folder/out") * 3)) -eq "$once" ] ||
			fail "$name, $door: with --decline-visible still printed in every pass"
	fi
done
finish
