# SPDX-License-Identifier: MIT
# soak.sh KREPLAY BUILD-ROOT: the soak with random replay, for a minute; with KREPLAY_NIGHTLY=1 for 100000 dispatches.
# SOAK_SEED, which is printed, makes it again; SOAK_SPEC is the software GPU.
if [ -n "${KREPLAY_NIGHTLY:-}" ]; then
	soak_dispatches=${SOAK_DISPATCHES:-100000}
	soak_seconds=${SOAK_SECONDS:-0}
else
	soak_dispatches=${SOAK_DISPATCHES:-100000}
	soak_seconds=${SOAK_SECONDS:-60}
fi
. "$(dirname "$0")/../e2e/lib.sh"
SOAK_SEED=${SOAK_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
export SOAK_SEED
SOAK_LOG=$folder/tool.log
export SOAK_LOG
# both doors come up in the end, as do runs with and without records of dispatches
# the size of a thread's stack, which the program has to know again
ulimit -S -s 8192 2>/dev/null || :
door=preload
[ $((SOAK_SEED / 2 % 2)) -eq 0 ] || door=tools-lib
echo "seed $SOAK_SEED, door $door"

# One arena and no mappings for large blocks: what the C library gets for itself is then all in the heap, and
# whatever else is mapped is somebody's.
run "$kreplay" run --softgpu="${SOAK_SPEC:-gfx90a:2}" --door "$door" -o "$folder/r.json" -t "$build/tests/soak/random_passes.so" \
	-- env GLIBC_TUNABLES=glibc.malloc.arena_max=1:glibc.malloc.mmap_threshold=1073741824 \
	"$build/tests/soak/soak" "$SOAK_SEED" "$soak_dispatches" "$soak_seconds"
cat "$folder/out" "$SOAK_LOG"
expect_status 0 "seed $SOAK_SEED"
grep -q '^soak: ok' "$folder/out" || fail "seed $SOAK_SEED: the program did not come to its end"
grep -q '^replayed [1-9][0-9]* declined 0 ' "$SOAK_LOG" || fail "seed $SOAK_SEED: dispatches were declined: $(tail -n 5 "$folder/err")"
# each execution is one record: of the dispatches that ran as they were, and of every pass
if [ $((SOAK_SEED % 2)) -eq 1 ] && [ "$failed" -eq 0 ]; then
	dispatches=$(sed -n 's/^soak: ok, \([0-9]*\) dispatches$/\1/p' "$folder/out")
	read -r _ replayed _ _ _ passes _ _ _ records _ <"$SOAK_LOG"
	[ "$records" -eq $((dispatches - replayed + passes)) ] ||
		fail "seed $SOAK_SEED: $records records of $dispatches dispatches, $replayed of which ran $passes passes"
fi
finish
