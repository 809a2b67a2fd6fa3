# SPDX-License-Identifier: MIT
# The memory view in PASS EXIT, beside the driver of the library: exactly the bytes that a pass has changed, in every pass,
# the last one included.
. "$(dirname "$0")/lib.sh"
log=$folder/log

for door in $doors; do
	# counter: `launches` goes 0, 1, 2, 3 and `work_items` 0, 0x400, 0x800, 0xc00: one byte of each in each dispatch, both
	# in the variables of the module (kind 2). The last kernel writes 3 and 0xc00 to two words of memory (kind 0).
	# Refusals, tried once: 19 invalid argument, 36 not available.
	E2E_LOG=$log replay $door -n 3 -t "$tools/memory.so" -- "$examples/counter"
	expect_status 0 "$door, counter"
	expect_replayed bump 3 3 "$door, counter"
	for dispatch in 1 2 3 4; do
		kernel=bump kind=2
		[ $dispatch -lt 4 ] || kernel=report kind=0
		echo $kernel
		for pass in 0 1 2; do
			echo "pass $pass: 1 bytes in a region of kind $kind"
			echo "pass $pass: 1 bytes in a region of kind $kind"
			echo "pass $pass: 2 bytes changed"
			if [ $dispatch -eq 1 ] && [ $pass -eq 0 ]; then
				echo 'out of scope 19 19'
				echo 'null 19 19'
				echo 'other thread 36'
			fi
		done
	done >"$folder/want"
	echo 'after the window 36' >>"$folder/want"
	expect_same "$log" "$door, counter" <"$folder/want"

	# saxpy: the tool compares what is said with the bytes of both sides; here, that all passes say the same, and how much
	# can have changed: y alone, and not where x is 0
	for elements in 1 63 65536; do
		E2E_LOG=$log E2E_SUM=1 replay $door -n 4 -t "$tools/memory.so" -- "$examples/saxpy" $elements 1
		what="$door, saxpy of $elements"
		expect_status 0 "$what"
		sum=$(sed -n 's/^pass 0: \([0-9]*\) bytes changed/\1/p' "$log")
		[ -n "$sum" ] && [ "$sum" -le $((4 * elements)) ] || fail "$what: '$sum' bytes changed"
		[ $elements -eq 1 ] || [ "${sum:-0}" -ge $((elements / 2)) ] || fail "$what: only '$sum' bytes changed"
		{
			echo saxpy
			for pass in 0 1 2 3; do
				echo "pass $pass: $sum bytes changed"
				[ $pass -gt 0 ] || printf '%s\n' 'out of scope 19 19' 'null 19 19' 'other thread 36'
			done
			echo 'after the window 36'
		} >"$folder/want"
		expect_same "$log" "$what" <"$folder/want"
	done

	# without restore a later pass has changed more than the first: the view tells the passes apart
	KREPLAY_TEST_NO_RESTORE=1 E2E_LOG=$log E2E_SUM=1 replay $door -n 2 -t "$tools/memory.so" -- "$examples/saxpy" 4096 1
	grep -q 'OTHER HASH' "$log" || fail "$door, not restored: the hashes of two passes are the same: $(cat "$log")"
done
finish
