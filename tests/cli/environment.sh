# SPDX-License-Identifier: MIT
# Variables that are set are kept and extended at the front; flags stand in the program's environment.
. "$(dirname "$0")/lib.sh" "$@"

# value NAME: of the program's environment as `run` left it.
value() {
	sed -n "s|^$1=||p" "$folder/out"
}

# expect_value NAME VALUE WHAT
expect_value() {
	[ "$(value "$1")" = "$2" ] || fail "$3: $1 is '$(value "$1")' instead of '$2'"
}

root=$(readlink -f "$(dirname "$kreplay")")
library=$root/preload/libkreplay.so
softgpu=$root/src/softgpu

run "$kreplay" run -- env
expect_value LD_PRELOAD "$library" 'preload'
expect_value HSA_TOOLS_LIB '' 'preload'
run "$kreplay" run --door tools-lib -- env
expect_value HSA_TOOLS_LIB "$library" 'tools-lib'
expect_value LD_PRELOAD '' 'tools-lib'

# an empty one is one that is not there
LD_PRELOAD= LD_LIBRARY_PATH= run "$kreplay" run --softgpu -- env
expect_value LD_PRELOAD "$library" 'empty LD_PRELOAD'
expect_value LD_LIBRARY_PATH "$softgpu" 'empty LD_LIBRARY_PATH'

libc=$(ldd /bin/sh | sed -n 's|.* \(/[^ ]*libc\.so[^ ]*\) .*|\1|p' | head -n 1)
LD_PRELOAD=$libc run "$kreplay" run -- env
expect_value LD_PRELOAD "$library:$libc" 'LD_PRELOAD kept'
LD_PRELOAD="$libc:$library" run "$kreplay" run -- env
expect_value LD_PRELOAD "$library:$libc" 'LD_PRELOAD not twice'
LD_PRELOAD="$library $libc" run "$kreplay" run -- env
expect_value LD_PRELOAD "$library $libc" 'LD_PRELOAD not twice, first already'

HSA_TOOLS_LIB='other.so "a b.so"' run "$kreplay" run --door tools-lib -- env
expect_value HSA_TOOLS_LIB "$library other.so \"a b.so\"" 'HSA_TOOLS_LIB kept'
HSA_TOOLS_LIB="other.so $library" run "$kreplay" run --door tools-lib -- env
expect_value HSA_TOOLS_LIB "$library other.so" 'HSA_TOOLS_LIB not twice'
HSA_TOOLS_LIB=other.so run "$kreplay" run -- env
expect_value HSA_TOOLS_LIB other.so 'HSA_TOOLS_LIB alone when the door is the other'

LD_LIBRARY_PATH=/one::/two run "$kreplay" run --softgpu=spec -- env
expect_value LD_LIBRARY_PATH "$softgpu:/one::/two" 'LD_LIBRARY_PATH kept'
expect_value KREPLAY_SOFTGPU spec '--softgpu=SPEC'
expect_no_err 'there is no /dev/kfd' '--softgpu'
LD_LIBRARY_PATH="/one:$softgpu" run "$kreplay" softgpu --spec other -- env
expect_value LD_LIBRARY_PATH "$softgpu:/one" 'LD_LIBRARY_PATH not twice'
expect_value KREPLAY_SOFTGPU other 'softgpu --spec'
expect_value LD_PRELOAD '' 'softgpu loads nothing'
expect_value KREPLAY_JOURNAL '' 'softgpu keeps no journal'
KREPLAY_SOFTGPU=given run "$kreplay" run --softgpu -- env
expect_value KREPLAY_SOFTGPU given '--softgpu leaves the specification'
KREPLAY_SOFTGPU=given run "$kreplay" run --softgpu=flag -- env
expect_value KREPLAY_SOFTGPU flag '--softgpu=SPEC wins'
KREPLAY_SOFTGPU= run "$kreplay" run -- env
expect_value LD_LIBRARY_PATH "$softgpu" 'empty KREPLAY_SOFTGPU'
expect_no_err 'there is no /dev/kfd' 'empty KREPLAY_SOFTGPU'

run "$kreplay" run -- env
if [ -e /dev/kfd ]; then
	expect_value LD_LIBRARY_PATH '' 'a real GPU'
	expect_no_err 'there is no /dev/kfd' 'a real GPU'
else
	expect_value LD_LIBRARY_PATH "$softgpu" 'no GPU'
	[ "$(grep -c '^kreplay: there is no /dev/kfd: running on the software GPU$' "$folder/err")" -eq 1 ] ||
		fail "no GPU: not one line saying so: $(cat "$folder/err")"
fi

# two of the set variables hold paths, which are absolute for the program
cd "$folder" || exit 1
ln -s "$build/cli-good-tool.so" tool.so
KREPLAY_PASSES=9 run "$kreplay" run -n 5 -k 'a.*' -k b -t ./tool.so -t tool.so -o r.json --dispatch 2- --dispatch 1 \
	--budget 1G --drain-timeout 5 --log info -- env
expect_status 0 'all flags'
tool=$(readlink -f "$build/cli-good-tool.so")
expect_value KREPLAY_PASSES 5 'a flag wins'
expect_value KREPLAY_DISPATCH '2-,1' 'repeated --dispatch'
expect_value KREPLAY_TOOL "$tool:$tool" 'tools'
expect_value KREPLAY_OUTPUT '' 'the launcher writes the report'
expect_value KREPLAY_BUDGET 1G 'budget'
expect_value KREPLAY_DRAIN_TIMEOUT 5 'drain timeout'
expect_value KREPLAY_LOG info 'log'
grep -q '^KREPLAY_JOURNAL=/proc/[0-9]*/fd/[0-9]*$' out || fail "KREPLAY_JOURNAL: $(value KREPLAY_JOURNAL)"
sed -n '/^KREPLAY_KERNEL=/,/^[A-Z_]*=/p' out | sed -n 1,2p >kernels
printf 'KREPLAY_KERNEL=a.*\nb\n' | cmp -s - kernels || fail "patterns: $(cat kernels)"
! grep -q noise err || fail "a tool was heard: $(cat err)"

# nothing of the launcher's is left open in the program
run sh -c 'ls /proc/$$/fd'
mv out expected
run "$kreplay" run -o r.json -- sh -c 'ls /proc/$$/fd'
cmp -s out expected || fail "descriptors: $(cat out) instead of $(cat expected)"

# one launcher under another
run "$kreplay" run -- "$kreplay" run -- env
expect_status 0 'nested'
expect_value LD_PRELOAD "$library" 'nested'

finish
