# SPDX-License-Identifier: MIT
# The reference of the public header is made without a warning.
. "$(dirname "$0")/../cli/lib.sh" "$@"
command -v doxygen >/dev/null || { echo 'SKIP: doxygen is not installed (it is one of the nightly packages)'; exit 77; }
mkdir "$folder/made"
{
	cat "$source_root/docs/Doxyfile"
	echo "OUTPUT_DIRECTORY = $folder/made"
} >"$folder/Doxyfile"
cd "$source_root" || exit 1
doxygen "$folder/Doxyfile" >"$folder/out" 2>"$folder/err" || fail "doxygen: exit status $?"
[ ! -s "$folder/err" ] || fail "doxygen: $(head -n 20 "$folder/err")"
grep -rq kreplay_report_note "$folder/made/html" || fail 'doxygen: nothing on kreplay_report_note'
finish
