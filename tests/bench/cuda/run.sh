#!/bin/sh
# SPDX-License-Identifier: MIT
# The snapshot's kernels on an NVIDIA GPU: sh tests/bench/cuda/run.sh [GIBIBYTES [ROUNDS]]
# Builds with nvcc (NVCC, ARCH: sm_90 to start with) into OUT (a temporary folder), and runs where there is a card.
# With `--build-only` it only builds, into OUT; with BINARY set it only runs that.
set -eu

root=$(cd "$(dirname "$0")/../../.." && pwd)
nvcc=${NVCC:-nvcc}
binary=${BINARY:-}

if [ -z "$binary" ]; then
	if ! command -v "$nvcc" >/dev/null; then
		[ -x /usr/local/cuda/bin/nvcc ] || { echo "run.sh: no nvcc here: nothing was measured" >&2; exit 77; }
		nvcc=/usr/local/cuda/bin/nvcc
	fi
	out=${SNAPSHOT_CUDA_OUT:-$(mktemp -d)}
	binary=$out/snapshot_cuda
	"$nvcc" -std=c++17 -O3 -arch="${ARCH:-sm_90}" -I"$root/src" -I"$root/tests/lib" -o "$binary" \
		"$root/tests/bench/cuda/main.cu" "$root/tests/lib/hash_reference.c"
fi
[ "${1:-}" != --build-only ] || { echo "$binary"; exit 0; }
if ! nvidia-smi -L >/dev/null 2>&1; then
	echo "run.sh: no NVIDIA GPU here: built, not run" >&2
	exit 77
fi
exec "$binary" "$@"
