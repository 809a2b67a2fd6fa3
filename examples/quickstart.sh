#!/bin/sh
# SPDX-License-Identifier: MIT
# From a fresh Debian 12 to a replayed kernel: installs what is missing, builds, and runs saxpy with five passes
# for every dispatch, on the GPU of this machine or, without one, on the software GPU.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/tests/lib/setup.sh"

setup_packages $quickstart_packages
TESTS=false setup_build

cd "$root"
echo '$ build/kreplay run -n 5 -- build/examples/saxpy'
exec build/kreplay run -n 5 -- build/examples/saxpy
