# SPDX-License-Identifier: MIT
# Exit statuses: the program's own, whatever it is, else those of env(1).
. "$(dirname "$0")/lib.sh" "$@"

for code in 0 1 7 125 126 127 255; do
	run "$kreplay" run -- sh -c "echo out; exit $code"
	expect_status "$code" "exit $code"
	expect_out 'out
' "exit $code"
	expect_err '^kreplay: no kernel dispatch was seen$' "exit $code"
done

run "$kreplay" run true
expect_status 0 'without --'

# the command's flags are its own
run "$kreplay" run sh -c 'printf "%s\n" "$*"' sh -n 5 --passes
expect_status 0 'flags of the command'
expect_out '-n 5 --passes
' 'flags of the command'

# argv[0] is what was asked for, not where it was found
run "$kreplay" run -- sh -c 'echo "$0"'
expect_out 'sh
' 'argv[0]'

# standard input is the program's
echo in | "$kreplay" run cat >"$folder/out" 2>"$folder/err"
expect_out 'in
' 'standard input'

run "$kreplay" run -- /nonexistent/program
expect_error 127 "'/nonexistent/program': No such file or directory\$" 'absent path'
run "$kreplay" run -- kreplay-no-such-program
expect_error 127 "'kreplay-no-such-program': not found in PATH\$" 'absent name'
run "$kreplay" run -- ''
expect_error 127 "'': No such file or directory\$" 'empty name'

: >"$folder/plain"
run "$kreplay" run -- "$folder/plain"
expect_error 126 "'.*/plain': Permission denied\$" 'not executable'
run "$kreplay" run -- "$folder"
expect_error 126 "'.*': Is a directory\$" 'a folder'
PATH="$folder:$PATH" run "$kreplay" run -- plain
expect_error 126 "'plain': Permission denied\$" 'not executable, found in PATH'

# not the first of that name in PATH, but the first that can be executed
mkdir "$folder/bin"
printf '#!/bin/sh\necho found\n' >"$folder/bin/plain"
chmod +x "$folder/bin/plain"
PATH="$folder:$folder/bin:$PATH" run "$kreplay" run -- plain
expect_status 0 'second in PATH'
expect_out 'found
' 'second in PATH'

# what only execve can find out
printf '#!/nonexistent/interpreter\n' >"$folder/script"
chmod +x "$folder/script"
run "$kreplay" run -- "$folder/script"
expect_status 127 'absent interpreter'
expect_err "interpreter that it names is not there\$" 'absent interpreter'
expect_no_err 'no kernel dispatch' 'absent interpreter'
printf '\177ELFnonsense' >"$folder/script"
run "$kreplay" run -- "$folder/script"
expect_out '' 'broken executable'
[ "$status" -ne 0 ] || fail 'broken executable: exit status 0'

# a script without an interpreter line is the shell's
printf 'echo "script $1"; exit 5\n' >"$folder/script"
run "$kreplay" run -- "$folder/script" one
expect_status 5 'plain script'
expect_out 'script one
' 'plain script'

run "$kreplay" softgpu -- sh -c 'echo out; exit 7'
expect_status 7 'softgpu'
expect_out 'out
' 'softgpu'
run "$kreplay" softgpu -- kreplay-no-such-program
expect_error 127 "'kreplay-no-such-program': not found in PATH\$" 'softgpu, absent name'
run "$kreplay" softgpu
expect_error 125 'softgpu: no command is given' 'softgpu, no command'

finish
