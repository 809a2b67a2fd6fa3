#!/bin/sh
# SPDX-License-Identifier: MIT
# exports.sh LIBRARY HEADER HOOKS: the exported symbols, each at its version node, and nothing else.
set -eu
library=$1 header=$2 hooks=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' | sort >"$work/have"
{
	sed -n 's/^\(HOOK\|NEWER\)([a-z]*, \(hsa_[a-z_0-9]*\))$/\2@@ROCR_1/p' "$hooks"
	# Declarations of ours: KREPLAY_API up to the first name that is followed by a parenthesis.
	tr '\n' ' ' <"$header" | grep -o 'KREPLAY_API [a-z_ \*]*kreplay_[a-z_]*(' |
		grep -o 'kreplay_[a-z_]*($' | sed 's/($/@@KREPLAY_1/'
	echo OnLoad@@KREPLAY_1
	echo OnUnload@@KREPLAY_1
	echo HSA_AMD_TOOL_PRIORITY@@KREPLAY_1
} | sort -u >"$work/want"
diff -u "$work/want" "$work/have"
echo "$(wc -l <"$work/have") symbols, all as they should be"
