#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every encoding the decoder accepts must be what llvm-mc calls it, and as long.

usage: names.py DECODE_DUMP LLVM_MC [random-count]

All opcodes of all formats with plain operands, then random words. Prints the
instructions llvm knows and the decoder refuses with --missing.
"""
import random
import re
import subprocess
import sys

ISAS = ('gfx900', 'gfx906', 'gfx90a')


def sweep():
    f = []
    lit = 0x11111111
    f += [(0x80000000 | o << 23 | 1 << 16 | 2 << 8 | 4, 0) for o in range(96)]
    f += [(0xb0000000 | o << 23 | 2 << 16 | 0x4, 0x10) for o in range(27)]
    f += [(0xbe800000 | 2 << 16 | o << 8 | 4, 0) for o in range(256)]
    f += [(0xbf000000 | o << 16 | 2 << 8 | 4, 0) for o in range(128)]
    f += [(0xbf800000 | o << 16 | 1, 0) for o in range(128)]
    f += [(0xc0000000 | 1 << 17 | o << 18 | 8 << 6 | 1, 0) for o in range(256)]
    f += [(o << 25 | 2 << 17 | 4 << 9 | 0x102, lit) for o in range(62)]
    f += [(0x7e000000 | 2 << 17 | o << 9 | 0x102, 0) for o in range(256)]
    f += [(0x7c000000 | o << 17 | 4 << 9 | 0x102, 0) for o in range(256)]
    # VOP3 with two and with three sources; lane selects need a scalar
    for srcs in (0x102 | 0x104 << 9 | 0x106 << 18, 0x102 | 0x104 << 9, 0x102,
                 0x102 | 0x4 << 9, 0x102 | 0x104 << 9 | 0x6 << 18, 2 | 4 << 9):
        f += [(0xd0000000 | o << 16 | 6, srcs) for o in range(0x380)]
    for srcs in (0x102 | 0x104 << 9 | 0x106 << 18 | 3 << 27, 0x102 | 0x104 << 9 | 3 << 27, 0x102):
        f += [(0xd3800000 | o << 16 | 6 | 1 << 14, srcs) for o in range(0x80)]
    for w1 in (2 | 4 << 8 | 6 << 16 | 8 << 24, 2 | 4 << 8, 2 | 4 << 8 | 6 << 16,
               2 | 8 << 24, 2 | 4 << 8 | 8 << 24, 8 << 24, 4 << 8):
        f += [(0xd8000000 | o << 17, w1) for o in range(256)]
    for seg in (0, 0x4000, 0x8000):
        for w1 in (2 | 4 << 8 | 0x7f << 16 | 8 << 24, 2 | 4 << 8 | 8 << 24, 2 | 8 << 24,
                   2 | 4 << 8, 2 | 4 << 8 | 0x7f << 16):
            f += [(0xdc000000 | seg | o << 18, w1) for o in range(128)]
    f += [(0xe0000000 | o << 18 | 1 << 12, 2 | 4 << 8 | 2 << 16 | 0x80 << 24) for o in range(128)]
    f += [(0xe0000000 | o << 18, 0) for o in range(128)]
    # all of MTBUF, with formats that the assembler has names for
    for addr in (1 << 12, 1 << 13, 3 << 12, 0):
        f += [(0xe8000000 | o << 15 | dfmt << 19 | nfmt << 23 | addr | 0x7ff, 2 | 4 << 8 | 2 << 16 | 0x80 << 24)
              for o in range(16) for dfmt, nfmt in ((1, 0), (4, 7), (10, 4), (14, 5), (12, 7))]
    return f


def random_words(count):
    rnd = random.Random(1)
    out = []
    for _ in range(count):
        w0, w1 = rnd.getrandbits(32), rnd.getrandbits(32)
        if rnd.random() < 0.5:  # favour the vector formats
            w0 = rnd.choice((0xd0000000, 0xd1000000, 0xd2000000, 0xd3800000, 0xd8000000,
                             0xdc000000, 0xe0000000, 0xe8000000, 0x7e000000, 0x7c000000)) | (w0 & 0xffffff)
        if rnd.random() < 0.2:
            w0 = (w0 & 0x7ffffe00) | rnd.choice((0xf9, 0xfa))
        out.append((w0, w1))
    return out


def llvm_names(mc, isa, words):
    """First instruction of each group, or None when llvm knows none.

    A marker follows each group; the disassembler crashes on some random words,
    so it is started again after the group it died of."""
    out = []
    while len(out) < len(words):
        text = ''.join('[' + ' '.join('0x%02x' % (w >> s & 255) for w in ws for s in (0, 8, 16, 24)) +
                       ']\n[0x34 0x12 0x80 0xbf]\n' for ws in words[len(out):])
        r = subprocess.run([mc, '--disassemble', '--triple=amdgcn', '--mcpu=' + isa, '--show-encoding'],
                           input=text, capture_output=True, text=True)
        cur = []
        for line in r.stdout.splitlines():
            line = line.strip()
            if line.startswith('s_nop 0x1234') or line.startswith('s_nop 4660'):
                out.append(cur)
                cur = []
            elif line and not line.startswith('.'):
                m = re.search(r'encoding: \[([^\]]*)\]', line)
                cur.append((line.split()[0], len(m.group(1).split(',')) if m else 0))
        if len(out) < len(words):
            out.append([])
    return out


def main():
    dump, mc = sys.argv[1], sys.argv[2]
    count = int(sys.argv[3]) if len(sys.argv) > 3 and sys.argv[3].isdigit() else 2500
    words = sweep() + random_words(count)
    bad = 0
    missing = {}
    accepted = 0
    for n, isa in enumerate(ISAS):
        text = ''.join('%d %x %x %x\n' % (n, a, b, 0) for a, b in words)
        ours = subprocess.run([dump], input=text, capture_output=True, text=True, check=True).stdout.split('\n')
        # What we refuse matters only to --missing, and asking is what takes the time.
        asked = [k for k in range(len(words)) if '--missing' in sys.argv or not ours[k].startswith('-')]
        theirs = llvm_names(mc, isa, [words[k] for k in asked])
        if len(theirs) != len(asked):
            sys.exit('llvm-mc: %d answers for %d words' % (len(theirs), len(asked)))
        for k, t in zip(asked, theirs):
            ws = words[k]
            o = ours[k].split()
            name = re.sub(r'_(e32|e64|sdwa|dpp)$', '', t[0][0]) if t else None
            if o[0] == '-':
                if name and ws[0] >> 26 != 0x35:
                    missing.setdefault(name, (isa, '%08x %08x' % ws))
                continue
            accepted += 1
            if not name:
                # llvm-mc 15 leaves out some legal encodings (trailing fields it wants 0)
                if '--strict' in sys.argv:
                    print('%s %08x %08x: %s, llvm: nothing' % (isa, ws[0], ws[1], o[0]))
                continue
            # llvm-mc writes a float inline constant of a 16-bit integer back as a literal
            same_size = t[0][1] == int(o[1]) or not t[0][1] or '16' in name
            if name != o[0] or not same_size:
                bad += 1
                if bad < 40:
                    print('%s %08x %08x: %s (%s bytes), llvm: %s (%d bytes)' %
                          (isa, ws[0], ws[1], o[0], o[1], t[0][0], t[0][1]))
    print('%d encodings accepted, %d wrong' % (accepted, bad))
    if '--missing' in sys.argv:
        for name in sorted(missing):
            print('missing', name, *missing[name])
    sys.exit(bad != 0)


if __name__ == '__main__':
    main()
