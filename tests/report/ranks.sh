# SPDX-License-Identifier: MIT
# A parallel program: every rank on a software GPU of its own, a report each, put together afterwards; and the other way
# round, one launcher around all of them.
. "$(dirname "$0")/../cli/lib.sh" "$@"
racy=$build/../tools/racy
command -v mpirun >/dev/null || { echo 'SKIP: mpirun is not installed (Debian: openmpi-bin)'; exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 HWLOC_COMPONENTS=-gl
mpirun="mpirun --oversubscribe --mca btl self,vader --mca plm_rsh_agent false -n 4"

run $mpirun "$kreplay" run --softgpu -n 3 -o "$folder/rank-%r.json" -- "$racy" steady
expect_status 0 'mpirun kreplay'
for rank in 0 1 2 3; do
	grep -q "\"rank\": $rank, " "$folder/rank-$rank.json" || fail "rank $rank: $(head -c 300 "$folder/rank-$rank.json")"
done
run "$kreplay" report "$folder"/rank-?.json -o "$folder/all.json" -o "$folder/all.perfetto.json" -o "$folder/all.csv"
expect_status 0 'merge'
grep -q '^steady  *8  *8  *0  *24 ' "$folder/out" || fail "merge: $(cat "$folder/out")"
[ "$(grep -c '"pid": ' "$folder/all.json")" -eq 4 ] || fail "merge: not four processes"
[ "$(cut -d, -f2 "$folder/all.csv" | sort -u | tr '\n' ' ')" = '0 1 2 3 rank ' ] || fail "merge: ranks $(cut -d, -f2 "$folder/all.csv" | sort -u)"
[ "$(grep -c process_name "$folder/all.perfetto.json")" -eq 4 ] || fail 'merge: not four processes in the timeline'
run "$kreplay" report --diff "$folder/all.json" "$folder"/rank-?.json
grep -q '^steady .* +0.0% .* same$' "$folder/out" || fail "diff: $(cat "$folder/out")"

run "$kreplay" run --softgpu -n 3 -o "$folder/around.json" -- $mpirun "$racy" steady
expect_status 0 'kreplay mpirun'
expect_err '^steady  *8  *8  *0  *24 ' 'kreplay mpirun'
for rank in 0 1 2 3; do
	grep -q "\"rank\": $rank, .*\"program\": \"racy\"" "$folder/around.json" || fail "kreplay mpirun: no rank $rank in $(grep pid "$folder/around.json")"
done

# the other ways to tell a rank
for variable in PMI_RANK SLURM_PROCID RANK; do
	rm -rf "$folder/other"
	run env "$variable=7" "$kreplay" run -o "$folder/other/%r.json" -- true
	[ -e "$folder/other/7.json" ] || fail "$variable: $(ls "$folder/other")"
done
finish
