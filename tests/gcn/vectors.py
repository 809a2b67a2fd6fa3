#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the instruction vectors of vectors.txt: assembles them with llvm-mc, gives them to the runner.

usage: vectors.py VECTORS LLVM_MC RUNNER

A vector is:  [isa:] code ; code... | register=value ... | register=value ...
Registers: v0..v255, a0.. (accumulation), s0..s101, vcc, exec, scc, m0, mode.
vcc and exec are 64 bits. v1=lane is the lane number, v1=X sets all lanes,
v1[5]=X one lane; on the right side v1=X means all active lanes, v1[5]=X one.
Values: integers, f:1.5 (f32), h:1.5 (f16), d:1.5 (low half in vN, high in vN+1).
"""
import re
import struct
import subprocess
import sys


def value(text):
    if text[:2] == 'f:':
        return struct.unpack('<I', struct.pack('<f', float(text[2:])))[0]
    if text[:2] == 'h:':
        return struct.unpack('<H', struct.pack('<e', float(text[2:])))[0]
    return int(text, 0) & 0xffffffffffffffff


def settings(text):
    out = []
    for item in text.split():
        m = re.fullmatch(r'([vas])(\d+)(?:\[(\d+)\])?=(\S+)', item)
        if not m:
            name, v = item.split('=')
            out.append((name, 0, -1, value(v)))
            continue
        kind, reg, lane, v = m.group(1), int(m.group(2)), int(m.group(3) or -1), m.group(4)
        if v == 'lane':
            out.append(('L', reg, -1, 0))
        elif v[:2] == 'd:':
            u = struct.unpack('<Q', struct.pack('<d', float(v[2:])))[0]
            out += [(kind, reg, lane, u & 0xffffffff), (kind, reg + 1, lane, u >> 32)]
        elif v[:2] == 'q:':
            u = int(v[2:], 0) & 0xffffffffffffffff
            out += [(kind, reg, lane, u & 0xffffffff), (kind, reg + 1, lane, u >> 32)]
        else:
            out.append((kind, reg, lane, value(v) & 0xffffffff))
    return out


def assemble(mc, isa, codes):
    text = ''.join(c.replace(';', '\n') + '\ns_nop 0x1234\n' for c in codes)
    r = subprocess.run([mc, '--triple=amdgcn', '--mcpu=' + isa, '--show-encoding'],
                       input=text, capture_output=True, text=True)
    if r.returncode:
        sys.exit(r.stderr)
    out, cur = [], []
    for m in re.finditer(r'encoding: \[([^\]]*)\]', r.stdout):
        b = bytes(int(x, 0) for x in m.group(1).split(','))
        words = list(struct.unpack('<%dI' % (len(b) // 4), b))
        if words == [0xbf801234]:
            out.append(cur)
            cur = []
        else:
            cur += words
    return out


def parse(path):
    """(isa, code, sets, wants, line) of each vector."""
    out = []
    for n, line in enumerate(open(path), 1):
        line = line.split('#')[0].strip()
        if not line:
            continue
        code, sets, wants = (re.split(r'\s\|(?=\s)', line) + ['', ''])[:3]
        m = re.match(r'(gfx\w+):', code)
        out.append((m.group(1) if m else 'gfx90a', code[m.end():] if m else code, settings(sets), settings(wants), n))
    return out


def names(code):
    """Instructions in a vector's code, without what the assembler calls their encoding."""
    return {re.sub(r'_(e32|e64|sdwa|dpp)$', '', c.split()[0]) for c in code.split(';') if c.strip()}


def main():
    vectors = parse(sys.argv[1])
    lines = []
    for isa in ('gfx900', 'gfx906', 'gfx90a'):
        mine = [v for v in vectors if v[0] == isa]
        for v, words in zip(mine, assemble(sys.argv[2], isa, [v[1] for v in mine])):
            lines.append(v[1])
            lines.append('%d %d %d %d %d' % (v[4], ('gfx900', 'gfx906', 'gfx90a').index(isa), len(words),
                                              len(v[2]), len(v[3])))
            lines.append(' '.join('%x' % w for w in words))
            for part in (v[2], v[3]):
                lines += ['%s %d %d %x' % x for x in part]
    r = subprocess.run([sys.argv[3]], input='\n'.join(lines) + '\n', capture_output=True, text=True)
    sys.stdout.write(r.stdout)
    sys.stderr.write(r.stderr)
    sys.exit(r.returncode)


if __name__ == '__main__':
    main()
