# SPDX-License-Identifier: MIT
# Sourced by examples/quickstart.sh and tests/run.sh, which set `root` to the top of the source tree:
# brings in the packages that are missing, and builds into build/. POSIX sh.

# What it takes to build kreplay and its examples and to run them on Debian 12.
quickstart_packages='gcc libc6-dev meson ninja-build pkg-config libelf-dev libjansson-dev
	libhsa-runtime-dev libhsa-runtime64-1 libhsakmt-dev
	clang-15 lld-15 rocm-device-libs'
# What the tests need besides. (The fuzz targets' libFuzzer comes with clang-15.)
test_packages='g++ libcmocka-dev llvm-15 hipcc
	python3-jsonschema openmpi-bin abigail-tools man-db'
# What those tests need that are skipped without it: valgrind, a browser, documentation tools, another shell. With
# KREPLAY_NIGHTLY=1 tests/run.sh installs it too.
nightly_packages='valgrind chromium doxygen zsh cmake make librocrand-dev librocsparse-dev debootstrap'

setup_die() {
	echo "$(basename "$0"): $*" >&2
	exit 1
}

# setup_missing PACKAGE...: those that are not installed
setup_missing() {
	for package in "$@"; do
		state=$(dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null) || state=
		case $state in
		ii*) ;;
		*) printf '%s ' "$package" ;;
		esac
	done
}

# setup_as_root COMMAND...
setup_as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	else
		sudo "$@"
	fi
}

setup_apt() {
	setup_as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 "$@"
}

# Package mirrors have bad moments: try a step up to three times.
setup_retry() {
	for pause in 3 10 0; do
		"$@" && return 0
		[ $pause -eq 0 ] || sleep $pause
	done
	return 1
}

# setup_packages PACKAGE...: installs what is missing, and does nothing when nothing is
setup_packages() {
	if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
		echo "$(basename "$0"): no apt here, so these are taken to be installed in some other way:" $* >&2
		return 0
	fi
	missing=$(setup_missing "$@")
	[ -n "$missing" ] || return 0
	if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
		setup_die "packages are missing, and it takes root or sudo to install them: apt-get install $missing"
	fi
	echo "installing: $missing"
	log=$(mktemp)
	if ! { setup_retry setup_apt update &&
		setup_retry setup_apt install -y --no-install-recommends $missing; } >"$log" 2>&1; then
		tail -n 30 "$log" >&2
		rm -f "$log"
		setup_die "apt could not install: $missing"
	fi
	rm -f "$log"
}

# setup_build: configures build/ when it is not yet, and brings it up to date; with TESTS=false leaves the tests out
setup_build() {
	if [ ! -f "$root/build/build.ninja" ]; then
		meson setup "$root/build" "$root" -Dtests="${TESTS:-true}" || setup_die "meson setup failed"
	elif [ "${TESTS:-true}" = true ] && [ ! -d "$root/build/tests" ]; then
		# left by the quickstart, which needs no tests
		meson configure "$root/build" -Dtests=true || setup_die "meson configure failed"
	fi
	# what goes wrong is printed all the same
	ninja --quiet -C "$root/build" || setup_die "the build failed"
}
