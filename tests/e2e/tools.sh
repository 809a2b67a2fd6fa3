# SPDX-License-Identifier: MIT
# Several tools at once: one drives, the others observe and decide nothing.
. "$(dirname "$0")/lib.sh"

# line OPERATION PHASE PASS TOTAL RUN MEMORY
line() {
	echo "$1 $2 id=1 pass=$3 total=$4 outcome=0 decline=none run=$5 memory=$6"
}

# what an observer of matmul replayed three times sees; PASS and all the rest, and no CONFIG
observed() {
	line SNAPSHOT ENTER 0 3 0 0
	line SNAPSHOT EXIT 0 3 0 1
	for pass in 0 1 2; do
		line PASS ENTER $pass 3 $pass 1
		line PASS EXIT $pass 3 $((pass + 1)) 1
		[ $pass -eq 2 ] || line RESTORE ENTER $pass 3 $((pass + 1)) 1
		[ $pass -eq 2 ] || line RESTORE EXIT $pass 3 $((pass + 1)) 1
	done
	echo finalize
}
observed >"$folder/observed"

expect_observed() {
	sed -E 's/ count=[01] continue=[01] start=[01] stop=[01]//' "$folder/observer" >"$folder/found"
	expect_same "$folder/found" "$1" <"$folder/observed"
	# toggles and decisions are the driver's: an observer reads NULL
	! grep -E '(count|start|stop)=1' "$folder/observer" || fail "$1: functions in an observer's payload"
}

for door in $doors; do
	# beside the driver of the library; what it writes to the payload is not read
	E2E_OBSERVER_LOG=$folder/observer replay $door -n 3 -t "$tools/observer.so" -- "$examples/matmul"
	expect_status 0 "$door, beside the library's driver"
	expect_replayed matmul 1 3 "$door, beside the library's driver"
	expect_observed "$door, beside the library's driver"

	# beside a driving tool, loaded before and after it
	for order in "$tools/recorder.so $tools/observer.so" "$tools/observer.so $tools/recorder.so"; do
		set -- $order
		E2E_LOG=$folder/driver E2E_OBSERVER_LOG=$folder/observer \
			replay $door -t "$1" -t "$2" -- "$examples/matmul"
		expect_status 0 "$door, $order"
		expect_replayed matmul 1 3 "$door, $order"
		expect_observed "$door, $order"
		grep -q '^CONFIG EXIT.*outcome=2' "$folder/driver" || fail "$door, $order: the driver saw no CONFIG EXIT"
	done

	# a second driver is refused; it may still watch. A context after the configuration is refused too.
	E2E_LOG=$folder/driver E2E_SECOND_LOG=$folder/second \
		replay $door -t "$tools/recorder.so" -t "$tools/second_driver.so" -- "$examples/matmul"
	expect_status 0 "$door, two drivers"
	expect_replayed matmul 1 3 "$door, two drivers"
	expect_same "$folder/second" "$door, two drivers" <<-'TEXT'
		config: KREPLAY_STATUS_ERROR_SERVICE_ALREADY_CONFIGURED
		all: KREPLAY_STATUS_ERROR_SERVICE_ALREADY_CONFIGURED
		pass: KREPLAY_STATUS_SUCCESS
		late context: KREPLAY_STATUS_ERROR_CONFIGURATION_LOCKED
		6 callbacks
	TEXT

	# the same tool twice is one
	E2E_LOG=$folder/driver replay $door -t "$tools/recorder.so" -t "$tools/recorder.so" -- "$examples/matmul"
	expect_status 0 "$door, the same tool twice"
	expect_replayed matmul 1 3 "$door, the same tool twice"
	[ "$(grep -c '^finalize' "$folder/driver")" -eq 1 ] || fail "$door, the same tool twice: $(cat "$folder/driver")"
done
finish
