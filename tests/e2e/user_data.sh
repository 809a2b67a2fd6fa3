# SPDX-License-Identifier: MIT
# contract 2: who sees what is written to user_data. Every callback writes OPERATION * 100 + PASS * 10 + (1 in ENTER, 2 in
# EXIT): what CONFIG ENTER leaves (101) is given afresh to each operation; what an ENTER leaves, to the EXIT of that same
# operation; and what PASS EXIT leaves, to replay_continue.
. "$(dirname "$0")/lib.sh"

for door in $doors; do
	E2E_LOG=$folder/log replay $door -t "$tools/user_data.so" --  "$examples/matmul"
	expect_status 0 "$door"
	expect_same "$folder/log" "$door, user_data" <<-'TEXT'
		config enter 0
		pass_count 101
		snapshot enter 101
		snapshot exit 301
		pass enter 101
		pass exit 201
		continue 0 202
		restore enter 101
		restore exit 401
		pass enter 101
		pass exit 211
		continue 1 212
		restore enter 101
		restore exit 411
		pass enter 101
		pass exit 221
		config exit 101
	TEXT
done
finish
