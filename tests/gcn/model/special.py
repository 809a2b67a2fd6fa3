# SPDX-License-Identifier: MIT
"""Vector rows that are not one function of a lane's sources, and the forms that all rows share."""
import harness as hn
import softfloat as sf
from harness import ALL, LANES, exec_mask, rnd, row, rows, sgprs
from softfloat import F16, F32, F64, mode


def words32(n=LANES):
    return [hn.value('u') for _ in range(n)]


def lanes():
    a = words32()
    hn.add('v_nop', [row(1, a)], [row(1, a)])
    for m in (0, 1, 1 << 63, 0xff00, ALL):
        first = next((l for l in range(64) if m >> l & 1), 0)
        hn.add('v_readfirstlane_b32 s4, v1', [row(1, a), exec_mask(m)], [('s', 4, -1, a[first])])
    for lane in (0, 1, 31, 32, 63, 64, 0xffffffff):
        hn.add('v_readlane_b32 s4, v1, s5', [row(1, a), ('s', 5, -1, lane), exec_mask(0)], [('s', 4, -1, a[lane & 63])])
        b = list(a)
        b[lane & 63] = 55
        hn.add('v_writelane_b32 v1, 55, s5', [row(1, a), ('s', 5, -1, lane), exec_mask(0)], [row(1, b)])
    b, m = words32(), 0xf0f0f0f00f0f0f0e
    swapped = [(y, x) if m >> l & 1 else (x, y) for l, (x, y) in enumerate(zip(a, b))]
    hn.add('v_swap_b32 v1, v2', [row(1, a), row(2, b), exec_mask(m)],
           [row(1, [p[0] for p in swapped]), row(2, [p[1] for p in swapped])])
    pick = [x if m >> l & 1 else y for l, (x, y) in enumerate(zip(a, b))]
    hn.add('v_accvgpr_write_b32 a3, v1', [row(1, a), row(3, b, 'a'), exec_mask(m)], [row(3, pick, 'a')])
    hn.add('v_accvgpr_read_b32 v3, a1', [row(1, a, 'a'), row(3, b), exec_mask(m)], [row(3, pick)])
    hn.add('v_accvgpr_mov_b32 a3, a1', [row(1, a, 'a'), row(3, b, 'a'), exec_mask(m)], [row(3, pick, 'a')])
    for name, shift in (('v_mbcnt_lo_u32_b32', 0), ('v_mbcnt_hi_u32_b32', 32)):
        want = [bin(x & ((1 << l) - 1) >> shift & 0xffffffff).count('1') + y & 0xffffffff
                for l, (x, y) in enumerate(zip(a, b))]
        hn.add(name + ' v3, v1, v2', [row(1, a), row(2, b)], [row(3, want)])


def literals():
    """madmk, madak: the literal is the second factor, or the addend."""
    for f, t, n in ((F32, 'f', 'f32'), (F16, 'e', 'f16')):
        for lit in (f.bias << f.mbits | 1, (f.bias + 3) << f.mbits | f.quiet | f.sign, f.inf - 1, 3):
            for word in (0x3f0, 0x300, 0x3ff):
                a, b = ([hn.value(t) for _ in range(LANES)] for _ in range(2))
                sets = [row(1, a), row(2, b), ('mode', 0, -1, word)]
                sf.set_mode(word)
                hn.add('v_madmk_%s v3, v1, 0x%x, v2' % (n, lit), sets,
                       [row(3, [sf.mad(f, x, lit, y) for x, y in zip(a, b)])])
                hn.add('v_madak_%s v3, v1, v2, 0x%x' % (n, lit), sets,
                       [row(3, [sf.mad(f, x, y, lit) for x, y in zip(a, b)])])
                sf.set_mode(sf.DEFAULT)


# --- division

def quotient_denormal(f, c, b):
    """Whether |c / b| lies below the smallest normal number, before rounding."""
    _, mc, ec = sf.unpack(f, c)
    _, mb, eb = sf.unpack(f, b)
    d = ec - eb - f.emin
    return mc << d < mb if d >= 0 else mc < mb << -d


def div_scale(f, a, b, c):
    """a is b, the denominator, or c, the numerator. Returns the value and the VCC bit.

    Where the reciprocal and the quotient are both denormal the documents print
    a scale up of the denominator, which could only overflow: its magnitude is at
    least a quarter of the largest number. Down is what the division macro needs."""
    step, far, tiny = (64, 96, 23) if f is F32 else (128, 768, 53)
    eb, ec = b >> f.mbits & f.emax, c >> f.mbits & f.emax
    a, b, c = sf.source(f, a), sf.source(f, b), sf.source(f, c)
    if sf.is_zero(f, b) or sf.is_zero(f, c):
        return f.nan, 0
    if ec - eb >= far:
        return (sf.ldexp(f, a, step) if a == b else a), 1
    if sf.is_denorm(f, b):
        return sf.ldexp(f, a, step), 0
    if f.emax in (eb, ec):
        return None, None  # infinities and NaNs: div_fixup replaces whatever comes out
    one = f.bias << f.mbits
    inverse, q = quotient_denormal(f, one, b), quotient_denormal(f, c, b)
    if inverse and q:
        return (sf.ldexp(f, a, -step) if a == b else a), 1
    if inverse:
        return sf.ldexp(f, a, -step), 0
    if q:
        return (sf.ldexp(f, a, step) if a == c else a), 1
    return (sf.ldexp(f, a, step) if ec <= tiny else a), 0


def finite_pairs(f, kind, count):
    out = []
    while len(out) < count:
        b, c = hn.value(kind), hn.value(kind)
        if rnd.random() < 0.5:  # far apart, both near an end
            b = b & ~f.inf | rnd.choice((0, 1, 2, f.emax - 1, f.emax - 2, f.emax - 3)) << f.mbits
            c = c & ~f.inf | rnd.randrange(f.emax) << f.mbits
        if b & f.inf != f.inf and c & f.inf != f.inf:
            out.append((b, c))
    return out


def division():
    for f, t, n, w in ((F32, 'f', 'f32', 1), (F64, 'd', 'f64', 2)):
        for which in (0, 1):
            for _ in range(6):
                p = finite_pairs(f, t, LANES)
                b, c = [x for x, _ in p], [y for _, y in p]
                a = c if which else b
                got = [div_scale(f, x, y, z) for x, y, z in zip(a, b, c)]
                first, second = hn.reg(t, 2), hn.reg(t, 4)
                hn.add('v_div_scale_%s %s, vcc, %s, %s, %s' % (n, hn.reg(t, 8), second if which else first, first, second),
                       rows(2, b, w) + rows(4, c, w),
                       rows(8, [x for x, _ in got], w) + [('vcc', 0, -1, sum(k << l for l, (_, k) in enumerate(got)))])
        # div_fmas: the result is scaled back where VCC says so, up when the addend is large, as one rounding
        for word in (0x3f0, 0x3ff):
            sf.set_mode(word)
            a, b, c = ([hn.value(t) for _ in range(LANES)] for _ in range(3))
            vcc = rnd.getrandbits(64)
            # results around the smallest normal number, where the last bits are lost
            for l in range(0, LANES, 2):
                scale = 64 if f is F32 else 128
                e = scale + 1 - rnd.randrange(4)
                c[l] = rnd.getrandbits(1) << f.bits - 1 | e << f.mbits | rnd.getrandbits(f.mbits)
                a[l] = f.bias << f.mbits | rnd.getrandbits(f.mbits)
                b[l] = rnd.getrandbits(1) << f.bits - 1 | (e - f.mbits - rnd.randrange(4)) << f.mbits | rnd.getrandbits(f.mbits)
                vcc |= 1 << l
            want = [scaled_fma(f, x, y, z, vcc >> l & 1) for l, (x, y, z) in enumerate(zip(a, b, c))]
            sf.set_mode(sf.DEFAULT)
            hn.add('v_div_fmas_%s %s, %s, %s, %s' % (n, hn.reg(t, 8), hn.reg(t, 2), hn.reg(t, 4), hn.reg(t, 6)),
                   rows(2, a, w) + rows(4, b, w) + rows(6, c, w) + [('vcc', 0, -1, vcc), ('mode', 0, -1, word)],
                   rows(8, want, w))


def scaled_fma(f, a, b, c, scale):
    if not scale:
        return sf.fma(f, a, b, c)
    a, b, c = sf.source(f, a), sf.source(f, b), sf.source(f, c)
    r = sf.fma(f, a, b, c)
    if sf.any_nan(f, a, b, c) or any(sf.is_inf(f, x) for x in (a, b, c)):
        return r
    n = (64 if f is F32 else 128) * (1 if (c >> f.mbits & f.emax) > f.bias else -1)
    sa, ma, ea = sf.unpack(f, a)
    sb, mb, eb = sf.unpack(f, b)
    sc, mc, ec = sf.unpack(f, c)
    return sf.total(f, sa ^ sb, ma * mb, ea + eb + n, sc, mc, ec + n, None, mode.rounding(f))


def two_over_pi(bits):
    """floor(2/pi * 2^bits), from Machin's formula in integers."""
    guard = bits + 64

    def arctan_inverse(x):
        t = total = (1 << guard) // x
        n, sign = 3, -1
        while t:
            t //= x * x
            total += sign * (t // n)
            n, sign = n + 2, -sign
        return total
    pi = 4 * (4 * arctan_inverse(5) - arctan_inverse(239))
    return (2 << guard + bits) // pi


def trig_preop():
    table = two_over_pi(1201)
    a, b = [], []
    for l in range(LANES):
        e = rnd.choice((0, 1000, 1023, 1076, 1077, 1078, 1079, 1100, 1500, 1967, 1968, 2000, 2046, rnd.randrange(2047)))
        a.append(rnd.getrandbits(1) << 63 | e << 52 | rnd.getrandbits(52))
        b.append(rnd.choice((0, 1, 2, 3, 21, 22, 23, 31, 32, 33)))
    want = []
    for x, y in zip(a, b):
        e = x >> 52 & 2047
        shift = (y & 31) * 53 + (e - 1077 if e > 1077 else 0)
        # the 53 bits that the left shift brings into the whole part
        v = (table << shift >> 1201 - 53) & (1 << 53) - 1
        want.append(sf.pack(F64, 0, v, -53 - shift + (128 if e >= 1968 else 0)) if v else 0)
    hn.add('v_trig_preop_f64 v[6:7], v[2:3], v4', rows(2, a, 2) + [row(4, b)], rows(6, want, 2))


# --- mixed precision

def mix():
    for isa, names, fn in (('gfx90a', 'fma', lambda a, b, c: sf.fma(F32, a, b, c)), ('gfx900', 'mad', lambda a, b, c: sf.mad(F32, a, b, c))):
        for name in ('mix_f32', 'mixlo_f16', 'mixhi_f16'):
            for word in (0x3f0, 0x3ff, 0x330, 0x3f3, 0x3fc, 0x3f6, 0x339):
                for _ in range(3):
                    hi, sel = rnd.randrange(8), rnd.randrange(8)
                    neg, absolute = rnd.randrange(8), rnd.randrange(8)
                    sf.set_mode(word)
                    src = [[hn.value('q') if hi >> k & 1 else hn.value('f') for _ in range(LANES)] for k in range(3)]
                    old = words32()
                    want = []
                    for l in range(LANES):
                        ops = []
                        for k in range(3):
                            x = src[k][l]
                            if hi >> k & 1:
                                x = sf.convert(F32, F16, x >> 16 * (sel >> k & 1) & 0xffff)
                            x = x & ~F32.sign if absolute >> k & 1 else x
                            ops.append(x ^ F32.sign if neg >> k & 1 else x)
                        r = fn(*ops)
                        if name != 'mix_f32':
                            h = sf.convert(F16, F32, r)
                            r = old[l] & 0xffff0000 | h if name == 'mixlo_f16' else old[l] & 0xffff | h << 16
                        want.append(r)
                    sf.set_mode(sf.DEFAULT)
                    ops = []
                    for k in range(3):
                        t = 'v%d' % (2 + k)
                        t = '|%s|' % t if absolute >> k & 1 else t
                        ops.append('-' + t if neg >> k & 1 else t)
                    bits = [','.join(str(v >> k & 1) for k in range(3)) for v in (sel, hi)]
                    hn.add('v_%s_%s v8, %s op_sel:[%s] op_sel_hi:[%s]' % (names, name, ', '.join(ops), bits[0], bits[1]),
                           [row(2 + k, src[k]) for k in range(3)] + [row(8, old), ('mode', 0, -1, word)],
                           [row(8, want)], isa)


def packed_selects():
    """op_sel, op_sel_hi, neg_lo and neg_hi of packed instructions."""
    for name, t, half_bits, fn in (('v_pk_add_f16', 'q', 16, lambda a, b: sf.add(F16, a, b)),
                                   ('v_pk_mul_f32', 'P', 32, lambda a, b: sf.mul(F32, a, b)),
                                   ('v_pk_sub_i16', 'p', 16, lambda a, b: a - b & 0xffff)):
        m = (1 << half_bits) - 1
        for case in range(16):
            sel, hi = case & 3, case >> 2
            neg_lo, neg_hi = (rnd.randrange(4), rnd.randrange(4)) if t != 'p' else (0, 0)
            a, b = ([hn.value(t) for _ in range(LANES)] for _ in range(2))
            top = 1 << half_bits - 1

            def half(x, k, which, neg):
                return (x >> half_bits * (which >> k & 1) & m) ^ (top if neg >> k & 1 else 0)
            want = [fn(half(x, 0, sel, neg_lo), half(y, 1, sel, neg_lo)) |
                    fn(half(x, 0, hi, neg_hi), half(y, 1, hi, neg_hi)) << half_bits for x, y in zip(a, b)]
            w = hn.words(t)

            def bits(v):
                return '[%d,%d]' % (v & 1, v >> 1)
            mods = ' op_sel:%s op_sel_hi:%s' % (bits(sel), bits(hi))
            if t != 'p':
                mods += ' neg_lo:%s neg_hi:%s' % (bits(neg_lo), bits(neg_hi))
            hn.add('%s %s, %s, %s%s' % (name, hn.reg(t, 6), hn.reg(t, 2), hn.reg(t, 4), mods),
                   rows(2, a, w) + rows(4, b, w), rows(6, want, w))
    for sel in range(4):
        a, b = ([hn.value('U') for _ in range(LANES)] for _ in range(2))
        want = [(x >> 32 * (sel & 1) & 0xffffffff) | (y >> 32 * (sel >> 1) & 0xffffffff) << 32 for x, y in zip(a, b)]
        hn.add('v_pk_mov_b32 v[6:7], v[2:3], v[4:5] op_sel:[%d,%d]' % (sel & 1, sel >> 1),
               rows(2, a, 2) + rows(4, b, 2), rows(6, want, 2))


# --- output modifiers, SDWA, DPP

def clamped(f, x, clamp, omod):
    if omod and not sf.is_nan(f, x):
        x = sf.ldexp(f, x, (0, 1, 2, -1)[omod])
    if clamp:
        if sf.is_nan(f, x) or x & f.sign:
            return 0
        return min(x, f.bias << f.mbits)
    return x


def output_modifiers():
    """OMOD needs denormals off in real hardware and is ignored otherwise by compilers; CLAMP is to [0, 1], NaN to 0."""
    for f, t, n in ((F32, 'f', 'f32'), (F64, 'd', 'f64'), (F16, 'e', 'f16')):
        w = hn.words(t)
        for op, fn in (('add', sf.add), ('mul', sf.mul)):
            for clamp in (0, 1):
                for omod in range(4):
                    a, b = ([hn.value(t) for _ in range(LANES)] for _ in range(2))
                    want = [fn(f, x, y) for x, y in zip(a, b)]
                    if omod:  # results that the factor takes into the denormals are rounded twice
                        keep = [f.mbits * 2 < (x >> f.mbits & f.emax) for x in want]
                        a = [x if k else f.bias << f.mbits for x, k in zip(a, keep)]
                        b = [x if k else f.bias << f.mbits for x, k in zip(b, keep)]
                        want = [fn(f, x, y) for x, y in zip(a, b)]
                    want = [clamped(f, x, clamp, omod) for x in want]
                    mods = (' clamp' if clamp else '') + ('', ' mul:2', ' mul:4', ' div:2')[omod]
                    e64 = '' if t == 'd' else '_e64'
                    hn.add('v_%s_%s%s %s, %s, %s%s' % (op, n, e64, hn.reg(t, 6), hn.reg(t, 2), hn.reg(t, 4), mods),
                           rows(2, a, w) + rows(4, b, w), rows(6, want, w))


SELS = ('BYTE_0', 'BYTE_1', 'BYTE_2', 'BYTE_3', 'WORD_0', 'WORD_1', 'DWORD')


def field(sel):
    return (8 * sel, 8) if sel < 4 else (16 * (sel - 4), 16) if sel < 6 else (0, 32)


def sdwa():
    for sel0 in range(7):
        for sel1 in range(7):
            dst, unused, s0, s1 = rnd.randrange(7), rnd.randrange(3), rnd.getrandbits(1), rnd.getrandbits(1)
            a, b, old = words32(), words32(), words32()

            def take(x, sel, sext):
                at, bits = field(sel)
                x = x >> at & (1 << bits) - 1
                return hn.signed(x, bits) & 0xffffffff if sext else x
            want = []
            for x, y, o in zip(a, b, old):
                r = take(x, sel0, s0) + take(y, sel1, s1) & 0xffffffff
                at, bits = field(dst)
                m = (1 << bits) - 1
                r &= m
                if unused == 2:
                    r = o & ~(m << at) | r << at
                elif unused == 1:
                    r = hn.signed(r, bits) << at & 0xffffffff
                else:
                    r <<= at
                want.append(r)

            def name(x, sext):
                return 'sext(%s)' % x if sext else x
            hn.add('v_add_u32_sdwa v3, %s, %s dst_sel:%s dst_unused:%s src0_sel:%s src1_sel:%s' % (
                name('v1', s0), name('v2', s1), SELS[dst], ('UNUSED_PAD', 'UNUSED_SEXT', 'UNUSED_PRESERVE')[unused],
                SELS[sel0], SELS[sel1]), [row(1, a), row(2, b), row(3, old)], [row(3, want)])


def dpp_controls():
    yield 'quad_perm:[1,3,0,2]', lambda l: l & ~3 | (1, 3, 0, 2)[l & 3]
    for n in (1, 7, 15):
        yield 'row_shl:%d' % n, lambda l, n=n: l + n if (l & 15) + n < 16 else None
        yield 'row_shr:%d' % n, lambda l, n=n: l - n if (l & 15) >= n else None
        yield 'row_ror:%d' % n, lambda l, n=n: l & ~15 | (l - n & 15)
        yield 'row_newbcast:%d' % n, lambda l, n=n: l & ~15 | n
    yield 'wave_shl:1', lambda l: l + 1 if l < 63 else None
    yield 'wave_rol:1', lambda l: (l + 1) & 63
    yield 'wave_shr:1', lambda l: l - 1 if l else None
    yield 'wave_ror:1', lambda l: (l - 1) & 63
    yield 'row_mirror', lambda l: l & ~15 | 15 - (l & 15)
    yield 'row_half_mirror', lambda l: l & ~7 | 7 - (l & 7)
    yield 'row_bcast:15', lambda l: (l & ~15) - 1 if l > 15 else None
    yield 'row_bcast:31', lambda l: 31 if l > 31 else None


def dpp():
    """A lane with no source, or one that EXEC disables, does not write, or reads 0 with bound_ctrl."""
    for ctrl, source in dpp_controls():
        for bound in (0, 1):
            m = rnd.choice((ALL, 0xfffff0f0ffff7ffe))
            row_mask, bank_mask = rnd.choice((15, 10)), rnd.choice((15, 6))
            a, b, old = words32(), words32(), words32()
            want = []
            for l in range(LANES):
                s = source(l)
                valid = s is not None and m >> s & 1
                write = (valid or bound) and m >> l & 1 and row_mask >> (l >> 4) & 1 and bank_mask >> (l >> 2 & 3) & 1
                want.append(((a[s] if valid else 0) ^ b[l]) if write else old[l])
            hn.add('v_xor_b32_dpp v3, v1, v2 %s row_mask:0x%x bank_mask:0x%x%s' % (
                ctrl, row_mask, bank_mask, ' bound_ctrl:0' if bound else ''),
                [row(1, a), row(2, b), row(3, old), exec_mask(m)], [row(3, want)])
    for n in (0, 9):  # the one control that 64-bit operands may have
        a, b = ([hn.value('d') for _ in range(LANES)] for _ in range(2))
        old = [hn.value('d') for _ in range(LANES)]
        hn.add('v_fmac_f64_dpp v[6:7], v[2:3], v[4:5] row_newbcast:%d row_mask:0xf bank_mask:0xf' % n,
               rows(2, a, 2) + rows(4, b, 2) + rows(6, old, 2),
               rows(6, [sf.fma(F64, a[l & ~15 | n], b[l], old[l]) for l in range(LANES)], 2))


def make():
    lanes()
    literals()
    division()
    trig_preop()
    mix()
    packed_selects()
    output_modifiers()
    sdwa()
    dpp()
