# SPDX-License-Identifier: MIT
# Sourced by the tests that tell stories of tests/programs/scenarios: sh TEST KREPLAY BUILD-ROOT NAME [SWITCHES].
# SWITCHES are those of the software GPU (docs/softgpu.md). With them comes a seed, another one every time, which is
# printed; KREPLAY_TEST_SEED=N has that one again. KREPLAY_SOFTGPU may bring switches for every software GPU as well.
test_seed=${KREPLAY_TEST_SEED:-}
nightly=${KREPLAY_NIGHTLY:-}
. "$(dirname "$0")/lib.sh"

# as they stand behind the GPU itself
switches=${KREPLAY_SOFTGPU:-}
switches=${switches#gfx90a}
if [ -n "${2:-}" ]; then
	test_seed=${test_seed:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
	switches=$switches,$2,seed=$test_seed
	export KREPLAY_SOFTGPU="gfx90a$switches"
	echo "KREPLAY_SOFTGPU=$KREPLAY_SOFTGPU; the same again: KREPLAY_TEST_SEED=$test_seed"
fi

# story DOOR STORY [ARGUMENT] [FLAG...]: leaves the report and what was printed to be looked at.
story() {
	story_door=$1
	story_name=$2
	shift 2
	story_argument=
	case ${1:-} in
	'' | -*) ;;
	*) story_argument=$1 && shift ;;
	esac
	replay "$story_door" --drain-timeout 5 "$@" -- "$scenarios" "$story_name" $story_argument
	expect_status 0 "$story_door, $story_name $*"
	expect_tidy "$story_door, $story_name $*"
}

# tell DOOR STORY [ARGUMENT] [FLAG...]: with the driver that the story directs; the story checks itself.
tell() {
	tell_story=$2
	E2E_LOG=$folder/driver story "$@" -t "$tools/scenario_driver.so"
	expect_out "scenarios: $tell_story ok" "$1, $tell_story"
}

# play DOOR STORY [ARGUMENT] [FLAG...]: with the library's own driver.
play() {
	play_story=$2
	story "$@"
	expect_out "scenarios: $play_story ok" "$1, $play_story"
}

# each STORY...: by the driver that the story directs, in both doors.
each() {
	for door in $doors; do
		for each_story in "$@"; do
			tell "$door" "$each_story"
		done
	done
}
