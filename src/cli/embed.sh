#!/bin/sh
# SPDX-License-Identifier: MIT
# embed.sh FILE OUTPUT NAME: a C source that defines the file's bytes as `const char NAME[]`, ended by NUL.
set -eu
{
	echo "/* made from $(basename "$1") */"
	echo "extern const char $3[];"
	echo "const char $3[] ="
	sed 's/\\/\\\\/g; s/"/\\"/g; s/^/"/; s/$/\\n"/' "$1"
	echo ";"
} >"$2"
