#!/bin/sh
# SPDX-License-Identifier: MIT
# How much of programs nobody here wrote the instruction set knows: disassembles every gfx90a code object inside Debian's
# prebuilt librocrand1 and librocsparse0 with llvm-objdump and decodes the same words with the software GPU's table, which
# must give the same name and the same size. Prints a line a library, "NAME known total percent", then the instructions
# that are not known by count, with an example each.
#
#	sh tests/coverage.sh [--check] [--build DIR] [LIBRARY...]
#
# --check	the exit status is 1 below 100% of librocrand1 or 99.9% of librocsparse0
# --build DIR	use what has been built in DIR, and build and install nothing
# LIBRARY	only these packages: librocrand1, librocsparse0 (94 MB to fetch, 1.3 GB unpacked)
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/tests/lib/setup.sh"

build=
check=false
while [ $# -gt 0 ]; do
	case $1 in
	--check) check=true ;;
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
[ $# -gt 0 ] || set -- librocrand1 librocsparse0

if [ -z "$build" ]; then
	build=$root/build
	{
		setup_packages $quickstart_packages $test_packages "$@"
		setup_build
	} >&2
fi
coverage=$build/tests/gcn/gcn_coverage
[ -x "$coverage" ] || setup_die "$build has no tests: configure it with -Dtests=true"
objdump=$(command -v llvm-objdump-15 || echo /usr/lib/llvm-15/bin/llvm-objdump)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP

status=0
for package in "$@"; do
	case $package in
	librocrand1) library=librocrand.so.1 floor=100.0000 ;;
	librocsparse0) library=librocsparse.so.0 floor=99.9000 ;;
	*) setup_die "no such library: $package" ;;
	esac
	path=$(dpkg -L "$package" 2>/dev/null | grep "/$library\$") ||
		setup_die "$package is not installed"
	mkdir "$work/$package"
	python3 "$root/tests/gcn/bundles.py" "$path" gfx90a "$work/$package" >"$work/objects"
	# One object at a time, gone as soon as it is read: a disassembly is twenty times as large.
	while read -r object; do
		"$objdump" --disassemble --mcpu=gfx90a "$object"
		rm -f "$object"
	done <"$work/objects" | "$coverage" "$package" >"$work/figures"
	cat "$work/figures"
	awk -v floor="$floor" 'NR == 1 { exit !($4 + 0 >= floor + 0) }' "$work/figures" || status=1
done
$check || status=0
exit $status
