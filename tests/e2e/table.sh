# SPDX-License-Identifier: MIT
# table.sh SOURCE-ROOT: contract.txt does not rot. Each test that it names is in the tree and is run, and each file says
# so in a comment "contract N".
set -u
root=$1
table=$root/tests/e2e/contract.txt
failed=0

fail() {
	echo "FAILED: $*"
	failed=$((failed + 1))
}

# run_by_meson FILE: some meson.build on the way up names it, with or without its suffix
run_by_meson() {
	run_folder=$(dirname "$1")
	run_name=$(basename "$1")
	run_name=${run_name%.*}
	while [ "$run_folder" != . ]; do
		! grep -qE "['/]$run_name(\.[a-z]+)?'" "$root/$run_folder/meson.build" 2>/dev/null || return 0
		run_folder=$(dirname "$run_folder")
	done
	return 1
}

# a function of a unit test: defined, and in its file's list of tests
check_function() {
	[ "$(grep -cE "(^|[^a-z_])$2\(void \*\*" "$root/$1")" -eq 1 ] || fail "$1: no test $2"
	[ "$(grep -cE "(_TEST|TEST|cmocka_unit_test[a-z_]*)\($2[,)]" "$root/$1")" -eq 1 ] || fail "$1: $2 is not run"
}

# a story: told in the file, listed, and played by a script
check_story() {
	grep -q "^int story_$2(" "$root/$1" || fail "$1: no story $2"
	grep -q "STORY($2)" "$root/tests/programs/scenarios/scenarios.h" || fail "$1: story $2 is not listed"
	grep -qE "(each|tell|play|story|as_without_us) .*\b$2\b" "$root"/tests/e2e/*.sh || fail "$1: nobody tells story $2"
}

while IFS='|' read -r section sentence file name; do
	section=$(echo $section)
	case $section in
	'' | '#'*) continue ;;
	[2-6]) ;;
	*) fail "no section of the contract: '$section'" && continue ;;
	esac
	file=$(echo $file)
	name=${name# }
	seen=${seen:-}$section
	what="$section, $(echo $sentence)"
	if [ ! -f "$root/$file" ]; then
		fail "$what: there is no $file"
		continue
	fi
	run_by_meson "$file" || fail "$what: no meson.build runs $file"
	case $file in
	tests/programs/scenarios/*.c) check_story "$file" "$name" ;;
	*.c) check_function "$file" "$name" ;;
	*.sh) grep -qF -e "$name" "$root/$file" || fail "$what: no '$name' in $file" ;;
	*) fail "$what: what kind of test is $file?" ;;
	esac
	grep -qE "(#|\*) .*contract $section\b" "$root/$file" || fail "$file: no comment names contract $section"
done <"$table"
for section in 2 3 4 5 6; do
	case $seen in
	*$section*) ;;
	*) fail "nothing is said of section $section" ;;
	esac
done
[ "$failed" -eq 0 ] || echo "$failed checks failed"
exit "$failed"
