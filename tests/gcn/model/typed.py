# SPDX-License-Identifier: MIT
"""Typed and swizzled buffers, their LDS and TFE forms, scalar atomics and scratch, and what else few programs use.

Elements follow the table of DFMT and NFMT of the ISA document; numbers are fractions, rounded once.
"""
from fractions import Fraction

import harness as hn
import memory as mm
import softfloat as sf
from harness import ALL, LANES, exec_mask, rnd, row, rows, sgprs, signed
from softfloat import F16, F32

M32 = 0xffffffff
DFMT = {'8': (8,), '16': (16,), '8_8': (8, 8), '32': (32,), '16_16': (16, 16), '10_11_11': (11, 11, 10), '11_11_10': (10, 11, 11),
        '10_10_10_2': (2, 10, 10, 10), '2_10_10_10': (10, 10, 10, 2), '8_8_8_8': (8,) * 4, '32_32': (32, 32),
        '16_16_16_16': (16,) * 4, '32_32_32': (32,) * 3, '32_32_32_32': (32,) * 4}
ORDER = ['INVALID'] + list(DFMT)
NFMT = {'UNORM': 0, 'SNORM': 1, 'USCALED': 2, 'SSCALED': 3, 'UINT': 4, 'SINT': 5, 'FLOAT': 7}


def legal(fields, n):
    if n == 'FLOAT':
        return fields[0] in (16, 32, 11) or fields[:2] == (10, 11)
    return fields[0] != 32 or n in ('UINT', 'SINT')


def to_format(f, x):
    """Nearest even; x a fraction."""
    if x == 0:
        return 0
    sign, x = int(x < 0), abs(x)
    e = 200
    m = x * 2 ** e
    whole = int(m)
    return sf.pack(f, sign, whole, -e, m != whole, 0, False)


def small(raw, bits):
    """The value of an unsigned float of 10 or 11 bits (or a signed one of 16), None when not finite."""
    m_bits = {16: 10, 11: 6, 10: 5}[bits]
    m, e = raw & (1 << m_bits) - 1, raw >> m_bits & 31
    if e == 31:
        return None
    v = Fraction(m | (1 << m_bits if e else 0)) * Fraction(2) ** ((e or 1) - 15 - m_bits)
    return -v if bits == 16 and raw >> 15 else v


def load_field(raw, bits, n, d16):
    f = F16 if d16 else F32
    top = (1 << bits - 1) - 1
    if n in ('UINT', 'SINT'):
        return (signed(raw, bits) if n == 'SINT' else raw) & (0xffff if d16 else M32)
    if n == 'UNORM':
        return to_format(f, Fraction(raw, (1 << bits) - 1))
    if n == 'SNORM':
        return to_format(f, max(Fraction(-1), Fraction(signed(raw, bits), top)))
    if n == 'USCALED':
        return to_format(f, Fraction(raw))
    if n == 'SSCALED':
        return to_format(f, Fraction(signed(raw, bits)))
    if bits == f.bits:
        return raw
    if bits == 32:
        sf.set_mode(0x3f0)
        return sf.convert(F16, F32, raw)
    v = small(raw, bits)
    if v is None:
        m_bits = {16: 10, 11: 6, 10: 5}[bits]
        h = raw << 10 - m_bits
        return h if d16 else sf.convert(F32, F16, h)
    return (raw >> 15 << 31 if bits == 16 and not d16 else 0) | to_format(f, v)


def even(x):
    """A fraction to the nearest integer."""
    return round(x)


def store_field(reg, bits, n, d16):
    top, all_ones = (1 << bits - 1) - 1, (1 << bits) - 1
    if n == 'UINT':
        return min(reg, all_ones)
    if n == 'SINT':
        return max(min(signed(reg, 16 if d16 else 32), top), -top - 1) & all_ones
    f = F16 if d16 else F32
    if n == 'FLOAT':
        if bits == f.bits:
            return reg
        if bits == 16:
            sf.set_mode(0x3f0)
            return sf.convert(F16, F32, reg)
        if bits == 32:
            return sf.convert(F32, F16, reg)
        m_bits = 6 if bits == 11 else 5
        x = number(f, reg)
        if x <= 0:
            return 0
        e = -14
        while x >= Fraction(2) ** (e + 1):
            e += 1
        return min((e + 14 << m_bits) + even(x * Fraction(2) ** (m_bits - e)), 31 << m_bits)
    x = number(f, reg)
    lo, hi, scale = {'UNORM': (0, all_ones, all_ones), 'SNORM': (-top, top, top), 'USCALED': (0, all_ones, 1),
                     'SSCALED': (-top - 1, top, 1)}[n]
    return even(max(lo, min(hi, x * scale))) & all_ones


def number(f, x):
    sign, m, e = sf.unpack(f, x)
    return (-1) ** sign * Fraction(m) * Fraction(2) ** e


def finite(f):
    while True:
        x = hn.float_value(f)
        if x >> f.mbits & f.emax != f.emax:
            return x


def near_one(f):
    """A number around those that normalised fields hold."""
    k = rnd.random()
    if k < 0.2:
        return finite(f)
    return to_format(f, Fraction(rnd.randrange(-1100, 1100), rnd.choice((1, 2, 255, 510, 1023, 4096))))


def setup(stride, records, word3):
    return 's_mov_b32 s8, s0 ; s_and_b32 s9, s1, 0xffff ; s_or_b32 s9, s9, 0x%x ; s_mov_b32 s10, 0x%x ; s_mov_b32 s11, 0x%x ; ' % (
        stride << 16 & M32, records, word3)


def register_reg(n, d16):
    return mm.reg(8, (n + 1) // 2 if d16 else n)


def one(name, n_name, comps, d16, load, fields, typed, sel):
    """One vector; lanes use elements of 16 bytes, the last ones lie outside."""
    size, inside = sum(fields) // 8, 60
    w = (comps + 1) // 2 if d16 == 1 else comps
    memory, m = mm.Bytes(mm.WORDS, True), rnd.getrandbits(64) | 1 << 63 | 1
    sets = [row(2, list(range(LANES))), exec_mask(m)]
    pick = [(4, 5, 6, 7), sel][not typed]
    suffix = '%s_format_%s%s' % ('load' if load else 'store', {0: '', 1: 'd16_', 2: 'd16_hi_'}[d16], 'xyzw'[:comps])
    number = ORDER.index(name)
    word3 = 0 if typed else sum(s << 3 * k for k, s in enumerate(sel)) | NFMT[n_name] << 12 | number << 15
    code = setup(16, inside, word3) + '%sbuffer_%s %s, v2, s[8:11], 0%s idxen' % (
        't' if typed else '', suffix, mm.reg(8, w),
        ' format:[BUF_DATA_FORMAT_%s,BUF_NUM_FORMAT_%s]' % (name, n_name) if typed else '')
    data = [rnd.getrandbits(32 * w) for _ in range(LANES)]
    shifts = [sum(fields[:k]) for k in range(len(fields))]
    if load:
        words = {}
        for l in range(LANES):
            raw = 0
            for b, s in zip(fields, shifts):
                x = rnd.choice((0, 1, (1 << b) - 1, 1 << b - 1, (1 << b - 1) - 1, rnd.getrandbits(b), rnd.getrandbits(b)))
                if n_name == 'FLOAT' and b == 32 and d16:
                    x = near_one(F32)
                elif n_name == 'FLOAT' and b < 32:
                    x = x if x >> (10 if b == 16 else 6 if b == 11 else 5) & 31 != 31 else 0
                raw |= x << s
            for k in range((size + 3) // 4):
                words[4 * l + k] = raw >> 32 * k & M32
        sets = memory.preset(words) + sets + rows(8, data, w)
        want = []
        for l in range(LANES):
            raw = memory.read(16 * l, size)
            out = data[l]
            for c in range(comps):
                p = pick[c]
                v = 0
                if p == 1:
                    v = 1 if n_name in ('UINT', 'SINT') else 0x3c00 if d16 else 0x3f800000
                elif p >= 4 and p - 4 < len(fields) and l < inside:
                    v = load_field(raw >> shifts[p - 4] & (1 << fields[p - 4]) - 1, fields[p - 4], n_name, d16)
                if d16:
                    s = 16 * (1 if d16 == 2 else c)
                    out = out & ~(0xffff << s) | v << s
                else:
                    out = out & ~(M32 << 32 * c) | v << 32 * c
            if d16 == 1 and comps == 3:
                out &= (1 << 48) - 1
            want.append(out if m >> l & 1 else data[l])
        hn.add(code, sets, rows(8, want, w))
        return
    f = F16 if d16 else F32
    values = [[(near_one(f) if n_name not in ('UINT', 'SINT') else hn.value('h' if d16 else 'u')) for _ in range(comps)]
              for _ in range(LANES)]
    for l in range(LANES):
        if d16 == 2:
            data[l] = values[l][0] << 16 | data[l] & 0xffff
        else:
            data[l] = sum(v << (16 if d16 else 32) * c for c, v in enumerate(values[l]))
        if not m >> l & 1 or l >= inside:
            continue
        raw = 0
        for k, (b, s) in enumerate(zip(fields, shifts)):
            for c in range(comps):
                if pick[c] == k + 4:
                    raw |= store_field(values[l][c], b, n_name, d16) << s
                    break
        memory.write(16 * l, size, raw)
    hn.add(code, sets + rows(8, data, w), memory.wants())


def formats():
    for name, fields in DFMT.items():
        for n_name in NFMT:
            if not legal(fields, n_name):
                continue
            for load in (True, False):
                comps, typed = rnd.randrange(1, 5), rnd.random() < 0.5
                one(name, n_name, comps, 0, load, fields, typed, (4, 5, 6, 7))
                one(name, n_name, rnd.randrange(1, 5), 0, load, fields, False, rnd.choice(((6, 5, 4, 1), (0, 4, 1, 5), (4, 1, 0, 7))))
                if fields[0] != 32 or n_name == 'FLOAT':
                    one(name, n_name, rnd.randrange(1, 5), 1, load, fields, not typed, (4, 5, 6, 7))
    for comps in range(1, 5):
        for load in (True, False):
            for typed in (True, False):
                one('8_8_8_8', 'UNORM', comps, 0, load, DFMT['8_8_8_8'], typed, (4, 5, 6, 7))
                one('16_16_16_16', 'FLOAT', comps, 1, load, DFMT['16_16_16_16'], typed, (4, 5, 6, 7))
    for load in (True, False):
        for name, n_name in (('16', 'FLOAT'), ('8', 'UNORM'), ('16', 'SINT')):
            one(name, n_name, 1, 2, load, DFMT[name], False, (4, 0, 0, 0))
    # no such format; an unbound buffer
    hn.add(setup(16, 60, 4 | 6 << 12 | 4 << 15) + 'buffer_load_format_x v8, v2, s[8:11], 0 idxen', [row(2, [0] * LANES)], [('fault', 1, -1, 0)])
    hn.add(setup(16, 60, 4 | 7 << 12) + 'buffer_load_format_x v8, v2, s[8:11], 0 idxen', [row(2, [0] * LANES)], [row(8, [0] * LANES)])


def through_lds():
    kinds = {'ubyte': (1, False), 'sbyte': (1, True), 'ushort': (2, False), 'sshort': (2, True), 'dword': (4, False)}
    for kind, (n, sign) in kinds.items():
        for segment in ('buffer', 'global'):
            m, memory, lds = rnd.getrandbits(64) | 1, mm.Bytes(mm.WORDS, True), mm.lds()
            off, imm, m0 = [n * rnd.randrange(500) for _ in range(LANES)], 8, rnd.choice((0, 64, 3900))
            fill = lds.preset({k: rnd.getrandbits(32) for k in range(1024)})
            for l in range(LANES):
                if m >> l & 1:
                    v = memory.read(off[l] + imm, n)
                    lds.write(m0 + imm + 4 * l, 4, (signed(v, 8 * n) if sign else v) & M32)
            wants = lds.wants()
            sets = fill + [row(2, off), exec_mask(m), ('m0', 0, -1, m0)]
            if segment == 'buffer':
                hn.add(mm.RAW + 'buffer_load_%s v2, s[8:11], 0 offen offset:%d lds' % (kind, imm), sets, wants)
            else:
                hn.add(mm.WIDE + 'global_load_%s v[2:3], off offset:%d lds' % (kind, imm), sets, wants)
    memory, lds = mm.Bytes(mm.WORDS, True), mm.lds()
    fill = lds.preset({k: rnd.getrandbits(32) for k in range(100)})
    for l in range(LANES):
        memory.write(0x104 + 4 * l, 4, lds.read(64 + 4 + 4 * l, 4))
    code = mm.RAW.replace('0x27000', '0x807000').replace('0xffff ;', '0xffff ; s_or_b32 s9, s9, 0x40000 ;')
    # the thread number is the index of records of 4 bytes
    hn.add(code + 'buffer_store_lds_dword s[8:11], s12 offset:4 lds', fill + [('m0', 0, -1, 64), ('s', 12, -1, 0x100)], memory.wants())
    lds = mm.lds()
    for l in range(LANES):
        lds.write(4 * l, 4, to_format(F32, Fraction(mm.Bytes(mm.WORDS, True).read(l, 1), 255)))
    hn.add(setup(1, 64, 4 | 1 << 15) + 'buffer_load_format_x v2, s[8:11], 0 idxen lds', [row(2, list(range(LANES))), ('m0', 0, -1, 0)], lds.wants())
    for isa in ('gfx900', 'gfx906'):
        hn.add(mm.RAW + 'buffer_load_dword v8, v2, s[8:11], 0 offen tfe', [row(2, [4 * l for l in range(LANES)]), row(9, [7] * LANES)],
               [row(8, list(range(LANES))), row(9, [0] * LANES)], isa)
        hn.add(mm.RAW + 'buffer_store_dword v8, v2, s[8:11], 0 offen tfe', [row(2, [4 * l for l in range(LANES)]), row(8, [5] * LANES),
               row(9, [7] * LANES)], [row(9, [7] * LANES), ('m', 3, -1, 5), ('m', 64, -1, 64)], isa)


def swizzled():
    for stride_code, index_stride in enumerate((8, 16, 32, 64)):
        for op, n in (('dword', 4), ('ubyte', 1), ('dwordx2', 8)):
            stride, w = 16, max(1, n // 4)
            index = [rnd.randrange(120) for _ in range(LANES)]
            off = [rnd.randrange(16 // n) * n for _ in range(LANES)]
            memory = mm.Bytes(mm.WORDS, True)

            def place(i, o):
                return (i // index_stride * stride + o // 4 * 4) * index_stride + i % index_stride * 4 + o % 4
            want = []
            for i, o in zip(index, off):
                bytes_ = b''.join(memory.read(place(i, o + k), 1).to_bytes(1, 'little') for k in range(n))
                want.append(int.from_bytes(bytes_, 'little') if i < 100 else 0)
            hn.add(setup(stride | 0x8000, 100, stride_code << 21 | 0x27000) + 'buffer_load_%s %s, v[2:3], s[8:11], 0 idxen offen' % (op, mm.reg(8, w)),
                   [row(2, index), row(3, off)], rows(8, want, w))
    # words of an access are checked one by one in a raw buffer
    off = [4 * rnd.randrange(12) for _ in range(LANES)]
    memory = mm.Bytes(mm.WORDS, True)
    want = [sum((memory.read(o + 4 * k, 4) if o + 4 * k + 4 <= 40 else 0) << 32 * k for k in range(4)) for o in off]
    hn.add(setup(0, 40, 0x27000) + 'buffer_load_dwordx4 v[8:11], v2, s[8:11], 0 offen', [row(2, off)], rows(8, want, 4))
    memory.write(32, 8, 0x1111111122222222)
    hn.add(setup(0, 40, 0x27000) + 'buffer_store_dwordx4 v[8:11], v2, s[8:11], 0 offen',
           [row(2, [32] * LANES)] + rows(8, [0x44444444333333331111111122222222] * LANES, 4), memory.wants())


def scalar_atomics():
    names = ('swap', 'cmpswap', 'add', 'sub', 'smin', 'umin', 'smax', 'umax', 'and', 'or', 'xor', 'inc', 'dec')
    for bits, sfx in ((32, ''), (64, '_x2')):
        w, table = bits // 32, mm.ints(bits)
        for name in names:
            for buffer in (False, True):
                for glc in (False, True):
                    for at in (0x20, 0x3ffc if buffer and bits == 64 else 0x3ff0):
                        memory = mm.Bytes(mm.WORDS, True)
                        old, data, cmp = (hn.value('uU'[w - 1]) for _ in range(3))
                        cmp = old if rnd.random() < 0.6 else cmp
                        sets = memory.preset({at // 4 + k: old >> 32 * k & M32 for k in range(w) if at + 4 * k < 0x4000})
                        inside = at + 4 * w <= 0x4000
                        if inside:
                            memory.write(at, 4 * w, table[name](old, data, cmp))
                        regs = w * (2 if name == 'cmpswap' else 1)
                        sdata = 's20' if regs == 1 else 's[20:%d]' % (19 + regs)
                        both = data | cmp << bits if name == 'cmpswap' else data
                        after = both & ~((1 << bits) - 1) | (old if inside else 0) if glc else both
                        hn.add('%ss_%satomic_%s%s %s, %s, 0x%x%s' % (mm.RAW if buffer else '', 'buffer_' if buffer else '', name, sfx, sdata,
                                                                 's[8:11]' if buffer else 's[0:1]', at, ' glc' if glc else ''),
                               sets + sgprs(20, both, regs) + [exec_mask(rnd.choice((0, ALL)))],
                               [('m', at // 4 + k, -1, memory.read(at + 4 * k, 4)) for k in range(w) if at + 4 * k < 0x4000] + sgprs(20, after, regs))
    for w, sfx in ((1, ''), (2, 'x2'), (4, 'x4')):
        reg = 's20' if w == 1 else 's[20:%d]' % (19 + w)
        value = sum((16 * 3 + k) << 32 * k for k in range(w))
        data = rnd.getrandbits(32 * w)
        for off in ('s4', '0xc0'):  # 3 units of 64 bytes, and bytes
            hn.add('s_scratch_load_dword%s %s, s[0:1], %s' % (sfx, reg, off), [('s', 4, -1, 3)], sgprs(20, value, w))
            hn.add('s_scratch_store_dword%s %s, s[0:1], %s' % (sfx, reg, off), [('s', 4, -1, 3)] + sgprs(20, data, w),
                   [('m', 48 + k, -1, data >> 32 * k & M32) for k in range(w)] + [('m', 48 + w, -1, 48 + w)])
    for name, base in (('s_atc_probe', 's[0:1]'), ('s_atc_probe_buffer', 's[8:11]')):
        hn.add(mm.RAW + '%s 3, %s, 0x10 ; s_mov_b32 s4, 7' % (name, base), [], [('s', 4, -1, 7), ('m', 4, -1, 4)])


def forks():
    """Each lane ends with the value of its side; both forms, either side first."""
    for _ in range(6):
        mask, ex = rnd.choice((0, ALL, 1, ALL - 1, rnd.getrandbits(64))), rnd.choice((ALL, rnd.getrandbits(64) | 1))
        want = [0 if not ex >> l & 1 else 5 if mask >> l & 1 else 3 for l in range(LANES)]
        sets = sgprs(40, mask, 2) + [exec_mask(ex), ('s', 50, -1, 0)]
        # fail: v8 = 3, jump to the join; pass: v8 = 5
        tail = 'v_mov_b32 v8, 3 ; s_branch 1 ; v_mov_b32 v8, 5 ; s_cbranch_join s50 ; s_mov_b32 s51, 7'
        p, f = mask & ex, ~mask & ex
        # the lanes of the side that ran last stay on
        last = ex if not p or not f else p if bin(f).count('1') < bin(p).count('1') else f
        wants = [('exec', 0, -1, last), row(8, want), ('s', 51, -1, 7)]
        hn.add('s_cbranch_i_fork s[40:41], 2 ; ' + tail, sets, wants)
        hn.add('s_getpc_b64 s[42:43] ; s_add_u32 s42, s42, 20 ; s_addc_u32 s43, s43, 0 ; s_cbranch_g_fork s[40:41], s[42:43] ; ' + tail, sets, wants)
    hn.add('s_cbranch_join s50', [('s', 50, -1, 1)], [('fault', 1, -1, 0)])


def control():
    a = [hn.value('u') for _ in range(LANES)]
    skip = ('v_mov_b32 v8, 1 ; ds_write_b32 v2, v8 ; global_store_dword v2, v8, s[0:1] ; ' + 's_mov_b32 s5, 9 ; ')
    hn.add('s_setvskip s4, 3 ; ' + skip + 's_setvskip 0, 0 ; v_mov_b32 v9, 2', [row(2, [0] * LANES), row(8, a), ('s', 4, -1, 8)],
           [row(8, a), row(9, [2] * LANES), ('s', 5, -1, 9), ('m', 0, -1, 0), ('l', 0, -1, 0)])
    hn.add('s_setvskip s4, 2 ; ' + skip + 's_nop 0', [row(2, [0] * LANES), ('s', 4, -1, 8)], [row(8, [1] * LANES), ('m', 0, -1, 1)])
    # longer than a turn, and with a wait inside
    hn.add('s_setvskip 1, 0 ; v_mov_b32 v8, 1 ; s_sleep 1 ; s_sub_u32 s4, s4, 1 ; s_cmp_lg_u32 s4, 0 ; s_cbranch_scc1 65531 ; s_setvskip 0, 0',
           [row(8, a), ('s', 4, -1, 5)], [row(8, a), ('s', 4, -1, 0)])
    hn.add('s_setvskip 1, 0 ; v_mov_b32 v8, 1 ; s_sub_u32 s4, s4, 1 ; s_cmp_lg_u32 s4, 0 ; s_cbranch_scc1 65532 ; s_setvskip 0, 0',
           [row(8, a), ('s', 4, -1, 900)], [row(8, a), ('s', 4, -1, 0)])
    hn.add('s_setreg_imm32_b32 hwreg(HW_REG_MODE, 28, 1), 1 ; v_mov_b32 v8, 1 ; s_setreg_imm32_b32 hwreg(HW_REG_MODE, 28, 1), 0 ; v_mov_b32 v9, 1',
           [row(8, a)], [row(8, a), row(9, [1] * LANES)])
    for code in ('s_sethalt 0', 's_setkill 0'):
        hn.add(code + ' ; s_mov_b32 s4, 7', [], [('s', 4, -1, 7)])
    for code in ('s_setkill 1', 's_endpgm_saved', 's_endpgm_ordered_ps_done'):
        hn.add(code + ' ; s_mov_b32 s4, 7', [], [('s', 4, -1, 0)])
    for code in ('s_sethalt 1', 's_sendmsghalt sendmsg(MSG_INTERRUPT)', 's_rfe_b64 s[2:3]', 's_rfe_restore_b64 s[2:3], s4'):
        hn.add(code, [], [('fault', 1, -1, 0)])
    sema = 'ds_gws_init v2 offset:3 gds ; ds_gws_sema_v offset:3 gds ; ds_gws_sema_p offset:3 gds ; '
    hn.add(sema + 'ds_gws_sema_br v4 offset:3 gds ; ds_gws_sema_p offset:3 gds ; ds_gws_sema_p offset:3 gds ; '
           'ds_gws_sema_release_all offset:3 gds ; s_mov_b32 s4, 7', [row(2, [0] * LANES), row(4, [2] * LANES), ('m0', 0, -1, 0)], [('s', 4, -1, 7)])


# The ISA document's table for V_SCREEN_PARTITION_4SE_B32, a hexadecimal digit an entry.
PARTITION = ('137f5fff7ffffffff26efafffbffffffdf4cff5fffdfffff9bf8fffafffeffff'
             'ffff4cdf6fffeffffffff89bf99ffdffffff7f13ff9fffbfffff6ef26ff6fff7'
             'bfffffff23bfaffff7fffffff19df5ffffefffffef8cffaffffdffff67f4fff5'
             '9fffdfffffff8ceff66ffefffffff467ff6fff7fffffbf239ff9fffbffff9df1')


def exchange():
    for m in (ALL, 0xff0ff0f0f0ffff0e):
        a, old = [hn.value('u') for _ in range(LANES)], [rnd.getrandbits(32) for _ in range(LANES)]
        for k in list(range(32)):
            t = []
            for l in range(LANES):
                j = int(format(l & 31, '05b')[::-1], 2) >> bin(k).count('1') | l & k | l & 32
                t.append((a[j] if m >> j & 1 else 0) if m >> l & 1 else old[l])
            hn.add('ds_swizzle_b32 v3, v1 offset:0x%x' % (0xe000 | k), [row(1, a), row(3, old), exec_mask(m)], [row(3, t)])
        mem, data = mm.lds(), [rnd.getrandbits(64) for _ in range(LANES)]
        sets = mem.preset({k: rnd.getrandbits(32) for k in range(200)})
        off, keep = [8 * rnd.randrange(70) + rnd.choice((0, 4)) for _ in range(LANES)], [rnd.getrandbits(64) for _ in range(LANES)]
        got = list(keep)
        for l in range(LANES):
            if m >> l & 1:
                at = off[l] + 16 & ~7
                got[l] = mem.read(at, 8)
                for k in (0, 1):
                    if data[l] >> 32 * k + 31 & 1:
                        mem.write(at + 4 * k, 4, data[l] >> 32 * k & 0x7fffffff)
        hn.add('ds_condxchg32_rtn_b64 v[8:9], v2, v[4:5] offset:16', sets + [row(2, off), exec_mask(m)] + rows(4, data, 2) + rows(8, keep, 2),
               mem.wants() + rows(8, got, 2))
    for base in range(0, 256, 64):
        hn.add('v_screen_partition_4se_b32 v8, v2', [row(2, [base + l | 0x5a00 for l in range(LANES)])],
               [row(8, [int(PARTITION[base + l], 16) for l in range(LANES)])])


def make():
    formats()
    through_lds()
    swizzled()
    scalar_atomics()
    forks()
    control()
    exchange()
