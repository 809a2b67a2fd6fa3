# SPDX-License-Identifier: MIT
# --help, --version, and the man pages, which are what the launcher prints.
. "$(dirname "$0")/lib.sh" "$@"

run "$kreplay" --version
expect_status 0 'version'
grep -q '^kreplay [0-9][0-9.]*$' "$folder/out" || fail "version: $(cat "$folder/out")"

for arguments in --help -h help; do
	run "$kreplay" $arguments
	expect_status 0 "$arguments"
	grep -q '^usage: kreplay COMMAND' "$folder/out" || fail "$arguments: $(cat "$folder/out")"
	grep -q '^  run  ' "$folder/out" || fail "$arguments: no commands"
	! grep -q 'check-tool' "$folder/out" || fail "$arguments: shows what is hidden"
	expect_no_err . "$arguments"
done

for command in run softgpu help; do
	run "$kreplay" help "$command"
	expect_status 0 "help $command"
	grep -q "^usage: kreplay $command " "$folder/out" || fail "help $command: $(cat "$folder/out")"
	awk 'length($0) > 80 { exit 1 }' "$folder/out" || fail "help $command: a line longer than 80"
done

run "$kreplay" help run
cp "$folder/out" "$folder/first"
for arguments in --help -h '--passes 3 --help'; do
	run "$kreplay" run $arguments
	expect_status 0 "run $arguments"
	cmp -s "$folder/out" "$folder/first" || fail "run $arguments: not what help run prints"
done
for flag in '-n, --passes N' '-k, --kernel REGEX' '--dispatch RANGE' '-t, --tool PATH' '-o, --output FILE' '--door DOOR' \
	'--softgpu\[=SPEC\]'; do
	grep -q -e "^  $flag\$" "$folder/first" || fail "help run: no $flag"
done
# every flag has its variable
[ "$(grep -c '^  \(-., \)\?--' "$folder/first")" -eq $(($(grep -c 'environment: KREPLAY_' "$folder/first") + 1)) ] ||
	fail 'help run: a flag without a variable'
! grep -q 'JOURNAL\|TEST' "$folder/first" || fail 'help run: shows what is internal'

for page in '' run softgpu; do
	file=docs/man/kreplay${page:+-$page}.1
	run "$kreplay" man $page
	expect_status 0 "man $page"
	cmp -s "$folder/out" "$source_root/$file" ||
		fail "$file is not what the launcher prints: kreplay man $page >$file"
done

finish
