# SPDX-License-Identifier: MIT
# Kernels that go wrong, in a HIP program: the runtime's own report, alone and under replay, and never a hang.
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/lib.sh"
hip_program faults

# WHAT, its exit status, standard output, and a line of standard error
while IFS='|' read -r what ends out err; do
	for door in none $doors; do
		if [ $door = none ]; then
			bare KREPLAY_SOFTGPU=gfx90a,vram=1G timeout 30 "$program" "$what"
		else
			replay $door -n 2 --softgpu=gfx90a,vram=1G -- timeout 30 "$program" "$what"
		fi
		expect_status "$ends" "$what, door $door"
		if [ -n "$out" ]; then
			expect_out "$out" "$what, door $door"
		else
			[ ! -s "$folder/out" ] || fail "$what, door $door: standard output: $(cat "$folder/out")"
		fi
		[ -z "$err" ] || expect_err "$err" "$what, door $door"
	done
done <<'CASES'
none|0|faults: hipSuccess, 0|
store|134||^Memory access fault by GPU node-1 .* on address 0x1000\.
load|134||^Memory access fault by GPU node-1 .* on address 0x123456789000\.
atomic|134||^Memory access fault by GPU node-1 .* on address 0x2000\.
noncanonical|134||^Memory access fault by GPU node-1 .* on address 0x123456789000\.
jump|134||^Memory access fault by GPU node-1 .* on address 0x3000\.
unknown|134||HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION
unknown|134||^softgpu: .*kernel _Z7unknownPi .* words d4ffffff ffffffff
trap|134||HSA_STATUS_ERROR_EXCEPTION
private|134||HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION
private|134||^softgpu: .*kernel _Z13private_arrayPii .* scratch offset
group|0|faults: hipSuccess, 0|
memory|0|faults: hipErrorOutOfMemory|
CASES
finish
