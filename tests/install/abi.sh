# SPDX-License-Identifier: MIT
# The public ABI against the committed baseline. Nothing may change or go; what is new is added to the baseline with
# sh tests/install/abi.sh --update BUILD-FOLDER
set -eu
here=$(dirname "$0")
root=$here/../..
make_baseline() {
	abidw --headers-dir "$root/include/kreplay" --drop-private-types --exported-interfaces-only --no-corpus-path --no-show-locs --no-comp-dir-path \
		--suppressions "$here/abi.suppr" "$1" |
		# wherever it was built
		sed "s#path='[^']*/\\(preload\\|src\\|include\\)/#path='\\1/#" >"$2"
}
if [ "$1" = --update ]; then
	make_baseline "$2/preload/libkreplay.so.0.1.0" "$here/kreplay.abixml"
	exit
fi
command -v abidiff >/dev/null || { echo 'SKIP: abidiff is not installed (Debian: abigail-tools)'; exit 77; }
# a function that goes must be noticed, or nothing is
gone=$(mktemp)
trap 'rm -f "$gone"' EXIT
sed 's/kreplay_get_timestamp/kreplay_get_timestamp_gone/g' "$here/kreplay.abixml" >"$gone"
if abidiff --headers-dir2 "$root/include/kreplay" --suppressions "$here/abi.suppr" --drop-private-types "$gone" "$1" >/dev/null; then
	echo 'abidiff does not notice that a function is missing'
	exit 1
fi
status=0
abidiff --headers-dir2 "$root/include/kreplay" --suppressions "$here/abi.suppr" --drop-private-types \
	"$here/kreplay.abixml" "$1" || status=$?
[ "$status" -eq 0 ] || echo "abidiff: status $status: see $0 for how to update the baseline"
exit "$status"
