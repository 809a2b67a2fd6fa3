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

for command in run softgpu report info help; do
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
for flag in '-n, --passes N' '-k, --kernel REGEX' '--dispatch RANGE' '-t, --tool TOOL' '--check\[=fail\]' '--writes' '--until cv=PERCENT' '-o, --output FILE' '--door DOOR' \
	'--softgpu\[=SPEC\]'; do
	grep -q -e "^  $flag\$" "$folder/first" || fail "help run: no $flag"
done
# every flag has its variable
[ "$(grep -c '^  \(-., \)\?--' "$folder/first")" -eq $(($(grep -c 'environment: KREPLAY_' "$folder/first") + 1)) ] ||
	fail 'help run: a flag without a variable'
! grep -q 'JOURNAL\|TEST' "$folder/first" || fail 'help run: shows what is internal'

for page in '' run softgpu report info help; do
	file=docs/man/kreplay${page:+-$page}.1
	run "$kreplay" man $page
	expect_status 0 "man $page"
	cmp -s "$folder/out" "$source_root/$file" ||
		fail "$file is not what the launcher prints: kreplay man $page >$file"
done

for shell in bash zsh; do
	[ $shell = bash ] && file=completions/kreplay.bash || file=completions/_kreplay
	run "$kreplay" completion $shell
	expect_status 0 "completion $shell"
	cmp -s "$folder/out" "$source_root/$file" ||
		fail "$file is not what the launcher prints: kreplay completion $shell >$file"
done

# what a shell makes of it
if command -v bash >/dev/null; then
	complete() {
		bash -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _kreplay; printf "%s\n" "${COMPREPLY[@]}"' \
			bash "$source_root/completions/kreplay.bash" "$@" | tr '\n' ' '
	}
	[ "$(complete kreplay r)" = 'run report ' ] || fail "bash: $(complete kreplay r)"
	[ "$(complete kreplay run --unt)" = '--until ' ] || fail "bash: $(complete kreplay run --unt)"
	[ "$(complete kreplay run -n 3 --door t)" = 'tools-lib ' ] || fail "bash: $(complete kreplay run -n 3 --door t)"
	[ "$(complete kreplay run -n 3 -t det)" = 'determinism ' ] || fail "bash: $(complete kreplay run -n 3 -t det)"
	[ "$(complete kreplay run -n 3 -- ls --)" = ' ' ] || fail "bash: $(complete kreplay run -n 3 -- ls --)"
fi
if command -v zsh >/dev/null; then
	zsh -n "$source_root/completions/_kreplay" || fail 'zsh cannot read its completion'
fi

# the page on the header is made from the header
/usr/bin/python3 "$source_root/docs/man/header_page.py" "$source_root/include/kreplay/kreplay.h" >"$folder/out"
cmp -s "$folder/out" "$source_root/docs/man/kreplay.h.3" ||
	fail "docs/man/kreplay.h.3 is not what header_page.py makes: header_page.py include/kreplay/kreplay.h >docs/man/kreplay.h.3"

finish
