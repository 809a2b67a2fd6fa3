#!/bin/sh
# SPDX-License-Identifier: MIT
# The end-to-end tests, as they were built here, on Debian 13's runtimes: ROCr 6.1 and HIP 5.7 in a tree of that
# release, with our software GPU in the place of its libhsakmt.so.1. The tree, build/debian13, is made once, from this
# machine's own mirror.
# sh tests/debian13.sh [PATTERN...]: all tests of the suites e2e and hip, or those whose name has one of the patterns in it.
# Takes root (it mounts this tree into that one, for itself alone). Ends with the line "N passed, N failed, N skipped".
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/tests/lib/setup.sh"
build=$(realpath -ms "${KREPLAY_BUILD:-$root/build}")
tree=$(realpath -ms "${KREPLAY_DEBIAN13:-$build/debian13}")

# the runtimes, and the libraries that ours and the programs of the tests are linked with; the heavy ones where they are
# here, as their programs are built then
tree_packages='libhsa-runtime64-1,libamdhip64-5,libelf1t64,libjansson4,libcmocka0'
for package in librocrand1 librocsparse0; do
	[ -n "$(setup_missing $package)" ] || tree_packages=$tree_packages,$package
done

[ "$(id -u)" -eq 0 ] || setup_die 'it takes root to change into another tree'

# Where this release's own packages come from.
mirror() {
	. /etc/os-release
	apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' |
		sed -n "s/^$VERSION_CODENAME //p" | sort -u | head -n 1
}

make_tree() {
	[ ! -f "$tree/complete" ] || return 0
	setup_packages debootstrap
	from=$(mirror)
	[ -n "$from" ] || setup_die 'apt names no source for this release'
	rm -rf "$tree"
	mkdir -p "$tree"
	if ! debootstrap --variant=minbase --include="$tree_packages" trixie "$tree" "$from" >"$tree.log" 2>&1; then
		tail -n 20 "$tree.log" >&2
		setup_die "debootstrap failed; its whole output is in $tree.log"
	fi
	: >"$tree/complete"
}

# One line for each test: its name, a tab, the command with its environment, quoted for the shell.
list_tests() {
	meson introspect --tests "$build" | python3 -c '
import json, shlex, sys
for test in json.load(sys.stdin):
    suites = {suite.split(":")[-1] for suite in test["suite"]}
    if not suites & {"e2e", "hip"}:
        continue
    if sys.argv[1:] and not any(pattern in test["name"] for pattern in sys.argv[1:]):
        continue
    env = [name + "=" + value for name, value in test["env"].items() if name != "LD_LIBRARY_PATH"]
    print(test["name"] + "\t" + shlex.join(["env", *env, "timeout", str(2 * test["timeout"]), *test["cmd"]]))
' "$@"
}

if [ "${1:-}" != --inside ]; then
	setup_packages $quickstart_packages $test_packages
	[ -n "${KREPLAY_BUILD:-}" ] || setup_build
	make_tree
	# the mounts are gone with the last process of the script
	exec unshare --mount --propagation private sh "$0" --inside "$@"
fi
shift

for path in /proc /dev /tmp "$root" "$build"; do
	mkdir -p "$tree$path"
	mount --rbind "$path" "$tree$path" || setup_die "cannot mount $path into $tree"
done

list=$(mktemp)
log=$(mktemp)
trap 'rm -f "$list" "$log"' EXIT
list_tests "$@" >"$list"
passed=0 failed=0 skipped=0
tab=$(printf '\t')
while IFS=$tab read -r name command; do
	status=0
	# the commands' interpreters are those of the tree
	chroot "$tree" sh -c "cd / && exec $command" >"$log" 2>&1 </dev/null || status=$?
	case $status in
	0) passed=$((passed + 1)) ;;
	77)
		skipped=$((skipped + 1))
		echo "SKIP $name: $(tail -n 1 "$log")"
		;;
	*)
		failed=$((failed + 1))
		echo "FAIL $name (exit status $status)"
		sed 's/^/	/' "$log" | tail -n 20
		;;
	esac
done <"$list"

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
