# SPDX-License-Identifier: MIT
# Signals: what kills the program is told by 128+N and leaves a report; what is sent to the launcher reaches the program.
. "$(dirname "$0")/lib.sh" "$@"

for signal in 'KILL 9' 'TERM 15' 'SEGV 11' 'INT 2' 'HUP 1'; do
	name=${signal% *}
	number=${signal#* }
	run "$kreplay" run -- sh -c "kill -$name \$\$; sleep 5"
	expect_status $((128 + number)) "SIG$name"
	expect_err "^kreplay: 'sh' was killed by signal $number (SIG$name)\$" "SIG$name"
	expect_err '^kreplay: no kernel dispatch was seen$' "SIG$name"
done

# Waits until the program has made the file "ready".
await_ready() {
	tries=0
	while [ ! -e "$folder/ready" ] && [ $tries -lt 200 ]; do
		sleep 0.05
		tries=$((tries + 1))
	done
	[ -e "$folder/ready" ]
}

# start PROGRAM-TEXT: in the background. When that does not work there is nothing to go on with.
start() {
	rm -f "$folder/ready"
	"$kreplay" run -- sh -c "$1" >"$folder/out" 2>"$folder/err" &
	launcher=$!
	if ! await_ready; then
		fail "the program did not start: $(cat "$folder/err")"
		finish
	fi
}

finish_run() {
	status=0
	wait "$launcher" || status=$?
}

# the program handles it and says so by its exit status
for name in TERM HUP USR1 USR2; do
	start "trap 'exit 42' $name; touch $folder/ready; while :; do sleep 0.05; done"
	kill -$name "$launcher"
	finish_run
	expect_status 42 "SIG$name to the launcher"
	expect_err '^kreplay: no kernel dispatch was seen$' "SIG$name to the launcher"
done

# it does not, and dies of it
start "touch $folder/ready; while :; do sleep 0.05; done"
kill -TERM "$launcher"
finish_run
expect_status 143 'SIGTERM, not handled'
expect_err "was killed by signal 15 (SIGTERM)\$" 'SIGTERM, not handled'

# nohup: what the launcher was started with ignored stays so in the program
rm -f "$folder/ready"
(
	trap '' TERM
	exec "$kreplay" run -- sh -c "touch $folder/ready; sleep 0.5; exit 3"
) >"$folder/out" 2>"$folder/err" &
launcher=$!
await_ready
kill -TERM "$launcher"
finish_run
expect_status 3 'SIGTERM ignored from the start'

# and a parent that ignores SIGCHLD does not make the launcher wait for ever
status=0
env --ignore-signal=CHLD "$kreplay" run -- true >"$folder/out" 2>"$folder/err" || status=$?
expect_status 0 'SIGCHLD ignored'

# the program starts with no signal blocked that was not blocked before
run "$kreplay" run -- sh -c 'grep SigBlk /proc/self/status'
expect_out "$(grep SigBlk /proc/self/status)
" 'signal mask'

# a terminal's Ctrl-C goes to both: the launcher stays, and does not pass on what the program has got itself
if command -v script >/dev/null && command -v timeout >/dev/null; then
	rm -f "$folder/ready"
	cat >"$folder/program" <<-END
		count=0
		trap 'count=\$((count + 1))' INT
		touch $folder/ready
		i=0
		while [ \$i -lt 20 ]; do sleep 0.05; i=\$((i + 1)); done
		exit \$((40 + count))
	END
	# the input is the terminal's keyboard
	# (exec: the shell that script starts must not be there when Ctrl-C comes; some shells die of it, whatever the program did)
	{
		await_ready
		sleep 0.1
		printf '\003'
		sleep 2
	} | timeout 20 script -qec "exec $kreplay run -- sh $folder/program" /dev/null >"$folder/err" 2>&1
	status=$?
	expect_status 41 'Ctrl-C'
	expect_err 'no kernel dispatch was seen' 'Ctrl-C'
fi

finish
