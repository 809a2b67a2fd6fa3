#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the instruction vectors of every row from the model in this directory, for the runner vectors.c.

usage: make.py LLVM_MC OUTPUT NAMES   assemble and write the vectors, and the instructions that they try
       make.py --rows DECODE_DUMP VECTORS.TXT NAMES    fails, naming them, when rows have no vector
       make.py --list NAME            what is tried with one instruction, as text

Nothing here comes from the code under test: the types and meanings follow the
ISA document, arithmetic is exact in integers. The seed is fixed, so that what
fails once fails again.
"""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import harness as hn  # noqa: E402
import memory  # noqa: E402
import mfma  # noqa: E402
import scalar  # noqa: E402
import special  # noqa: E402
import typed  # noqa: E402
import vector_make  # noqa: E402
import vectors as text  # noqa: E402

ISAS = ('gfx900', 'gfx906', 'gfx90a')


def all_vectors():
    for family in (scalar, vector_make, special, memory, mfma, typed):
        family.make()
    return hn.vectors


def item(t):
    if len(t) == 4:
        return '%s %d %d %x' % t
    return '%s %d %d %x %s' % (*t[:4], ' '.join('%x' % v for v in t[4]))


def write(mc, path, names):
    with open(names, 'w') as out:
        for name in sorted(set().union(*(text.names(v.code) for v in hn.vectors))):
            out.write(name + '\n')
    code = {}
    for isa in ISAS:
        mine = [v for v in hn.vectors if v.isa == isa]
        code.update(zip(mine, text.assemble(mc, isa, [v.code for v in mine])))
    with open(path, 'w') as out:
        for number, v in enumerate(hn.vectors, 1):
            out.write('%s\n%d %d %d %d %d\n' % (v.code[:200], number, ISAS.index(v.isa), len(code[v]), len(v.sets), len(v.wants)))
            out.write(' '.join('%x' % w for w in code[v]) + '\n')
            out.write('\n'.join(item(t) for t in v.sets + v.wants) + '\n')


def untested(dump, path, names):
    named = set(open(names).read().split())
    for v in text.parse(path):
        named |= text.names(v[1])
    rows = subprocess.run([dump, 'rows'], capture_output=True, text=True, check=True).stdout.split()
    left = [r for r in dict.fromkeys(rows) if r not in named]
    for name in left:
        print('no vector: %s' % name)
    print('%d of %d rows have a vector' % (len(set(rows)) - len(left), len(set(rows))))
    return bool(left)


def main():
    if sys.argv[1] == '--rows':
        sys.exit(untested(*sys.argv[2:5]))
    all_vectors()
    if sys.argv[1] == '--list':
        for v in hn.vectors:
            if sys.argv[2] in text.names(v.code):
                print(v.isa, v.code, '|', v.sets, '|', v.wants)
        return
    write(*sys.argv[1:4])


if __name__ == '__main__':
    main()
