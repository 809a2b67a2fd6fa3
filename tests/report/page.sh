# SPDX-License-Identifier: MIT
# The HTML report in a real browser without a network: content, sorting, both themes, nothing on the console.
. "$(dirname "$0")/../cli/lib.sh" "$@"
racy=$build/../tools/racy
browser=$(command -v chromium) || { echo 'SKIP: chromium is not installed (it is one of the nightly packages)'; exit 77; }

run "$kreplay" run --softgpu -n 12 --check --writes -o "$folder/r.html" -- sh -c "$racy; $racy steady; $racy steady"
expect_status 0 'run'
# a script before the page's notes its errors, one after it uses the page
awk '/<meta charset/ { print; print "<script>window.said = []; for (const level of [\"error\", \"warn\", \"log\"]) console[level] = (...all) => window.said.push(all.join(\" \")); window.addEventListener(\"error\", (e) => window.said.push(e.message));</script>"; next }
	/<\/body>/ { while ((getline line < script) > 0) print line }
	{ print }' script="$(dirname "$0")/page_test.html" "$folder/r.html" >"$folder/test.html"
timeout 120 "$browser" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$folder/profile" \
	--host-resolver-rules='MAP * ~NOTFOUND' --virtual-time-budget=4000 --dump-dom "file://$folder/test.html" \
	>"$folder/dom" 2>"$folder/err" || fail "chromium: $(tail -n 3 "$folder/err")"
sed -n '/<pre id="test">/,/<\/pre>/p' "$folder/dom" >"$folder/result"
grep -q '<pre id="test">done' "$folder/result" || fail "the page's test did not get to its end: $(cat "$folder/result")"
! grep -q '^wrong' "$folder/result" || fail "$(grep '^wrong' "$folder/result")"
for theme in light dark; do
	[ "$theme" = dark ] && flag=--blink-settings=preferredColorScheme=0 || flag=--blink-settings=preferredColorScheme=1
	timeout 120 "$browser" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$folder/profile" \
		--hide-scrollbars --window-size=1280,1400 $flag --screenshot="$folder/$theme.png" "file://$folder/r.html" >"$folder/out" 2>&1 ||
		fail "no picture of the $theme page: $(tail -n 3 "$folder/out")"
	[ -z "${PAGE_PICTURES:-}" ] || cp "$folder/$theme.png" "$PAGE_PICTURES/"
done
finish
