# SPDX-License-Identifier: MIT
# With the restore switched off exactly the programs that work in place come out wrong: the others prove that passes alone
# do no harm, these that restoring is what keeps them right (contract 3: the results of one execution).
. "$(dirname "$0")/lib.sh"

for door in $doors; do
	while read -r name in_place rest; do
		[ "$name" != '#' ] || continue
		KREPLAY_TEST_NO_RESTORE=1 replay $door -n 2 -- "$examples/$name"
		if [ "$in_place" = yes ]; then
			expect_status 1 "$name, $door, not restored"
			expect_err "^$name: wrong: " "$name, $door, not restored"
		else
			expect_status 0 "$name, $door, not restored"
			expect_no_err 'wrong' "$name, $door, not restored"
		fi
	done <"$(dirname "$0")/examples.txt"
done
finish
