# SPDX-License-Identifier: MIT
"""What a vector is, and the values that every family is tried with."""
import random

import softfloat as sf

LANES = 64
ALL = (1 << 64) - 1
rnd = random.Random(20220)


class Vector:
    """Code; registers before; registers after. Items are (name, register, lane, value...), see vectors.c."""
    def __init__(self, code, sets, wants, isa='gfx90a', rows=None):
        self.code, self.isa = code, isa
        self.sets, self.wants = list(sets), list(wants)
        self.rows = rows


vectors = []


def add(code, sets, wants, isa='gfx90a', rows=None):
    vectors.append(Vector(code, sets, wants, isa, rows))


def row(reg, values, file='v'):
    """All 64 lanes of one register."""
    return (file, reg, -2, 0, [x & 0xffffffff for x in values])


def rows(reg, values, words, file='v'):
    """All lanes of `words` registers that together hold each value."""
    return [row(reg + k, [x >> 32 * k for x in values], file) for k in range(words)]


def sgprs(reg, value, words):
    return [('s', reg + k, -1, value >> 32 * k & 0xffffffff) for k in range(words)]


def exec_mask(value):
    return ('exec', 0, -1, value)


EDGE32 = [0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 33, 63, 64, 127, 128, 255, 256, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffff,
          0x800000, 0xffffff, 0x1000000, 0x7ffffffe, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff,
          0x55555555, 0xaaaaaaaa, 0x00ff00ff, 0x12345678, 0x80008000, 0x7fff7fff, 0x80017fff, 0xffff0000]
EDGE16 = [0, 1, 2, 7, 15, 16, 127, 128, 255, 256, 0x7ffe, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff, 0x5555, 0xaaaa]
EDGE64 = EDGE32 + [0xffffffff00000000, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000, 0x8000000000000001,
                   ALL, ALL - 1, 0x123456789abcdef0, 0x80000000, 0x00000000ffffffff, 0x5555555555555555]


def edge_float(f):
    one = f.bias << f.mbits
    out = [0, 1, 2, f.mask, f.mask + 1, f.mask + 2, one - 1, one, one + 1, one + (1 << f.mbits), one | f.quiet,
           one - (1 << f.mbits), one + (2 << f.mbits) | 1, f.inf - 1, f.inf, f.inf | 1, f.nan, f.nan | 3,
           (f.bias + f.mbits) << f.mbits, (f.bias + f.mbits - 1) << f.mbits | 1, (f.bias + f.mbits + 1) << f.mbits | 1,
           (f.bias - f.mbits) << f.mbits, (f.bias - 1) << f.mbits | f.quiet, (f.bias + 1) << f.mbits | f.quiet]
    return [x | s for x in out for s in (0, f.sign)]


def float_value(f):
    """Half edges, half numbers near one another, where rounding matters."""
    if rnd.random() < 0.45:
        return rnd.choice(EDGE_F[f.bits])
    e = f.bias + rnd.randint(-6, 6) if rnd.random() < 0.8 else rnd.randint(0, f.emax - 1)
    m = rnd.getrandbits(f.mbits)
    if rnd.random() < 0.4:
        m &= (f.mask << rnd.randint(0, f.mbits)) & f.mask
    return rnd.getrandbits(1) << f.bits - 1 | min(max(e, 0), f.emax - 1) << f.mbits | m


EDGE_F = {f.bits: edge_float(f) for f in (sf.F16, sf.F32, sf.F64)}


def int_value(edges, bits):
    return rnd.choice(edges) if rnd.random() < 0.6 else rnd.getrandbits(bits)


def value(kind):
    """A random value of an operand type; see vector.py for the letters."""
    if kind in 'ui':
        return int_value(EDGE32, 32)
    if kind in 'UI':
        return int_value(EDGE64, 64)
    if kind in 'hs':
        return rnd.choice(EDGE16) if rnd.random() < 0.6 else rnd.getrandbits(16)
    if kind == 'f':
        return float_value(sf.F32)
    if kind == 'd':
        return float_value(sf.F64)
    if kind == 'e':
        return float_value(sf.F16)
    if kind == 'p':  # two integers of 16 bits
        return value('h') | value('h') << 16
    if kind == 'q':  # two halves
        return value('e') | value('e') << 16
    if kind == 'P':
        return value('f') | value('f') << 32
    if kind == 'R':
        return value('u') | value('u') << 32 | value('u') << 64 | value('u') << 96
    raise ValueError(kind)


WORDS = {'U': 2, 'I': 2, 'd': 2, 'P': 2, 'R': 4}
FORMAT = {'f': sf.F32, 'd': sf.F64, 'e': sf.F16}


def words(kind):
    return WORDS.get(kind, 1)


def signed(v, bits):
    v &= (1 << bits) - 1
    return v - (1 << bits) if v >> bits - 1 else v


def operand(kind, raw):
    """What a body computes with."""
    if kind == 'i':
        return signed(raw, 32)
    if kind == 'I':
        return signed(raw, 64)
    if kind == 's':
        return signed(raw, 16)
    if kind in 'he':
        return raw & 0xffff
    return raw


def reg(kind, n, file='v'):
    w = words(kind)
    return '%s%d' % (file, n) if w == 1 else '%s[%d:%d]' % (file, n, n + w - 1)
