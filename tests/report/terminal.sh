# SPDX-License-Identifier: MIT
# On a terminal: width, colour, the live line, Ctrl-C.
. "$(dirname "$0")/../cli/lib.sh" "$@"
racy=$build/../tools/racy
command -v script >/dev/null || { echo 'SKIP: script is not installed (Debian: bsdutils)'; exit 77; }
escape=$(printf '\033')

# on_terminal COLUMNS COMMAND: what a terminal of that width shows, in the file err.
# (exec: the shell that script starts must not be there when Ctrl-C comes; some shells die of it, whatever the program did)
on_terminal() {
	status=0
	timeout 60 script -qec "stty cols $1 rows 40; exec $2" /dev/null </dev/null >"$folder/raw" 2>&1 || status=$?
	tr -d '\r' <"$folder/raw" >"$folder/err"
}
plain() { sed "s/$escape\[[0-9;]*[mK]//g" "$folder/err"; }

names=$build/../cli/cli-journal-program
export TERM=xterm
for columns in 60 80 132; do
	on_terminal $columns "$kreplay run -- $names names"
	# awk may count bytes, so what is not ASCII is left out
	plain | LC_ALL=C grep -v '[^ -~]' |
		awk -v most=$columns 'length($0) > most && !/^total|^memory|^kreplay|^declined/ { print; bad = 1 } END { exit bad }' >"$folder/long" ||
		fail "$columns columns: $(cat "$folder/long")"
done
on_terminal 100 "$kreplay run -- $names names"
plain | grep -q '^tensor::.*\.\.\..*> ' || fail "no shortened name: $(plain)"
grep -q "$escape\[1mkernel$escape\[0m" "$folder/err" || fail "no colour: $(cat -v "$folder/err")"
NO_COLOR=1 on_terminal 100 "$kreplay run -- $names"
! grep -q "$escape" "$folder/err" || fail "colour in spite of NO_COLOR: $(cat -v "$folder/err")"
TERM=dumb on_terminal 100 "$kreplay run -- $names"
! grep -q "$escape" "$folder/err" || fail "colour on a dumb terminal: $(cat -v "$folder/err")"
run "$kreplay" run -- "$names"
! grep -q "$escape" "$folder/err" || fail "colour without a terminal"

# a short name leaves room for what a long one would not, and the list of parameters goes before the name does
run "$kreplay" run -- "$names" names
expect_err '^void tensor::gemm<float, 128, 64, .*>(float const\*, float const\*, float\*, unsigned int) ' 'a whole name without a terminal'
on_terminal 140 "$kreplay run -- $names names"
plain | grep -q '^tensor::gemm<float, 128, 64, (tensor::layout)1>(.*\.\.\.) ' || fail "no shortened parameters: $(plain)"
on_terminal 80 "$kreplay run -- $names"
plain | grep -q '^kernel  *dispatches  replayed  *' || fail "80 columns: $(plain)"
[ "$(plain | grep -c '^memory: .*;$')" -le 1 ] || fail "memory: $(plain)"
# the program writes on the same terminal: no line of ours between
on_terminal 100 "$kreplay run --softgpu -n 200 -- $racy steady"
expect_no_err ' a second; ' 'a live line on the terminal of the program'

# a run that would last for an hour: the live line shows up, Ctrl-C ends the replaying, the program goes on to its end
press() {
	tries=0
	while ! grep -q ' a second; ' "$folder/raw" 2>/dev/null && [ $tries -lt 300 ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
	printf '\003'
	# the terminal's keyboard stays open until the program has ended
	while [ -e "$folder/running" ] && [ $tries -lt 600 ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
}
touch "$folder/running"
press | {
	timeout 90 script -qec "stty cols 100; exec $kreplay run --softgpu -n 4000000000 -o $folder/r.json -- $racy steady >$folder/out" /dev/null >"$folder/raw" 2>&1
	echo $? >"$folder/status"
	rm -f "$folder/running"
}
status=$(cat "$folder/status")
tr '\r' '\n' <"$folder/raw" >"$folder/err"
expect_status 0 'Ctrl-C once'
expect_err 'steady, pass [0-9]*; 0 windows, [0-9.]* a second; .* copied' 'live line'
expect_err '^kreplay: interrupted: nothing more is replayed and the program goes on; once more ends it' 'Ctrl-C once'
grep -q '^racy: done' "$folder/out" || fail "Ctrl-C once: the program did not come to its end"
expect_err '^kreplay: interrupted: from then on nothing was replayed' 'Ctrl-C once'
grep -q '"interrupted": true' "$folder/r.json" || fail 'Ctrl-C once: the file does not say so'
grep -q '^steady  *2  *1  *0 ' "$folder/err" || [ "$(grep -c '"outcome": "replayed"' "$folder/r.json")" -eq 1 ] ||
	fail "Ctrl-C once: $(plain)"

# twice: it ends the program, which the report survives. Sent to the launcher, which passes it on.
# (a background command of a script starts with SIGINT ignored, and what is ignored stays so)
env --default-signal=INT timeout 60 "$kreplay" run --softgpu -n 4000000000 -- sh -c "echo \$\$ >$folder/pid; exec $racy steady" >"$folder/out" 2>"$folder/err" &
launcher=$!
wait_for() {
	tries=0
	while ! grep -q "$1" "$2" 2>/dev/null && [ $tries -lt 200 ]; do
		sleep 0.05
		tries=$((tries + 1))
	done
}
wait_for . "$folder/pid"
pid=$(cat "$folder/pid")
# the first is counted once HSA is up in the program, before that it would end it
tries=0
while ! grep -q libkreplay-timing "/proc/$pid/maps" 2>/dev/null && [ $tries -lt 200 ]; do
	sleep 0.05
	tries=$((tries + 1))
done
kill -STOP "$pid"
kill -INT "$pid"
kill -CONT "$pid"
wait_for 'interrupted: nothing more' "$folder/err"
for child in $(cat /proc/$launcher/task/$launcher/children 2>/dev/null); do
	kill -INT "$child"
done
status=0
wait "$launcher" || status=$?
[ "$status" -eq 130 ] || [ "$status" -eq 0 ] || fail "Ctrl-C twice: exit status $status: $(cat "$folder/err")"
expect_err '^kreplay: interrupted: from then on nothing was replayed' 'Ctrl-C twice'
finish
