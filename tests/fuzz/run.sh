#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh TARGET CORPUS [DICTIONARY]: the seeds, and then for a minute what libFuzzer makes of them, in the same order each
# time: what a random input finds is not to stop whoever changes something else. New ones, from a seed that is printed, for
# five minutes with KREPLAY_NIGHTLY=1, for KREPLAY_FUZZ_SECONDS when that is set. An input that fails is kept and named.
set -u
target=$1
corpus=$2
dictionary=${3:-}
limit='-seed=20260303 -max_total_time=60'
[ -z "${KREPLAY_NIGHTLY:-}" ] || limit=-max_total_time=300
[ -z "${KREPLAY_FUZZ_SECONDS:-}" ] || limit=-max_total_time=$KREPLAY_FUZZ_SECONDS

if [ "$target" = missing ]; then
	echo "skipped: there is no clang with libFuzzer's runtime (clang-15, or clang-14 with libclang-rt-14-dev)"
	exit 77
fi
for variable in $(env | sed -n 's/^\(KREPLAY_[A-Z_]*\)=.*/\1/p'); do
	unset "$variable"
done
work=$(mktemp -d "${TMPDIR:-/tmp}/kreplay-fuzz-XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/corpus"

status=0
"$target" "$work/corpus" "$corpus" ${dictionary:+"-dict=$dictionary"} $limit -timeout=30 \
	-rss_limit_mb=3072 -max_len=4096 -artifact_prefix="$work/" -print_final_stats=1 >"$work/log" 2>&1 </dev/null || status=$?
grep -E 'Seed:|stat::number_of_executed_units|stat::peak_rss_mb' "$work/log"
[ "$status" -ne 0 ] || exit 0
tail -n 60 "$work/log"
for input in "$work"/crash-* "$work"/timeout-* "$work"/oom-* "$work"/leak-*; do
	[ -f "$input" ] || continue
	kept=${TMPDIR:-/tmp}/kreplay-fuzz-$(basename "$target")-$(basename "$input")
	cp "$input" "$kept"
	echo "FAILED: run '$target $kept' to see it again; once mended, it belongs in $corpus"
done
exit 1
