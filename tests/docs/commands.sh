# SPDX-License-Identifier: MIT
# Every command that the pages show in a block ```sh is run, in the order of the page, in a folder where ./app is a program;
# no other block holds a command of kreplay's; links between pages lead somewhere.
. "$(dirname "$0")/../cli/lib.sh" "$@"
docs=$source_root/docs
export PATH="$(dirname "$kreplay"):$PATH"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 HWLOC_COMPONENTS=-gl
pages='getting-started reading-the-table report what-is-replayed coming-from-the-vendor-sdk internals troubleshooting writing-a-tool'

for page in $pages; do
	work=$folder/$page
	mkdir "$work"
	cp "$(dirname "$kreplay")/examples/saxpy" "$work/app"
	# as in the source tree
	ln -s "$source_root/include" "$source_root/examples" "$work/"
	ln -s "$(dirname "$kreplay")" "$work/build"
	cp "$build/../tools/observer.so" "$work/"
	awk '/^ *```sh$/ { on = 1; next } /^ *```/ { on = 0 } on' "$docs/$page.md" >"$folder/commands"
	while IFS= read -r line; do
		case $line in
		'' | '#'*) continue ;;
		mpirun* | *rank-[0-9].json*)
			command -v mpirun >/dev/null || continue
			;;
		esac
		status=0
		(cd "$work" && TERM=dumb timeout 60 sh -c "$line" >"$folder/out" 2>"$folder/err" </dev/null) || status=$?
		[ "$status" -eq 0 ] || fail "$page.md: $line: exit status $status: $(tail -n 4 "$folder/err")"
		! grep -q 'no kernel dispatch was seen' "$folder/err" || fail "$page.md: $line: nothing ran"
	done <"$folder/commands"
	awk '/^ *```/ { if (on) on = 0; else { on = 1; sh = $0 ~ /```sh$/ || $0 ~ /```text$/ } next } on && !sh && /^ *(\$ )?kreplay (run|report|info|softgpu|help) / { print }
		!on && /^    (kreplay|cc|mpirun) / { print }' "$docs/$page.md" >"$folder/stray"
	[ ! -s "$folder/stray" ] || fail "$page.md: a command that no test runs: $(cat "$folder/stray")"
	grep -o '](\([^)#]*\))' "$docs/$page.md" | sed 's/^](//; s/)$//' | while read -r link; do
		case $link in
		https://*) ;;
		*) [ -e "$docs/$link" ] || echo "$page.md: $link leads nowhere" ;;
		esac
	done >"$folder/links"
	[ ! -s "$folder/links" ] || fail "$(cat "$folder/links")"
done

# what the report's page shows is what is written
for column in dispatches replayed declined passes min median max cv; do
	grep -q "| .*\`$column\`.* |" "$docs/reading-the-table.md" || fail "reading-the-table.md: nothing on $column"
done
# every reason for a decline is explained
sed -n 's/.*KREPLAY_DECLINE_[A-Z_]*\] = "\(.*\)",/\1/p' "$source_root/src/core/tools_query.c" | while read -r reason; do
	[ "$reason" = none ] || grep -q "^| \`$reason\` |" "$docs/what-is-replayed.md" || echo "$reason"
done >"$folder/reasons"
[ ! -s "$folder/reasons" ] || fail "what-is-replayed.md: nothing on $(cat "$folder/reasons")"
finish
