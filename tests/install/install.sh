# SPDX-License-Identifier: MIT
# The installed tree, somewhere else than it was configured for: the launcher finds what belongs to it, and a tool in C and
# one in C++ build against it with pkg-config and with CMake.
. "$(dirname "$0")/../cli/lib.sh" "$@"
build_root=$(dirname "$kreplay")
racy=$build/../tools/racy
here=$(cd "$(dirname "$0")" && pwd)

DESTDIR=$folder/root meson install -C "$build_root" --no-rebuild >"$folder/out" 2>&1 || fail "meson install: $(tail -n 5 "$folder/out")"
kreplay=$(find "$folder/root" -name kreplay -path '*/bin/*')
prefix=$(dirname "$(dirname "$kreplay")")
library=$(find "$prefix" -name libkreplay.so)
libdir=$(dirname "$library")
for file in include/kreplay/kreplay.h share/man/man1/kreplay.1 share/man/man1/kreplay-run.1 share/man/man1/kreplay-report.1 \
	share/man/man1/kreplay-info.1 share/man/man3/kreplay.h.3 share/bash-completion/completions/kreplay \
	share/zsh/site-functions/_kreplay; do
	[ -e "$prefix/$file" ] || fail "$file is not installed"
done
for file in libkreplay.so libkreplay.so.0 kreplay/tools/libkreplay-timing.so kreplay/tools/libkreplay-determinism.so \
	kreplay/tools/libkreplay-writes.so kreplay/softgpu/libhsakmt.so.1 pkgconfig/kreplay.pc cmake/kreplay/kreplayConfig.cmake; do
	[ -e "$libdir/$file" ] || fail "$file is not installed"
done
[ ! -e "$prefix/lib/libkreplay-timing.so" ] || fail 'a tool is among the libraries'

# the library that goes into programs stands on little, and what reads JSON is not in it
if command -v readelf >/dev/null; then
	needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -v '^\(libc\|libelf\|libpthread\|libdl\|ld-linux-x86-64\)\.so' | tr '\n' ' ')
	[ -z "$needed" ] || fail "libkreplay.so needs $needed"
fi

run "$kreplay" run --softgpu -n 3 --check --writes -- "$racy"
expect_status 0 'installed'
expect_err '^racy  *2  *2  *0  *6 ' 'installed'
expect_err '^determinism: racy: dispatch 1, pass 1 ' 'installed'
expect_err '^writes: racy: ' 'installed'
expect_err '^timing ' 'installed'
run "$kreplay" run --softgpu --door tools-lib -n 3 -t determinism -- "$racy"
expect_err '^determinism: racy: dispatch 1, pass 1 ' 'installed, tools-lib'
run "$kreplay" info --softgpu
expect_status 0 'info'
grep -q "^  library  *$library" "$folder/out" || fail "info: $(cat "$folder/out")"
# without what it needs it says so
mv "$library" "$library.away"
run "$kreplay" info --softgpu
expect_status 1 'info without the library'
run "$kreplay" run -- true
expect_error 125 'libkreplay.so is not where kreplay looks for it' 'run without the library'
mv "$library.away" "$library"

# a tool of somebody else
work=$folder/work
mkdir "$work"
cp "$here/tool.c" "$work/"
cp "$here/tool.c" "$work/tool.cpp"
flags=$(PKG_CONFIG_SYSROOT_DIR=$folder/root PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --cflags kreplay) || fail 'pkg-config: no kreplay'
# the system's own include folder is left out of the flags when it is that
flags="$flags -I$prefix/include"
cc -std=c11 -Wall -Wextra -Werror -shared -fPIC $flags -o "$work/c.so" "$work/tool.c" || fail 'pkg-config, C: does not build'
run "$kreplay" run --softgpu -n 3 -t "$work/c.so" -- "$racy"
expect_err '^tool: 6 passes$' 'pkg-config, C'
[ "$(PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --modversion kreplay)" = 0.1.0 ] || fail 'pkg-config: another version'
if command -v c++ >/dev/null; then
	c++ -std=c++17 -Wall -Wextra -Werror -shared -fPIC $flags -o "$work/cpp.so" "$work/tool.cpp" || fail 'pkg-config, C++: does not build'
	run "$kreplay" run --softgpu -n 3 -t "$work/cpp.so" -- "$racy"
	expect_err '^tool: 6 passes$' 'pkg-config, C++'
fi
if command -v cmake >/dev/null && command -v make >/dev/null; then
	cat >"$work/CMakeLists.txt" <<-'END'
		cmake_minimum_required(VERSION 3.18)
		project(tool C CXX)
		find_package(kreplay 0.1 REQUIRED CONFIG)
		add_library(tool-c MODULE tool.c)
		add_library(tool-cpp MODULE tool.cpp)
		target_link_libraries(tool-c kreplay::kreplay)
		target_link_libraries(tool-cpp kreplay::kreplay)
		file(WRITE ${CMAKE_BINARY_DIR}/tool_dir ${kreplay_TOOL_DIR})
	END
	cmake -S "$work" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" >"$folder/out" 2>&1 && cmake --build "$work/build" >>"$folder/out" 2>&1 ||
		fail "CMake: $(tail -n 8 "$folder/out")"
	for language in c cpp; do
		run "$kreplay" run --softgpu -n 3 -t "$work/build/libtool-$language.so" -- "$racy"
		expect_err '^tool: 6 passes$' "CMake, $language"
	done
	[ "$(readlink -f "$(cat "$work/build/tool_dir")")" = "$(readlink -f "$libdir/kreplay/tools")" ] || fail "CMake: tools in $(cat "$work/build/tool_dir")"
	# put where the others are, it goes by its name
	cp "$work/build/libtool-c.so" "$libdir/kreplay/tools/libkreplay-mine.so"
	run "$kreplay" run --softgpu -n 3 -t mine -- "$racy"
	expect_err '^tool: 6 passes$' 'by its name'
fi

# the man pages are in order
if command -v man >/dev/null; then
	for page in "$prefix"/share/man/man1/*.1 "$prefix"/share/man/man3/*.3; do
		LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -l -Tutf8 "$page" >/dev/null 2>"$folder/err"
		[ ! -s "$folder/err" ] || fail "$page: $(cat "$folder/err")"
	done
fi
finish
