#!/bin/sh
# SPDX-License-Identifier: MIT
# Every figure of docs/performance.md, from a clean checkout on a fresh Debian 12: installs what is missing, builds,
# measures, and prints one line a figure: NAME VALUE TARGET ok|short.
#
#	sh tests/bench.sh [--check] [-v] [--build DIR] [NAME...]
#
# --check	a figure that falls short makes the exit status 1 (one that cannot be measured does in any case)
# -v		say on standard error what each figure was made from, and measure a few more that have no target
# --build DIR	measure what has been built in DIR, and build nothing
# NAME		only these figures
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/tests/lib/setup.sh"

build=
flags=
while [ $# -gt 0 ]; do
	case $1 in
	--check | -v) flags="$flags $1" ;;
	--build)
		[ $# -ge 2 ] || setup_die "--build takes a directory"
		build=$(cd "$2" && pwd) || setup_die "no such directory: $2"
		shift
		;;
	-*) setup_die "unknown option $1 (see the head of this file)" ;;
	*) break ;;
	esac
	shift
done

if [ -z "$build" ]; then
	build=$root/build
	# Standard output is for the figures.
	{
		setup_packages $quickstart_packages $test_packages
		setup_build
	} >&2
fi
case $(meson introspect "$build" --buildoptions |
	sed 's/.*"name": "optimization", "value": "\([^"]*\)".*/\1/') in
2 | 3) ;;
*) echo "bench.sh: $build is not an optimised build: the figures say little" >&2 ;;
esac
exec "$build/tests/bench/bench" $flags "$build" "$@"
