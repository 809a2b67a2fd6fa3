# SPDX-License-Identifier: MIT
# kreplay info: what is here, what is in force and from where, and whether replay can work.
. "$(dirname "$0")/lib.sh" "$@"

# expect_line PATTERN WHAT: on standard output.
expect_line() {
	grep -q -e "$1" "$folder/out" || fail "$2: no line '$1' in: $(cat "$folder/out")"
}

run "$kreplay" info --softgpu
expect_status 0 'info'
expect_no_err . 'info'
expect_line '^kreplay [0-9]' 'info'
expect_line '^  library  *.*/preload/libkreplay.so$' 'info'
expect_line '^  library  *.*/libhsa-runtime64.so' 'info'
expect_line '^  version  *[0-9]*\.[0-9]*$' 'info'
expect_line '^agent 1 gfx90a$' 'info'
expect_line '^  isa  *amdgcn-amd-amdhsa--gfx90a' 'info'
expect_line '^  memory  *[0-9.]* [GM]iB of its own$' 'info'
expect_line '^  kernels  *\(yes: \|none for this ISA: \)' 'info'
expect_line '^  preload  *works' 'info'
expect_line '^  tools-lib  *works' 'info'
expect_line '^  /dev/kfd  *' 'info'
expect_line '^  runs on  *the software GPU, as asked for$' 'info'
[ "$(tail -n 1 "$folder/out")" = 'replay can work here' ] || fail "info: the last line is $(tail -n 1 "$folder/out")"
if [ ! -e /dev/kfd ]; then
	expect_line '^  /dev/kfd  *not there: ' 'info without a card'
	run "$kreplay" info
	expect_status 0 'info without a card'
	expect_line '^  runs on  *the software GPU, for there is no /dev/kfd$' 'info without a card'
fi

KREPLAY_PASSES=7 KREPLAY_DOOR=tools-lib run "$kreplay" info --softgpu -n 9 --check=fail --writes
expect_status 0 'options'
expect_line '^  passes  *9 (flag)$' 'options'
expect_line '^  door  *tools-lib (environment)$' 'options'
expect_line '^  budget  *80% (default)$' 'options'
expect_line '^  kernel  *not set (default)$' 'options'
expect_line '^  check  *fail (flag)$' 'options'
expect_line '^  writes  *1 (flag)$' 'options'

KREPLAY_PASSES=many run "$kreplay" info --softgpu
expect_status 1 'a wrong option'
expect_line "^  passes  *wrong, so nothing would be replayed: 'many' is not a number of passes (1 or more) (environment)\$" 'a wrong option'
expect_line '^replay cannot work here$' 'a wrong option'

# a runtime that does not start, and one that is not there
run "$kreplay" info --softgpu=nonsense
expect_status 1 'no GPU'
expect_line '^  problem  *the runtime ' 'no GPU'
expect_line '^replay cannot work here$' 'no GPU'
mkdir "$folder/empty"
: >"$folder/empty/libhsa-runtime64.so.1"
LD_LIBRARY_PATH=$folder/empty run "$kreplay" info --softgpu
expect_status 1 'no runtime'
expect_line '^  library  *none: install ' 'no runtime'
expect_line '^replay cannot work here$' 'no runtime'

run "$kreplay" info -- true
expect_error 125 'info: takes no command' 'a command'
finish
