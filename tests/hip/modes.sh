# SPDX-License-Identifier: MIT
# modes.sh KREPLAY BUILD-ROOT SPEC PROGRAM...: the programs, one after the other, on a software GPU that is stricter than
# hardware. Nothing in them relies on what that takes away.
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/lib.sh"
spec=$1
shift
export KREPLAY_SOFTGPU="$spec" HIP_MEM_POOL_SUPPORT=1
for name in "$@"; do
	hip_program "$name"
	bare "$program"
	expect_status 0 "$name, $spec"
	expect_said "$name" "$name, $spec"
	hip_replay preload "$name" 2
	expect_status 0 "$name, $spec, replayed"
	expect_said "$name" "$name, $spec, replayed"
done
finish
