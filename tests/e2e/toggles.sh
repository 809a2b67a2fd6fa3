# SPDX-License-Identifier: MIT
# contract 2: local toggles on the real runtime. Statuses: 0 success, 2 context not found, 9 context error, 11 not
# started.
. "$(dirname "$0")/lib.sh"

# Loops of five passes over vecadd's dispatches; the second must look like the first, although that one left `records` and
# `watcher` stopped. It alone knows a stop function before its first pass, so its upcall can try it.
loop() {
	cat <<-TEXT
		config enter
		in pass_count $1
		pass 0 enter
		unknown 2
		asleep 11 active 0
		watcher 0 enter
		records 0
		watcher 0 exit
		pass 0 exit
		in pass exit 9
		in continue 9
		pass 1 enter
		stop 0 active 1
		stop watcher 0
		pass 1 exit
		pass 2 enter
		pass 2 exit
		pass 3 enter
		start 0 active 1
		stop driver 0
		records 3
		pass 3 exit
		pass 4 enter
		stop 0 active 1
		pass 4 exit
		config exit
		in config exit 9
	TEXT
}

for door in $doors; do
	E2E_LOG=$folder/log replay $door -t "$tools/toggles.so" -- "$examples/vecadd"
	expect_status 0 "$door"
	expect_replayed vecadd 3 5 "$door"
	{
		loop -1
		loop 9
		loop 9
	} >"$folder/want"
	expect_same "$folder/log" "$door, toggles" <"$folder/want"
	expect_err '^kreplay: .*987654321' "$door, a warning about the unknown context"
done
finish
