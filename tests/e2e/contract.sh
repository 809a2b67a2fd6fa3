# SPDX-License-Identifier: MIT
# contract.sh KREPLAY BUILD-ROOT NAME [SWITCHES]: what contract.txt says is shown here and nowhere else; see stories.sh.
. "$(dirname "$0")/stories.sh"
name=$1

# as_without_us STORY: standard output is what it is without the library.
as_without_us() {
	bare "$scenarios" "$1"
	expect_status 0 "$1 without us"
	cp "$folder/out" "$folder/without"
	for door in $doors; do
		E2E_LOG=$folder/driver story $door "$1" -t "$tools/scenario_driver.so"
		expect_same "$folder/out" "$door, $1" <"$folder/without"
	done
}

case $name in
one_dispatch)
	# contract 2: queue and agent are drained, the application's signal fires once and after CONFIG EXIT, and what a
	# callback dispatches runs once
	each one_completion in_flight own_predecessor copies_in_flight nested_unreplayed
	;;
one_thread)
	# contract 2: one thread runs the window, and the records keep the name of the one that rang
	log=$folder/log
	for door in $doors; do
		E2E_LOG=$log E2E_THREADS=1 E2E_COUNT=3 E2E_LAST=9 \
			story $door handed_over -t "$tools/recorder.so"
		expect_replayed mix 2 3 "$door, handed over"
		[ "$(grep -c '^window on another thread$' "$log")" -eq 2 ] ||
			fail "$door, handed over: not by the worker: $(cat "$log")"
		[ "$(grep -c '^continue ' "$log")" -eq 4 ] && [ "$(grep -c '^complete ' "$log")" -eq 6 ] ||
			fail "$door, handed over: upcalls or records are missing: $(cat "$log")"
		! grep -E 'OTHER|BAD' "$log" || fail "$door, handed over: another thread or correlation id: $(cat "$log")"
	done
	;;
statistics)
	# contract 2: bytes, regions, tier and seconds in SNAPSHOT EXIT, bytes written back and seconds in RESTORE EXIT.
	# vecadd writes the same again from its second dispatch on: nothing differs, and nothing is to be put back.
	for door in $doors; do
		while read -r mode tier; do
			for program in vecadd saxpy; do
				what="$door, $program, snapshot $mode"
				E2E_LOG=$folder/log replay $door -n 3 --snapshot "$mode" -t "$tools/statistics.so" -- "$examples/$program"
				expect_status 0 "$what"
				expect_replayed $program 3 3 "$what"
				for id in 1 2 3; do
					echo "dispatch $id: tier $tier"
					case $program$id in
					vecadd[23]) echo "dispatch $id: changes nothing" ;;
					*) echo "dispatch $id: changes memory" ;;
					esac
				done >"$folder/want"
				expect_same "$folder/log" "$what" <"$folder/want"
			done
		done <<-'CASES'
			device 1
			host 2
			full 2
		CASES
	done
	;;
application)
	# contract 3: what the application sees of its queue
	each barrier_or unordered
	as_without_us queue_full
	expect_replayed mix 64 3 'queue full'
	as_without_us queue_calls
	expect_json mix replayed 1 'queue calls'
	# contract 6: a dispatch with nothing in its grid or work-group, without a kernel or with a signal that is
	# destroyed is an unsupported packet
	as_without_us queue_error
	expect_json mix replayed 1 'queue error'
	expect_json mix declined '{"unsupported packet": 3}' 'queue error'
	expect_json '(unnamed kernel)' declined '{"unsupported packet": 1}' 'queue error'
	;;
isolation)
	# contract 4: what counts as drained, and that windows and the others take turns
	each parked_or in_flight crowd
	;;
scope)
	# contract 5: what is saved, what is left out and counted, and memory of others
	each scopes ipc_memory locked_device
	for door in $doors; do
		tell $door peer_memory --softgpu="gfx90a:2$switches"
	done
	;;
*) fail "nothing is called '$name'" ;;
esac
finish
