# SPDX-License-Identifier: MIT
# scenario.sh KREPLAY BUILD-ROOT NN_NAME [SWITCHES]: one scenario, in both doors, on the software GPU with these
# switches. What a story has to do at a certain point of a replay window it does from a callback of
# scenario_driver.so; see tests/programs/scenarios.
. "$(dirname "$0")/stories.sh"
scenario=$1

# fault DOOR [NAME=VALUE...] COMMAND...: with the library and, between it and the runtime, the one that lets calls fail
fault() {
	fault_door=$1
	shift
	rm -f "$folder/r.json"
	case $fault_door in
	preload) bare LD_PRELOAD="$library $tools/beneath.so" KREPLAY_OUTPUT="$folder/r.json" "$@" ;;
	# preloaded too, for the functions of the C library
	*) bare LD_PRELOAD="$tools/beneath_table.so" HSA_TOOLS_LIB="$tools/beneath_table.so $library" \
		KREPLAY_TOOL="$tools/beneath_table.so" KREPLAY_OUTPUT="$folder/r.json" "$@" ;;
	esac
}

case $scenario in
01_*) each other_queue ;;
02_*) each freed_in_callback freed_by_thread ;;
03_*) each same_address ;;
04_*)
	for door in $doors; do
		for passes in 1 2 5; do
			play $door one_doorbell -n $passes
			expect_replayed mix 4 $passes "$door, one doorbell, $passes passes"
		done
	done
	;;
05_*)
	# contract 2: in order
	for door in $doors; do
		for passes in 1 3; do
			play $door out_of_order -n $passes
			expect_replayed mix 8 $passes "$door, out of order, $passes passes"
		done
	done
	;;
06_*)
	for door in $doors; do
		for passes in 1 3; do
			play $door wrap_around -n $passes
			expect_replayed mix 68 $passes "$door, wrap-around, $passes passes"
		done
	done
	;;
07_*)
	many=10000
	case $switches in
	*delay*) [ -n "$nightly" ] || many=2000 ;; # a packet that waits at random takes far longer
	esac
	for door in $doors; do
		play $door many_threads $many -n 3 --dispatch 1-20,800-819,1001,$((many - 10))-$many
		expect_json bump dispatches $many "$door"
		expect_json bump replayed 52 "$door"
		expect_json bump declined '{}' "$door"
		play $door many_threads $many -n 1
		expect_json bump dispatches $many "$door, nothing replayed"
	done
	;;
08_*)
	for door in $doors; do
		play $door nearly_full -n 5
		expect_replayed mix 320 5 "$door"
		play $door nearly_full -n 5 --dispatch 50-70,300-
		expect_json mix replayed 42 "$door, some"
	done
	;;
09_*)
	# contract 3, contract 5: one of the variables is static, without a symbol; the program checks both
	for door in $doors; do
		replay $door -n 5 -- "$examples/counter" 1024 3
		expect_status 0 "$door"
		expect_out 'counter: ok (1024 work-items, 4 launches)' "$door"
		expect_replayed bump 3 5 "$door"
	done
	;;
10_*)
	# contract 6: with "full" all copies are the runtime's. saxpy has two buffers, so at least that many copies; far
	# beyond them nothing fails any more
	for door in $doors; do
		for late in '' 1; do
			for k in 1 2 99; do
				what="$door, copy $k of the snapshot fails${late:+ late}"
				fault $door KREPLAY_PASSES=3 KREPLAY_SNAPSHOT=full E2E_FAIL_PHASE=snapshot \
					E2E_FAIL_COPY=$k ${late:+E2E_FAIL_LATE=1} "$examples/saxpy"
				expect_status 0 "$what"
				expect_out 'saxpy: ok (65536 elements, 3 launches)' "$what"
				if [ $k -eq 99 ]; then
					expect_replayed saxpy 3 3 "$what"
				else
					expect_json saxpy declined '{"copy failed": 3}' "$what"
					expect_json saxpy passes 0 "$what"
				fi

				# contract 6: memory is mixed then and nothing can repair it
				what="$door, copy $k of the restore fails${late:+ late}"
				fault $door KREPLAY_PASSES=3 KREPLAY_SNAPSHOT=full E2E_FAIL_PHASE=restore \
					E2E_FAIL_COPY=$k ${late:+E2E_FAIL_LATE=1} "$examples/saxpy"
				if [ $k -eq 99 ]; then
					expect_status 0 "$what"
				else
					expect_status 134 "$what"
					expect_err '^kreplay: .*restored.*saxpy' "$what"
					[ ! -s "$folder/out" ] || fail "$what: standard output: $(cat "$folder/out")"
				fi
			done
		done
	done
	;;
11_*)
	for door in $doors; do
		# contract 6: the room for the snapshot; far beyond what is asked for nothing fails any more
		for k in 1 99; do
			fault $door KREPLAY_PASSES=3 E2E_FAIL_POOL=$k "$examples/saxpy"
			expect_status 0 "$door, no memory from allocation $k on"
			expect_out 'saxpy: ok (65536 elements, 3 launches)' "$door, no memory from allocation $k on"
		done
		expect_replayed saxpy 3 3 "$door, enough memory"

		# every allocation from the C library that the library makes, one after the other
		fault $door KREPLAY_PASSES=3 E2E_BENEATH_LOG="$folder/count" "$examples/saxpy" 1024
		last=$(cat "$folder/count")
		[ "$last" -gt 10 ] || fail "$door: only '$last' allocations were seen"
		k=1
		while [ $k -le "$last" ]; do
			fault $door KREPLAY_PASSES=3 E2E_FAIL_MALLOC=$k "$examples/saxpy" 1024
			expect_status 0 "$door, allocation $k of $last fails"
			expect_out 'saxpy: ok (1024 elements, 3 launches)' "$door, allocation $k of $last fails"
			k=$((k + 1))
		done
	done
	;;
12_*)
	for door in $doors; do
		tell $door spin_on_queue --drain-timeout 1
	done
	;;
13_*) each host_handshake_thread ;;
13b_*) each host_handshake ;;
14_*) each dependency_later ;;
15_*) each parked_queue ;;
16_*) each copies ;;
16b_*) each copy_after_kernel ;;
17_*) each destroyed_queue ;;
18_*)
	for door in $doors; do
		tell $door agents --softgpu=gfx90a:4$switches
	done
	;;
19_*)
	for door in $doors; do
		replay $door -n 3 -- "$programs/forks" 4
		expect_status 0 "$door, fork"
		expect_out 'forks: ok (1024 elements, 5 launches)' "$door, fork"
		expect_replayed add 5 3 "$door, fork"
		loaded $door KREPLAY_PASSES=3 "$programs/forks" 4
		expect_status 0 "$door, fork, by the environment"
		# the children exit with a copy of everything in memory and must not report it
		[ "$(grep -c '^total: ' "$folder/err")" -eq 1 ] ||
			fail "$door, fork, by the environment: not one report: $(cat "$folder/err")"
		expect_err '^total: 5 dispatches, 5 replayed' "$door, fork, by the environment"
		play $door vfork_exec -n 3
		expect_replayed add 3 3 "$door, vfork"
	done
	;;
20_*)
	for door in $doors; do
		loaded $door KREPLAY_PASSES=2 sh -c 'x=$(uname -n); y=$(echo "$x" | cat); [ "$x" = "$y" ] && exec "$0"' \
			"$examples/matmul"
		expect_status 0 "$door"
		expect_out 'matmul: ok (96 x 96 elements, 1 launches)' "$door"
		[ "$(grep -c '^total: ' "$folder/err")" -eq 1 ] || fail "$door: not one report: $(cat "$folder/err")"
		# nothing but programs without HSA: nothing at all is said
		loaded $door KREPLAY_PASSES=2 sh -c 'x=$(uname -n); echo done'
		expect_status 0 "$door, no HSA"
		expect_out 'done' "$door, no HSA"
		! grep -v 'no kernel dispatch was seen' "$folder/err" || fail "$door, no HSA: $(cat "$folder/err")"
	done
	;;
21_*)
	wraps=$tools/other_wraps.so
	intercepts=$tools/other_intercepts.so
	# PRELOAD|TOOLS-LIB|REPLAYED|what the other tool counts. One that has the runtime make an intercepted queue by itself,
	# in front of us, has taken that queue from us.
	while IFS='|' read -r preload tools_lib replayed other; do
		what="LD_PRELOAD='$preload' HSA_TOOLS_LIB='$tools_lib'"
		rm -f "$folder/other" "$folder/r.json"
		bare LD_PRELOAD="$preload" HSA_TOOLS_LIB="$tools_lib" KREPLAY_PASSES=3 KREPLAY_OUTPUT="$folder/r.json" \
			E2E_OTHER_LOG="$folder/other" "$scenarios" variables
		expect_status 0 "$what"
		expect_same "$folder/out" "$what: the program's own variables" <<-TEXT
			$preload|$tools_lib
			scenarios: variables ok
		TEXT
		[ "$(grep -c '^total: ' "$folder/err")" -le 1 ] || fail "$what: two reports: $(cat "$folder/err")"
		if [ "$replayed" -eq 1 ]; then
			expect_replayed add 1 3 "$what"
		fi
		[ -z "$other" ] || [ "$(cat "$folder/other" 2>&1)" = "$other" ] ||
			fail "$what: the other tool says '$(cat "$folder/other" 2>&1)' instead of '$other'"
	done <<-CASES
		$library|$library|1|
		$library||1|
		|$library|1|
		$library $library||1|
		|$library $library|1|
		$library $library|$library $library|1|
		$library|$wraps|1|queues 1 packets 0
		|$wraps $library|1|queues 1 packets 0
		|$library $wraps|1|queues 1 packets 0
		$library|$intercepts|1|queues 1 packets 1
		|$intercepts $library|1|queues 1 packets 1
		|$library $intercepts|0|queues 1 packets 1
		|$wraps $library $intercepts|0|
	CASES
	;;
22_*)
	bare "$scenarios" cycles
	expect_status 0 'cycles without us'
	cp "$folder/out" "$folder/without"
	for door in $doors; do
		# finalized with the first hsa_shut_down, which no thread of ours outlives; later rounds are the application's alone
		story $door cycles -n 3
		expect_same "$folder/out" "$door, cycles" <"$folder/without"
		expect_json add declined '{}' "$door, cycles"
		[ "$(json add replayed)" -ge 2 ] || fail "$door, cycles: $(json add replayed) replayed"
		replay $door -n 3 -- "$programs/scenarios/loader" "$programs/scenarios/module.so"
		expect_status 0 "$door, dlopen"
		expect_out 'loader: ok' "$door, dlopen"
		[ "$(json add replayed)" -ge 2 ] || fail "$door, dlopen: $(json add replayed) replayed"
		loaded $door KREPLAY_PASSES=3 "$programs/scenarios/loader" "$programs/scenarios/module.so"
		expect_status 0 "$door, dlopen, by the environment"
		[ "$(grep -c '^total: ' "$folder/err")" -eq 1 ] || fail "$door, dlopen: not one report: $(cat "$folder/err")"
	done
	;;
23_*)
	for door in $doors; do
		for pair in live_return=41 live_exit=42 live__exit=43; do
			replay $door -n 3 -- "$scenarios" ${pair%=*}
			expect_status ${pair#*=} "$door, $pair"
			expect_out live "$door, $pair"
			[ "$(json add replayed || echo 0)" -ge 2 ] || fail "$door, $pair: $(json add replayed) replayed"
			loaded $door KREPLAY_PASSES=3 "$scenarios" ${pair%=*}
			expect_status ${pair#*=} "$door, $pair, by the environment"
			[ $pair = live__exit=43 ] || expect_err '^total: ' "$door, $pair, by the environment"
		done
		replay $door -t "$tools/scenario_driver.so" -- "$scenarios" term_in_window
		expect_status 143 "$door, SIGTERM in a window"
		expect_json add dispatches 2 "$door, SIGTERM in a window"
		expect_json add replayed 1 "$door, SIGTERM in a window"
		expect_json add passes 4 "$door, SIGTERM in a window"
		replay $door -t "$tools/scenario_driver.so" -- "$scenarios" exit_in_window
		expect_status 44 "$door, exit in a window"
		expect_json add replayed 1 "$door, exit in a window"
	done
	;;
24_*)
	# a packet that waits at random takes far longer: fewer of them, but for the night
	many=20000
	case $switches in
	*reorder* | *delay*) [ -n "$nightly" ] || many=2000 ;;
	esac
	for door in $doors; do
		tell $door many $many
		expect_json bump dispatches $many "$door"
		expect_json bump replayed $((many / 10)) "$door"
	done
	# signals counted as well
	bare LD_PRELOAD="$library $tools/beneath.so" KREPLAY_TOOL="$tools/scenario_driver.so" "$scenarios" many $many
	expect_status 0 'signals counted'
	expect_out 'scenarios: many ok' 'signals counted'
	;;
25_*)
	bare "$scenarios" times
	expect_status 0 'without us'
	each times
	for door in $doors; do
		play $door times -n 1
		play $door times -n 3
	done
	;;
26_*)
	for door in $doors; do
		for passes in 1 3; do
			play $door vendor_packet -n $passes
			expect_replayed mix 2 $passes "$door, vendor packet, $passes passes"
		done
	done
	# the error is what it is without us, word for word but for the queue's number
	said() {
		grep '^softgpu: \|^scenarios: ' "$folder/err" | sed 's/[0-9]\{1,\}/N/g'
	}
	bare "$scenarios" unknown_packet
	expect_status 3 'unknown packet without us'
	said >"$folder/without"
	for door in $doors; do
		replay $door -n 3 -- "$scenarios" unknown_packet
		expect_status 3 "$door, unknown packet"
		said >"$folder/with"
		expect_same "$folder/with" "$door, unknown packet" <"$folder/without"
		expect_replayed mix 1 3 "$door, unknown packet"
	done
	;;
27_*)
	for story in ring_by_pointer ring_from_device; do
		case $switches in
		*doorbell=1*) ;; # a card of that kind has more to be told than its doorbell: only through us is it rung so
		*)
			bare "$scenarios" $story
			expect_status 0 "$story without us"
			;;
		esac
		for door in $doors; do
			play $door $story -n 3 -k mix
			expect_json mix declined '{}' "$door, $story"
			[ "$(json mix replayed)" = "$(json mix dispatches)" ] || fail "$door, $story: $(json mix replayed) replayed"
		done
	done
	;;
28_*)
	each nested nested_same_queue
	expect_err '^kreplay: replay: what a callback dispatches on the agent that is being replayed is not replayed: reentrant$' \
		'nested_same_queue'
	for door in $doors; do
		tell $door nested_other_agent --softgpu=gfx90a:2$switches
	done
	;;
29_*)
	for door in $doors; do
		for passes in 1 3; do
			play $door overwritten -n $passes
			expect_replayed mix 10 $passes "$door, overwritten, $passes passes"
		done
	done
	;;
30_*)
	each prints
	for door in $doors; do
		play $door prints_once -n 4 --decline-visible --log info
		expect_json bump declined '{"externally visible": 1}' "$door"
		expect_err ' outcome=declined reason="externally visible" .* visible=1 ' "$door"
	done
	;;
*) fail "no scenario '$scenario'" ;;
esac
finish
