# SPDX-License-Identifier: MIT
"""Vector ALU rows: operand types and meaning of each, as the ISA document's pseudocode has them.

Type letters: u i 32 bits, U I 64, h s 16, f d e floats of 32, 64, 16 bits, p q
two 16-bit integers or halves in a word, P two f32 in a pair, R four words, m a
lane mask. "d:abc" is the result and the sources. Flags: k second result (a mask),
a source c is the destination, o opcode exists as VOP3 only, K the upper half of
the destination stays, ~N within N units in the last place, x no modifiers,
9 only on older generations.
"""
import math

import harness as hn
import softfloat as sf
from harness import signed
from softfloat import F16, F32, F64, mode

M32, M64 = 0xffffffff, hn.ALL


class Row:
    def __init__(self, name, types, flags, fn, isa):
        self.name, self.flags, self.fn, self.isa = name, flags, fn, isa
        self.dst, self.src = types.split(':')
        self.ulps = int(flags.split('~')[1][0]) if '~' in flags else 0


table = []


def op(name, types, fn, flags='', isa='gfx90a'):
    table.append(Row(name, types, flags, fn, isa))


# --- integers

def sat(v, lo, hi):
    return max(lo, min(hi, v))


def bits_from_top(v, bits):
    """Leading bits equal to the top one, -1 when all are."""
    top = v >> bits - 1
    for n in range(1, bits):
        if v >> bits - 1 - n & 1 != top:
            return n
    return -1


def lowest(v, bits):
    return next((n for n in range(bits) if v >> n & 1), -1)


def highest(v, bits):
    return next((n for n in range(bits) if v >> bits - 1 - n & 1), -1)


def bfe_i(v, off, width):
    t = (signed(v, 32) >> off) & ((1 << width) - 1)
    return signed(t, width) if width else 0


def bytes_of(v, n=4):
    return [v >> 8 * k & 255 for k in range(n)]


def sad(a, b, masked=False):
    return sum(abs(x - y) for x, y in zip(bytes_of(a), bytes_of(b)) if y or not masked)


def lerp(a, b, c):
    return sum(((x + y + (z & 1)) >> 1) << 8 * k for k, (x, y, z) in enumerate(zip(bytes_of(a), bytes_of(b), bytes_of(c))))


def perm(a, b, c):
    data = bytes_of(a << 32 | b, 8)

    def one(sel):
        if sel >= 13:
            return 255
        if sel == 12:
            return 0
        return 255 * (data[2 * (sel - 8) + 1] >> 7) if sel >= 8 else data[sel]
    return sum(one(s) << 8 * k for k, s in enumerate(bytes_of(c)))


def halves(v):
    return v & 0xffff, v >> 16 & 0xffff


def pk(fn, *xs):
    lo, hi = (fn(*[halves(x)[k] for x in xs]) & 0xffff for k in (0, 1))
    return lo | hi << 16


def pk_signed(fn, *xs):
    return pk(lambda *h: fn(*[signed(x, 16) for x in h]), *xs)


def s24(v):
    return signed(v, 24)


def sum_parts(a, b, bits, sign):
    t = 0
    for k in range(0, 32, bits):
        x, y = a >> k & ((1 << bits) - 1), b >> k & ((1 << bits) - 1)
        t += signed(x, bits) * signed(y, bits) if sign else x * y
    return t


def med(a, b, c):
    return sorted((a, b, c))[1]


op('v_mov_b32', 'u:u', lambda a: a, 'x')
op('v_not_b32', 'u:u', lambda a: ~a, 'x')
op('v_bfrev_b32', 'u:u', lambda a: int('{:032b}'.format(a)[::-1], 2), 'x')
op('v_ffbh_u32', 'u:u', lambda a: highest(a, 32), 'x')
op('v_ffbl_b32', 'u:u', lambda a: lowest(a, 32), 'x')
op('v_ffbh_i32', 'u:u', lambda a: bits_from_top(a, 32), 'x')
op('v_sat_pk_u8_i16', 'u:p', lambda a: sum(sat(signed(h, 16), 0, 255) << 8 * k for k, h in enumerate(halves(a))), 'x')
for n in range(4):
    op('v_cvt_f32_ubyte%d' % n, 'f:u', lambda a, n=n: sf.from_int(F32, a >> 8 * n & 255))
op('v_cvt_off_f32_i4', 'f:u', lambda a: sf.from_float(F32, signed(a, 4) / 16))

for name, fn in (('and', lambda a, b: a & b), ('or', lambda a, b: a | b), ('xor', lambda a, b: a ^ b),
                 ('xnor', lambda a, b: ~(a ^ b))):
    op('v_%s_b32' % name, 'u:uu', fn, 'x')
op('v_lshlrev_b32', 'u:uu', lambda a, b: b << (a & 31), 'x')
op('v_lshrrev_b32', 'u:uu', lambda a, b: b >> (a & 31), 'x')
op('v_ashrrev_i32', 'u:ui', lambda a, b: b >> (a & 31), 'x')
op('v_lshlrev_b16', 'h:hh', lambda a, b: b << (a & 15), 'x')
op('v_lshrrev_b16', 'h:hh', lambda a, b: b >> (a & 15), 'x')
op('v_ashrrev_i16', 'h:hs', lambda a, b: b >> (a & 15), 'x')
op('v_lshlrev_b64', 'U:uU', lambda a, b: b << (a & 63), 'xo')
op('v_lshrrev_b64', 'U:uU', lambda a, b: b >> (a & 63), 'xo')
op('v_ashrrev_i64', 'U:uI', lambda a, b: b >> (a & 63), 'xo')
for t, n in (('u', 'u32'), ('i', 'i32'), ('h', 'u16'), ('s', 'i16')):
    op('v_min_' + n, '%s:%s%s' % (t, t, t), min, 'x')
    op('v_max_' + n, '%s:%s%s' % (t, t, t), max, 'x')
    keep = 'K' if t in 'hs' else ''
    op('v_min3_' + n, '%s:%s%s%s' % (t, t, t, t), min, 'xo' + keep)
    op('v_max3_' + n, '%s:%s%s%s' % (t, t, t, t), max, 'xo' + keep)
    op('v_med3_' + n, '%s:%s%s%s' % (t, t, t, t), med, 'xo' + keep)
# clamp saturates integers; `c` in the flags makes a second vector with it
op('v_add_u32', 'u:uu', lambda a, b, cl=0: sat(a + b, 0, M32) if cl else a + b, 'xc')
op('v_sub_u32', 'u:uu', lambda a, b, cl=0: sat(a - b, 0, M32) if cl else a - b, 'xc')
op('v_subrev_u32', 'u:uu', lambda a, b, cl=0: sat(b - a, 0, M32) if cl else b - a, 'xc')
op('v_add_i32', 'i:ii', lambda a, b, cl=0: sat(a + b, -1 << 31, (1 << 31) - 1) if cl else a + b, 'xoc')
op('v_sub_i32', 'i:ii', lambda a, b, cl=0: sat(a - b, -1 << 31, (1 << 31) - 1) if cl else a - b, 'xoc')
op('v_add_i16', 's:ss', lambda a, b, cl=0: sat(a + b, -32768, 32767) if cl else a + b, 'xoc')
op('v_sub_i16', 's:ss', lambda a, b, cl=0: sat(a - b, -32768, 32767) if cl else a - b, 'xoc')
op('v_add_u16', 'h:hh', lambda a, b, cl=0: sat(a + b, 0, 65535) if cl else a + b, 'xc')
op('v_sub_u16', 'h:hh', lambda a, b, cl=0: sat(a - b, 0, 65535) if cl else a - b, 'xc')
op('v_subrev_u16', 'h:hh', lambda a, b, cl=0: sat(b - a, 0, 65535) if cl else b - a, 'xc')
op('v_mul_lo_u16', 'h:hh', lambda a, b: a * b, 'x')
op('v_add_co_u32', 'u:uu', lambda a, b: (a + b, a + b > M32), 'kx')
op('v_sub_co_u32', 'u:uu', lambda a, b: (a - b, b > a), 'kx')
op('v_subrev_co_u32', 'u:uu', lambda a, b: (b - a, a > b), 'kx')
op('v_addc_co_u32', 'u:uum', lambda a, b, c: (a + b + c, a + b + c > M32), 'kx')
op('v_subb_co_u32', 'u:uum', lambda a, b, c: (a - b - c, b + c > a), 'kx')
op('v_subbrev_co_u32', 'u:uum', lambda a, b, c: (b - a - c, a + c > b), 'kx')
op('v_cndmask_b32', 'u:uum', lambda a, b, c: b if c else a, 'x')
op('v_mul_i32_i24', 'u:uu', lambda a, b: s24(a) * s24(b), 'x')
op('v_mul_hi_i32_i24', 'u:uu', lambda a, b: s24(a) * s24(b) >> 32, 'x')
op('v_mul_u32_u24', 'u:uu', lambda a, b: (a & 0xffffff) * (b & 0xffffff), 'x')
op('v_mul_hi_u32_u24', 'u:uu', lambda a, b: (a & 0xffffff) * (b & 0xffffff) >> 32, 'x')
op('v_mul_lo_u32', 'u:uu', lambda a, b: a * b, 'xo')
op('v_mul_hi_u32', 'u:uu', lambda a, b: a * b >> 32, 'xo')
op('v_mul_hi_i32', 'i:ii', lambda a, b: a * b >> 32, 'xo')
op('v_mad_i32_i24', 'u:uui', lambda a, b, c, cl=0: sat(s24(a) * s24(b) + c, -1 << 31, (1 << 31) - 1) if cl
   else s24(a) * s24(b) + c, 'xoc')
op('v_mad_u32_u24', 'u:uuu', lambda a, b, c, cl=0: sat((a & 0xffffff) * (b & 0xffffff) + c, 0, M32) if cl
   else (a & 0xffffff) * (b & 0xffffff) + c, 'xoc')
for name, keep in (('v_mad_u16', 'K'), ('v_mad_legacy_u16', '')):
    op(name, 'h:hhh', lambda a, b, c: a * b + c, 'xo' + keep)
for name, keep in (('v_mad_i16', 'K'), ('v_mad_legacy_i16', '')):
    op(name, 's:sss', lambda a, b, c: a * b + c, 'xo' + keep)
op('v_mad_u32_u16', 'u:hhu', lambda a, b, c: a * b + c, 'xo')
op('v_mad_i32_i16', 'u:ssu', lambda a, b, c: a * b + c, 'xo')
op('v_mad_u64_u32', 'U:uuU', lambda a, b, c: (a * b + c, a * b + c > M64), 'kxo')
op('v_mad_i64_i32', 'U:iiI', lambda a, b, c: (a * b + c, a * b + c != signed(a * b + c, 64)), 'kxo')
op('v_bfe_u32', 'u:uuu', lambda a, b, c: a >> (b & 31) & ((1 << (c & 31)) - 1), 'xo')
op('v_bfe_i32', 'u:uuu', lambda a, b, c: bfe_i(a, b & 31, c & 31), 'xo')
op('v_bfi_b32', 'u:uuu', lambda a, b, c: (a & b) | (~a & c), 'xo')
op('v_bfm_b32', 'u:uu', lambda a, b: ((1 << (a & 31)) - 1) << (b & 31), 'xo')
op('v_lerp_u8', 'u:uuu', lerp, 'xo')
op('v_alignbit_b32', 'u:uuu', lambda a, b, c: (a << 32 | b) >> (c & 31), 'xo')
op('v_alignbyte_b32', 'u:uuu', lambda a, b, c: (a << 32 | b) >> 8 * (c & 3), 'xo')
op('v_perm_b32', 'u:uuu', perm, 'xo')
op('v_sad_u8', 'u:uuu', lambda a, b, c: sad(a, b) + c, 'xo')
op('v_sad_hi_u8', 'u:uuu', lambda a, b, c: (sad(a, b) << 16) + c, 'xo')
op('v_sad_u16', 'u:uuu', lambda a, b, c: sum(abs(x - y) for x, y in zip(halves(a), halves(b))) + c, 'xo')
op('v_sad_u32', 'u:uuu', lambda a, b, c: abs(a - b) + c, 'xo')
op('v_msad_u8', 'u:uuu', lambda a, b, c: sad(a, b, True) + c, 'xo')
for name, masked in (('v_qsad_pk_u16_u8', False), ('v_mqsad_pk_u16_u8', True)):
    op(name, 'U:UuU', lambda a, b, c, m=masked: sum(
        (sad(a >> 8 * k & M32, b, m) + (c >> 16 * k & 0xffff) & 0xffff) << 16 * k for k in range(4)), 'xo')
op('v_mqsad_u32_u8', 'R:UuR', lambda a, b, c: sum(
    (sad(a >> 8 * k & M32, b, True) + (c >> 32 * k & M32) & M32) << 32 * k for k in range(4)), 'xo')
op('v_xad_u32', 'u:uuu', lambda a, b, c: (a ^ b) + c, 'xo')
op('v_lshl_add_u32', 'u:uuu', lambda a, b, c: (a << (b & 31)) + c, 'xo')
op('v_add_lshl_u32', 'u:uuu', lambda a, b, c: (a + b & M32) << (c & 31), 'xo')
op('v_lshl_or_b32', 'u:uuu', lambda a, b, c: a << (b & 31) | c, 'xo')
op('v_and_or_b32', 'u:uuu', lambda a, b, c: a & b | c, 'xo')
op('v_or3_b32', 'u:uuu', lambda a, b, c: a | b | c, 'xo')
op('v_add3_u32', 'u:uuu', lambda a, b, c: a + b + c, 'xo')
op('v_bcnt_u32_b32', 'u:uu', lambda a, b: bin(a).count('1') + b, 'xo')
op('v_cvt_pk_u16_u32', 'u:uu', lambda a, b: min(a, 65535) | min(b, 65535) << 16, 'xo')
op('v_cvt_pk_i16_i32', 'u:ii', lambda a, b: sat(a, -32768, 32767) & 0xffff | sat(b, -32768, 32767) << 16, 'xo')
op('v_dot4c_i32_i8', 'u:uui', lambda a, b, c: sum_parts(a, b, 8, True) + c, 'xa')
op('v_dot8c_i32_i4', 'u:uui', lambda a, b, c: sum_parts(a, b, 4, True) + c, 'xa')
op('v_dot2c_i32_i16', 'u:uui', lambda a, b, c: sum_parts(a, b, 16, True) + c, 'xa')
for bits, s, u in ((16, 'v_dot2_i32_i16', 'v_dot2_u32_u16'), (8, 'v_dot4_i32_i8', 'v_dot4_u32_u8'),
                   (4, 'v_dot8_i32_i4', 'v_dot8_u32_u4')):
    op(s, 'u:uui', lambda a, b, c, cl=0, n=bits: sat(sum_parts(a, b, n, True) + c, -1 << 31, (1 << 31) - 1) if cl
       else sum_parts(a, b, n, True) + c, 'xoc')
    op(u, 'u:uuu', lambda a, b, c, cl=0, n=bits: sat(sum_parts(a, b, n, False) + c, 0, M32) if cl
       else sum_parts(a, b, n, False) + c, 'xoc')

# packed integers
op('v_pk_mad_i16', 'p:ppp', lambda a, b, c: pk_signed(lambda x, y, z: x * y + z, a, b, c), 'xo')
op('v_pk_mad_u16', 'p:ppp', lambda a, b, c: pk(lambda x, y, z: x * y + z, a, b, c), 'xo')
op('v_pk_mul_lo_u16', 'p:pp', lambda a, b: pk(lambda x, y: x * y, a, b), 'xo')
op('v_pk_add_i16', 'p:pp', lambda a, b, cl=0: pk_signed(
    lambda x, y: sat(x + y, -32768, 32767) if cl else x + y, a, b), 'xoc')
op('v_pk_sub_i16', 'p:pp', lambda a, b, cl=0: pk_signed(
    lambda x, y: sat(x - y, -32768, 32767) if cl else x - y, a, b), 'xoc')
op('v_pk_add_u16', 'p:pp', lambda a, b, cl=0: pk(lambda x, y: sat(x + y, 0, 65535) if cl else x + y, a, b), 'xoc')
op('v_pk_sub_u16', 'p:pp', lambda a, b, cl=0: pk(lambda x, y: sat(x - y, 0, 65535) if cl else x - y, a, b), 'xoc')
op('v_pk_lshlrev_b16', 'p:pp', lambda a, b: pk(lambda x, y: y << (x & 15), a, b), 'xo')
op('v_pk_lshrrev_b16', 'p:pp', lambda a, b: pk(lambda x, y: y >> (x & 15), a, b), 'xo')
op('v_pk_ashrrev_i16', 'p:pp', lambda a, b: pk(lambda x, y: signed(y, 16) >> (x & 15), a, b), 'xo')
op('v_pk_max_i16', 'p:pp', lambda a, b: pk_signed(max, a, b), 'xo')
op('v_pk_min_i16', 'p:pp', lambda a, b: pk_signed(min, a, b), 'xo')
op('v_pk_max_u16', 'p:pp', lambda a, b: pk(max, a, b), 'xo')
op('v_pk_min_u16', 'p:pp', lambda a, b: pk(min, a, b), 'xo')

# --- floats

for t, f, n in (('f', F32, 'f32'), ('d', F64, 'f64'), ('e', F16, 'f16')):
    for how, name in (('trunc', 'trunc'), ('ceil', 'ceil'), ('even', 'rndne'), ('floor', 'floor')):
        op('v_%s_%s' % (name, n), '%s:%s' % (t, t), lambda a, f=f, how=how: sf.integral(f, a, how))

    def fract(a, f=f):
        """Never 1: the largest number below it instead."""
        r = sf.sub(f, sf.source(f, a), sf.integral(f, a, 'floor'))
        one = f.bias << f.mbits
        return one - 1 if not sf.is_nan(f, r) and sf.value(f, r) >= one else r
    op('v_fract_' + n, '%s:%s' % (t, t), fract)

    def frexp_exp(a, f=f):
        if a & f.inf == f.inf or sf.is_zero(f, a):
            return 0
        _, m, e = sf.unpack(f, a)
        return m.bit_length() + e
    op('v_frexp_exp_%s_%s' % ('i16' if t == 'e' else 'i32', n), '%s:%s' % ('s' if t == 'e' else 'i', t), frexp_exp)

    def frexp_mant(a, f=f):
        if sf.is_nan(f, a):
            return a | f.quiet
        if a & f.inf == f.inf or sf.is_zero(f, a):
            return a
        s, m, _ = sf.unpack(f, a)
        return sf.pack(f, s, m, -m.bit_length(), flush=False)
    op('v_frexp_mant_' + n, '%s:%s' % (t, t), frexp_mant)
    op('v_rcp_' + n, '%s:%s' % (t, t), lambda a, f=f: sf.div(f, f.bias << f.mbits, a), '~1')
    op('v_sqrt_' + n, '%s:%s' % (t, t), lambda a, f=f: sf.sqrt(f, a), '~1')

    def rsq(a, f=f):
        """1 / sqrt(a) with one rounding: sqrt of the quotient 2^2k / a."""
        a = sf.source(f, a)
        if sf.is_nan(f, a):
            return sf.nan_of(f, a)
        if sf.is_zero(f, a):
            return f.inf | a
        if a & f.sign:
            return f.nan
        if a == f.inf:
            return 0
        _, m, e = sf.unpack(f, a)
        k = 4 * f.bits
        m, e = (m << 1, e - 1) if e & 1 else (m, e)
        return sf.pack(f, False, math.isqrt((1 << 2 * k) // m), -k - e // 2, True)
    op('v_rsq_' + n, '%s:%s' % (t, t), rsq, '~1')
op('v_rcp_iflag_f32', 'f:f', lambda a: sf.div(F32, F32.bias << F32.mbits, a), '~1')


def through(fn, f):
    """A function of doubles; what it cannot take is a NaN."""
    def run(a):
        a = sf.source(f, a)
        if sf.is_nan(f, a):
            return sf.nan_of(f, a)
        try:
            return sf.source(f, sf.from_float(f, fn(sf.to_float(f, a)))) if not mode.denorm(f) & 2 \
                else sf.from_float(f, fn(sf.to_float(f, a)))
        except ValueError:
            return f.nan
    return run


def exp2(x):
    return 0.0 if x == -math.inf else math.inf if x > 1023 else 2.0 ** max(x, -1070.0)


def log2(x):
    return -math.inf if x == 0 else math.inf if x == math.inf else math.log2(x)


def sin_turns(x):
    return math.sin(2 * math.pi * math.fmod(x, 1.0)) if math.fmod(x, 0.25) else \
        (0.0, 1.0, 0.0, -1.0)[int(math.fmod(x, 1.0) * 4) % 4]


def cos_turns(x):
    return math.cos(2 * math.pi * math.fmod(x, 1.0)) if math.fmod(x, 0.25) else \
        (1.0, 0.0, -1.0, 0.0)[int(math.fmod(x, 1.0) * 4) % 4]


for f, t, n in ((F32, 'f', 'f32'), (F16, 'e', 'f16')):
    op('v_exp_' + n, '%s:%s' % (t, t), through(exp2, f), '~1')
    op('v_log_' + n, '%s:%s' % (t, t), through(log2, f), '~1')
    op('v_sin_' + n, '%s:%s' % (t, t), through(sin_turns, f), '~1')
    op('v_cos_' + n, '%s:%s' % (t, t), through(cos_turns, f), '~1')
op('v_exp_legacy_f32', 'f:f', through(exp2, F32), '~1')
op('v_log_legacy_f32', 'f:f', through(log2, F32), '~1')

LIMITS = {'i32': (-1 << 31, (1 << 31) - 1), 'u32': (0, M32), 'i16': (-32768, 32767), 'u16': (0, 65535)}
for t, f, n in (('f', F32, 'f32'), ('d', F64, 'f64')):
    op('v_cvt_i32_' + n, 'i:' + t, lambda a, f=f: sf.to_int(f, a, *LIMITS['i32']))
    op('v_cvt_u32_' + n, 'u:' + t, lambda a, f=f: sf.to_int(f, a, *LIMITS['u32']))
    op('v_cvt_%s_i32' % n, t + ':i', lambda a, f=f: sf.from_int(f, a))
    op('v_cvt_%s_u32' % n, t + ':u', lambda a, f=f: sf.from_int(f, a))
op('v_cvt_i16_f16', 's:e', lambda a: sf.to_int(F16, a, *LIMITS['i16']))
op('v_cvt_u16_f16', 'h:e', lambda a: sf.to_int(F16, a, *LIMITS['u16']))
op('v_cvt_f16_i16', 'e:s', lambda a: sf.from_int(F16, a))
op('v_cvt_f16_u16', 'e:h', lambda a: sf.from_int(F16, a))
op('v_cvt_f32_f64', 'f:d', lambda a: sf.convert(F32, F64, a))
op('v_cvt_f64_f32', 'd:f', lambda a: sf.convert(F64, F32, a))
op('v_cvt_f16_f32', 'e:f', lambda a: sf.convert(F16, F32, a))
op('v_cvt_f32_f16', 'f:e', lambda a: sf.convert(F32, F16, a))
op('v_cvt_flr_i32_f32', 'i:f', lambda a: sf.to_int(F32, sf.integral(F32, a, 'floor'), *LIMITS['i32']))
op('v_cvt_rpi_i32_f32', 'i:f', lambda a: sf.to_int(
    F32, sf.integral(F32, sf.add(F32, a, 0x3f000000), 'floor'), *LIMITS['i32']))


def norm(f, a, lo, scale):
    a = sf.source(f, a)
    if sf.is_nan(f, a):
        return 0
    v = max(float(lo), min(1.0, sf.to_float(f, a)))
    return round(v * scale) if abs(v * scale % 1 - 0.5) > 1e-9 else round(v * scale / 2) * 2 \
        if math.floor(v * scale) % 2 else math.floor(v * scale)


def pknorm(f, a, b, lo, scale):
    return norm(f, a, lo, scale) & 0xffff | (norm(f, b, lo, scale) & 0xffff) << 16


for t, f, n in (('f', F32, 'f32'), ('e', F16, 'f16')):
    op('v_cvt_pknorm_i16_' + n, 'u:%s%s' % (t, t), lambda a, b, f=f: pknorm(f, a, b, -1, 32767), 'ou')
    op('v_cvt_pknorm_u16_' + n, 'u:%s%s' % (t, t), lambda a, b, f=f: pknorm(f, a, b, 0, 65535), 'ou')
op('v_cvt_norm_i16_f16', 's:e', lambda a: norm(F16, a, -1, 32767), 'u')
op('v_cvt_norm_u16_f16', 'h:e', lambda a: norm(F16, a, 0, 65535), 'u')


def rtz16(a):
    a = sf.source(F32, a)
    if sf.is_nan(F32, a) or a & F32.inf == F32.inf or sf.is_zero(F32, a):
        return sf.convert(F16, F32, a)
    s, m, e = sf.unpack(F32, a)
    return sf.pack(F16, s, m, e, rm=3, flush=False)


op('v_cvt_pkrtz_f16_f32', 'u:ff', lambda a, b: rtz16(a) | rtz16(b) << 16, 'oq')
def canonical16(h):
    h = sf.canonical(F16, h)
    return h | F16.quiet if sf.is_nan(F16, h) else h


op('v_pack_b32_f16', 'u:ee', lambda a, b: canonical16(a) | canonical16(b) << 16, 'oqx')


def pk_u8(a, b, c):
    s = 8 * (b & 3)
    return c & ~(255 << s) | sf.to_int(F32, a, 0, 255) << s


op('v_cvt_pk_u8_f32', 'u:fuu', pk_u8, 'o')
op('v_cvt_pkaccum_u8_f32', 'u:fuu', pk_u8, 'oa')

for t, f, n in (('f', F32, 'f32'), ('e', F16, 'f16')):
    ty = '%s:%s%s' % (t, t, t)
    op('v_sub_' + n, ty, lambda a, b, f=f: sf.sub(f, a, b))
    op('v_subrev_' + n, ty, lambda a, b, f=f: sf.nan_of(f, a, b) if sf.any_nan(f, a, b) else sf.sub(f, b, a))
for t, f, n in (('f', F32, 'f32'), ('d', F64, 'f64'), ('e', F16, 'f16')):
    o = 'o' if t == 'd' else ''
    ty = '%s:%s%s' % (t, t, t)
    op('v_add_' + n, ty, lambda a, b, f=f: sf.add(f, a, b), o)
    op('v_mul_' + n, ty, lambda a, b, f=f: sf.mul(f, a, b), o)
    op('v_min_' + n, ty, lambda a, b, f=f: sf.minmax(f, a, b, False), o)
    op('v_max_' + n, ty, lambda a, b, f=f: sf.minmax(f, a, b, True), o)
    op('v_fma_' + n, ty + t, lambda a, b, c, f=f: sf.fma(f, a, b, c), 'o' + ('K' if t == 'e' else ''))
    op('v_ldexp_' + n, '%s:%s%s' % (t, t, 's' if t == 'e' else 'i'), lambda a, b, f=f: sf.ldexp(f, a, b), 'o' if t != 'e' else '')
op('v_fmac_f32', 'f:fff', lambda a, b, c: sf.fma(F32, a, b, c), 'a')
op('v_fmac_f64', 'd:ddd', lambda a, b, c: sf.fma(F64, a, b, c), 'a')
op('v_fma_legacy_f16', 'e:eee', lambda a, b, c: sf.fma(F16, a, b, c), 'o')
op('v_mad_f16', 'e:eee', lambda a, b, c: sf.mad(F16, a, b, c), 'oK')
op('v_mad_legacy_f16', 'e:eee', lambda a, b, c: sf.mad(F16, a, b, c), 'o')
op('v_mac_f16', 'e:eee', lambda a, b, c: sf.mad(F16, a, b, c), 'a', 'gfx906')
op('v_mad_f32', 'f:fff', lambda a, b, c: sf.mad(F32, a, b, c), 'o')
op('v_mac_f32', 'f:fff', lambda a, b, c: sf.mad(F32, a, b, c), 'a', 'gfx906')


def legacy(a, b, fn):
    """0 times anything is +0."""
    return 0 if sf.is_zero(F32, sf.source(F32, a)) or sf.is_zero(F32, sf.source(F32, b)) else fn(a, b)


op('v_mul_legacy_f32', 'f:ff', lambda a, b: legacy(a, b, lambda x, y: sf.mul(F32, x, y)), 'o')
op('v_mul_legacy_f32', 'f:ff', lambda a, b: legacy(a, b, lambda x, y: sf.mul(F32, x, y)), '', 'gfx906')


def mad_legacy(a, b, c):
    saved = mode.word
    mode.word &= ~0x30
    r = sf.add(F32, legacy(a, b, lambda x, y: sf.mul(F32, x, y)), c)
    mode.word = saved
    return r


op('v_mad_legacy_f32', 'f:fff', mad_legacy, 'o')
for t, f, n in (('f', F32, 'f32'), ('e', F16, 'f16')):
    k = 'oK' if t == 'e' else 'o'

    def lowest3(a, b, c, f=f):
        return sf.minmax(f, sf.minmax(f, a, b, False), c, False)

    def highest3(a, b, c, f=f):
        return sf.minmax(f, sf.minmax(f, a, b, True), c, True)

    def middle(a, b, c, f=f, lo=lowest3, hi=highest3):
        a, b, c = (sf.canonical(f, x) for x in (a, b, c))
        if sf.any_nan(f, a, b, c):
            return lo(a, b, c)
        top = sf.value(f, hi(a, b, c))
        if top == sf.value(f, a):
            return sf.minmax(f, b, c, True)
        return sf.minmax(f, a, c if top == sf.value(f, b) else b, True)
    op('v_min3_' + n, '%s:%s%s%s' % (t, t, t, t), lowest3, k)
    op('v_max3_' + n, '%s:%s%s%s' % (t, t, t, t), highest3, k)
    op('v_med3_' + n, '%s:%s%s%s' % (t, t, t, t), middle, k)


def pkf(fn, *xs):
    return fn(*[x & 0xffff for x in xs]) | fn(*[x >> 16 for x in xs]) << 16


op('v_pk_fma_f16', 'q:qqq', lambda *x: pkf(lambda a, b, c: sf.fma(F16, a, b, c), *x), 'o')
op('v_pk_fmac_f16', 'q:qqq', lambda *x: pkf(lambda a, b, c: sf.fma(F16, a, b, c), *x), 'a')
op('v_pk_add_f16', 'q:qq', lambda *x: pkf(lambda a, b: sf.add(F16, a, b), *x), 'o')
op('v_pk_mul_f16', 'q:qq', lambda *x: pkf(lambda a, b: sf.mul(F16, a, b), *x), 'o')
op('v_pk_min_f16', 'q:qq', lambda *x: pkf(lambda a, b: sf.minmax(F16, a, b, False), *x), 'o')
op('v_pk_max_f16', 'q:qq', lambda *x: pkf(lambda a, b: sf.minmax(F16, a, b, True), *x), 'o')


def pair(fn, *xs):
    return fn(*[x & M32 for x in xs]) | fn(*[x >> 32 for x in xs]) << 32


op('v_pk_fma_f32', 'P:PPP', lambda *x: pair(lambda a, b, c: sf.fma(F32, a, b, c), *x), 'o')
op('v_pk_mul_f32', 'P:PP', lambda *x: pair(lambda a, b: sf.mul(F32, a, b), *x), 'o')
op('v_pk_add_f32', 'P:PP', lambda *x: pair(lambda a, b: sf.add(F32, a, b), *x), 'o')


def dot2(a, b, c):
    """MODE means nothing: no denormals, to nearest; each product goes into the sum with one rounding."""
    saved = mode.word
    mode.word &= ~0xff
    half = [[sf.convert(F32, F16, sf.source(F16, h)) for h in halves(x)] for x in (a, b)]
    nans = [x for x in (half[0][0], half[1][0], half[0][1], half[1][1], c) if sf.is_nan(F32, x)]
    r = sf.fma(F32, half[0][1], half[1][1], sf.fma(F32, half[0][0], half[1][0], c))
    mode.word = saved
    return nans[0] | F32.quiet if nans else r


op('v_dot2_f32_f16', 'f:qqf', dot2, 'ox')
op('v_dot2c_f32_f16', 'f:qqf', dot2, 'ax')


# --- cube maps, division

def cube_face(x, y, z):
    ax, ay, az = (abs(sf.to_float(F32, v)) for v in (x, y, z))
    if az >= ax and az >= ay:
        return 5 if sf.to_float(F32, z) < 0 else 4
    if ay >= ax:
        return 3 if sf.to_float(F32, y) < 0 else 2
    return 1 if sf.to_float(F32, x) < 0 else 0


def cube_sc(x, y, z):
    n = sf.neg
    return (n(F32, z), z, x, x, x, n(F32, x))[cube_face(x, y, z)]


def cube_tc(x, y, z):
    n = sf.neg
    return (n(F32, y), n(F32, y), z, n(F32, z), n(F32, y), n(F32, y))[cube_face(x, y, z)]


op('v_cubeid_f32', 'f:fff', lambda *x: sf.from_int(F32, cube_face(*x)), 'oxn')
op('v_cubesc_f32', 'f:fff', cube_sc, 'oxn')
op('v_cubetc_f32', 'f:fff', cube_tc, 'oxn')
op('v_cubema_f32', 'f:fff', lambda x, y, z: sf.mul(F32, 0x40000000, (x, y, z)[cube_face(x, y, z) // 2]), 'oxn')


def div_fixup(f, low):
    def run(q, den, num):
        q, den, num = (sf.canonical(f, x) for x in (q, den, num))
        s = (den ^ num) & f.sign
        if sf.is_nan(f, num) or sf.is_nan(f, den):
            return sf.nan_of(f, num, den)
        zd, zn, idn, inn = sf.is_zero(f, den), sf.is_zero(f, num), sf.is_inf(f, den), sf.is_inf(f, num)
        if (zd and zn) or (idn and inn):
            return f.sign | f.nan
        if zd or inn:
            return s | f.inf
        if idn or zn:
            return s
        if low is not None and (num >> f.mbits & f.emax) - (den >> f.mbits & f.emax) < low:
            return s
        # a quotient that is no number: the steps before overflowed
        return s | (f.inf if sf.is_nan(f, q) else q & ~f.sign)
    return run


op('v_div_fixup_f32', 'f:fff', div_fixup(F32, -150), 'ox')
op('v_div_fixup_f64', 'd:ddd', div_fixup(F64, -1075), 'ox')
op('v_div_fixup_f16', 'e:eee', div_fixup(F16, None), 'oKx')
op('v_div_fixup_legacy_f16', 'e:eee', div_fixup(F16, None), 'ox')
