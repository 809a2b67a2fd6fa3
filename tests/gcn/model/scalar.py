# SPDX-License-Identifier: MIT
"""Scalar rows. A body gets the sources and SCC and gives the result and the new SCC (None: unchanged)."""
import harness as hn
from harness import ALL, EDGE32, EDGE64, exec_mask, rnd, sgprs, signed
from vector import bits_from_top, highest, lowest

M32 = 0xffffffff
EACH = 24  # vectors a row


def pick(words):
    return hn.value('u' if words == 1 else 'U')


def run(name, dst_words, src_words, fn, isa='gfx90a', count=EACH):
    """dst s[20..], sources s[4..], s[8..]."""
    for _ in range(count):
        src = [pick(w) for w in src_words]
        if len(src) == 2 and rnd.random() < 0.15:
            src[1] = src[0] & ((1 << 32 * src_words[1]) - 1)
        scc, old = rnd.getrandbits(1), rnd.getrandbits(64)
        wants_scc = fn.__code__.co_argcount - len(fn.__defaults__ or ()) > len(src)
        res = fn(*src, scc) if wants_scc else fn(*src)
        d, new = res if isinstance(res, tuple) else (res, None)
        ops = [hn.reg('u' if w == 1 else 'U', 4 + 4 * k, 's') for k, w in enumerate(src_words)]
        if dst_words:
            ops.insert(0, hn.reg('u' if dst_words == 1 else 'U', 20, 's'))
        sets = sgprs(20, old, 2) + [('scc', 0, -1, scc)]
        for k, (w, v) in enumerate(zip(src_words, src)):
            sets += sgprs(4 + 4 * k, v, w)
        wants = [('scc', 0, -1, scc if new is None else int(bool(new)))]
        if dst_words:
            d = old if d is None else d & (1 << 32 * dst_words) - 1
            wants += sgprs(20, d if dst_words == 2 else d & M32 | old & ~M32, 2)
        hn.add(name + ' ' + ', '.join(ops), sets, wants, isa)


def nz(v, bits):
    v &= (1 << bits) - 1
    return v, v != 0


def s32(v):
    return signed(v, 32)


def overflow(v):
    return v, v != s32(v & M32)


def field(v, pos, width):
    return v >> pos & ((1 << width) - 1)


def sext_from(v, width):
    return signed(v, width) if width else 0


def sop2():
    run('s_add_u32', 1, (1, 1), lambda a, b: (a + b, a + b > M32))
    run('s_sub_u32', 1, (1, 1), lambda a, b: (a - b, b > a))
    run('s_add_i32', 1, (1, 1), lambda a, b: overflow(s32(a) + s32(b)))
    run('s_sub_i32', 1, (1, 1), lambda a, b: overflow(s32(a) - s32(b)))
    run('s_addc_u32', 1, (1, 1), lambda a, b, c: (a + b + c, a + b + c > M32))
    run('s_subb_u32', 1, (1, 1), lambda a, b, c: (a - b - c, b + c > a))
    run('s_min_i32', 1, (1, 1), lambda a, b: (min(s32(a), s32(b)), s32(a) < s32(b)))
    run('s_min_u32', 1, (1, 1), lambda a, b: (min(a, b), a < b))
    run('s_max_i32', 1, (1, 1), lambda a, b: (max(s32(a), s32(b)), s32(a) >= s32(b)))
    run('s_max_u32', 1, (1, 1), lambda a, b: (max(a, b), a >= b))
    for w, n in ((1, 'b32'), (2, 'b64')):
        bits = 32 * w
        run('s_cselect_' + n, w, (w, w), lambda a, b, c: a if c else b)
        for name, fn in (('and', lambda a, b: a & b), ('or', lambda a, b: a | b), ('xor', lambda a, b: a ^ b),
                         ('andn2', lambda a, b: a & ~b), ('orn2', lambda a, b: a | ~b),
                         ('nand', lambda a, b: ~(a & b)), ('nor', lambda a, b: ~(a | b)),
                         ('xnor', lambda a, b: ~(a ^ b))):
            run('s_%s_%s' % (name, n), w, (w, w), lambda a, b, fn=fn, bits=bits: nz(fn(a, b), bits), count=10)
        run('s_lshl_' + n, w, (w, 1), lambda a, b, bits=bits: nz(a << (b & bits - 1), bits))
        run('s_lshr_' + n, w, (w, 1), lambda a, b, bits=bits: nz(a >> (b & bits - 1), bits))
        run('s_ashr_i%d' % bits, w, (w, 1), lambda a, b, bits=bits: nz(signed(a, bits) >> (b & bits - 1), bits))
        run('s_bfm_' + n, w, (1, 1), lambda a, b, m=bits - 1: ((1 << (a & m)) - 1) << (b & m))
        bfe(bits)
    run('s_mul_i32', 1, (1, 1), lambda a, b: a * b)
    run('s_absdiff_i32', 1, (1, 1), lambda a, b: nz(abs(s32(a - b & M32)), 32))
    run('s_mul_hi_u32', 1, (1, 1), lambda a, b: a * b >> 32)
    run('s_mul_hi_i32', 1, (1, 1), lambda a, b: s32(a) * s32(b) >> 32)
    for k in range(1, 5):
        run('s_lshl%d_add_u32' % k, 1, (1, 1), lambda a, b, k=k: ((a << k) + b, (a << k) + b > M32))
    run('s_pack_ll_b32_b16', 1, (1, 1), lambda a, b: a & 0xffff | (b & 0xffff) << 16)
    run('s_pack_lh_b32_b16', 1, (1, 1), lambda a, b: a & 0xffff | b & 0xffff0000)
    run('s_pack_hh_b32_b16', 1, (1, 1), lambda a, b: a >> 16 | b & 0xffff0000)


def bfe(bits):
    """Offset in the low bits of source 1, width in [22:16]."""
    w = bits // 32
    for _ in range(EACH):
        a = pick(w)
        off, width = rnd.randrange(bits), rnd.choice((0, 1, 5, bits - 1, bits, rnd.randrange(128)))
        spec = off | width << 16
        sets = sgprs(4, a, w) + [('s', 8, -1, spec)]
        for name, d in (('u', field(a, off, width)), ('i', None)):
            if d is None:
                # a field that reaches beyond the top ends there
                n = min(width, bits - off)
                d = sext_from(field(a, off, n), n)
            d &= (1 << bits) - 1
            hn.add('s_bfe_%s%d %s, %s, s8' % (name, bits, hn.reg('uU'[w - 1], 20, 's'), hn.reg('uU'[w - 1], 4, 's')),
                   sets, sgprs(20, d, w) + [('scc', 0, -1, int(d != 0))])


def quads(v, count):
    return [v >> 4 * k & 15 != 0 for k in range(count)]


def sop1():
    for w, n in ((1, 'b32'), (2, 'b64')):
        bits = 32 * w
        run('s_mov_' + n, w, (w,), lambda a: a)
        run('s_cmov_' + n, w, (w,), lambda a, c: a if c else None)
        run('s_not_' + n, w, (w,), lambda a, bits=bits: nz(~a, bits))
        run('s_wqm_' + n, w, (w,), lambda a, q=bits // 4: nz(sum(15 << 4 * k for k, b in enumerate(quads(a, q)) if b), 64))
        run('s_quadmask_' + n, w, (w,), lambda a, q=bits // 4: nz(sum(b << k for k, b in enumerate(quads(a, q))), 64))
        run('s_brev_' + n, w, (w,), lambda a, bits=bits: int(format(a, '0%db' % bits)[::-1], 2))
        run('s_bcnt0_i32_' + n, 1, (w,), lambda a, bits=bits: nz(bits - bin(a).count('1'), 32))
        run('s_bcnt1_i32_' + n, 1, (w,), lambda a: nz(bin(a).count('1'), 32))
        run('s_ff0_i32_' + n, 1, (w,), lambda a, bits=bits: lowest(~a & (1 << bits) - 1, bits))
        run('s_ff1_i32_' + n, 1, (w,), lambda a, bits=bits: lowest(a, bits))
        run('s_flbit_i32_' + n, 1, (w,), lambda a, bits=bits: highest(a, bits))
        for how, fn in (('0', lambda d, a, m: d & ~(1 << (a & m))), ('1', lambda d, a, m: d | 1 << (a & m))):
            for _ in range(8):
                a, d = hn.value('u'), rnd.getrandbits(bits)
                hn.add('s_bitset%s_%s %s, s4' % (how, n, hn.reg('uU'[w - 1], 20, 's')), sgprs(20, d, w) + sgprs(4, a, 1),
                       sgprs(20, fn(d, a, bits - 1), w))
    run('s_flbit_i32', 1, (1,), lambda a: bits_from_top(a, 32))
    run('s_flbit_i32_i64', 1, (2,), lambda a: bits_from_top(a, 64))
    run('s_sext_i32_i8', 1, (1,), lambda a: signed(a, 8))
    run('s_sext_i32_i16', 1, (1,), lambda a: signed(a, 16))
    run('s_abs_i32', 1, (1,), lambda a: nz(abs(s32(a)), 32))
    run('s_bitreplicate_b64_b32', 2, (1,), lambda a: sum((a >> k & 1) * 3 << 2 * k for k in range(32)))
    saveexec = {
        'and': lambda s, e: s & e, 'or': lambda s, e: s | e, 'xor': lambda s, e: s ^ e, 'andn2': lambda s, e: s & ~e,
        'orn2': lambda s, e: s | ~e, 'nand': lambda s, e: ~(s & e), 'nor': lambda s, e: ~(s | e),
        'xnor': lambda s, e: ~(s ^ e), 'andn1': lambda s, e: ~s & e, 'orn1': lambda s, e: ~s | e,
    }
    for name, fn in saveexec.items():
        for _ in range(6):
            s, e = hn.value('U'), hn.value('U')
            r = fn(s, e) & ALL
            hn.add('s_%s_saveexec_b64 s[20:21], s[4:5]' % name, sgprs(4, s, 2) + [exec_mask(e)],
                   sgprs(20, e, 2) + [exec_mask(r), ('scc', 0, -1, int(r != 0))])
    for name, fn in (('andn1', lambda s, e: ~s & e), ('andn2', lambda s, e: s & ~e)):
        for _ in range(6):
            s, e = hn.value('U'), hn.value('U')
            r = fn(s, e) & ALL
            hn.add('s_%s_wrexec_b64 s[20:21], s[4:5]' % name, sgprs(4, s, 2) + [exec_mask(e)],
                   sgprs(20, r, 2) + [exec_mask(r), ('scc', 0, -1, int(r != 0))])
    a, b = rnd.getrandbits(64), rnd.getrandbits(64)
    hn.add('s_movrels_b32 s20, s4', sgprs(6, a, 2) + [('m0', 0, -1, 3)], [('s', 20, -1, a >> 32)])
    hn.add('s_movrels_b64 s[20:21], s[4:5]', sgprs(6, a, 2) + [('m0', 0, -1, 2)], sgprs(20, a, 2))
    hn.add('s_movreld_b32 s20, s4', sgprs(4, a, 1) + [('m0', 0, -1, 5)], sgprs(25, a, 1) + sgprs(20, 0, 1))
    hn.add('s_movreld_b64 s[20:21], s[4:5]', sgprs(4, a, 2) + [('m0', 0, -1, 4)], sgprs(24, a, 2) + [('s', 20, -1, 0)])


def sopc():
    order = {'eq': lambda a, b: a == b, 'lg': lambda a, b: a != b, 'gt': lambda a, b: a > b,
             'ge': lambda a, b: a >= b, 'lt': lambda a, b: a < b, 'le': lambda a, b: a <= b}
    for cond, fn in order.items():
        run('s_cmp_%s_i32' % cond, 0, (1, 1), lambda a, b, fn=fn: (0, fn(s32(a), s32(b))))
        run('s_cmp_%s_u32' % cond, 0, (1, 1), lambda a, b, fn=fn: (0, fn(a, b)))
        for _ in range(EACH):
            a = hn.value('u') if rnd.random() < 0.6 else signed(hn.value('h'), 16) & M32
            k = hn.value('h') if rnd.random() < 0.7 else a & 0xffff
            hn.add('s_cmpk_%s_i32 s4, 0x%x' % (cond, k), sgprs(4, a, 1), [('scc', 0, -1, int(fn(s32(a), signed(k, 16))))])
            hn.add('s_cmpk_%s_u32 s4, 0x%x' % (cond, k), sgprs(4, a, 1), [('scc', 0, -1, int(fn(a, k)))])
    run('s_cmp_eq_u64', 0, (2, 2), lambda a, b: (0, a == b))
    run('s_cmp_lg_u64', 0, (2, 2), lambda a, b: (0, a != b))
    for w, n in ((1, 'b32'), (2, 'b64')):
        run('s_bitcmp0_' + n, 0, (w, 1), lambda a, b, m=32 * w - 1: (0, not a >> (b & m) & 1))
        run('s_bitcmp1_' + n, 0, (w, 1), lambda a, b, m=32 * w - 1: (0, a >> (b & m) & 1))


def sopk():
    for _ in range(10):
        k, d, scc = hn.value('h'), hn.value('u'), rnd.getrandbits(1)
        sk = signed(k, 16)
        sets = sgprs(4, d, 1) + [('scc', 0, -1, scc)]

        def want(v, c=scc):
            return sgprs(4, v & M32, 1) + [('scc', 0, -1, int(c))]
        hn.add('s_movk_i32 s4, 0x%x' % k, sets, want(sk))
        hn.add('s_cmovk_i32 s4, 0x%x' % k, sets, want(sk if scc else d))
        hn.add('s_addk_i32 s4, 0x%x' % k, sets, want(*overflow(s32(d) + sk)))
        hn.add('s_mulk_i32 s4, 0x%x' % k, sets, want(d * sk))
    for off, size in ((0, 1), (0, 8), (4, 4), (0, 32), (2, 2)):
        v, old = rnd.getrandbits(10), 0x2a5
        m = ((1 << size) - 1) << off & 0x3ff
        new = old & ~m | v << off & m
        reg = 'hwreg(HW_REG_MODE, %d, %d)' % (off, size)
        hn.add('s_getreg_b32 s4, %s' % reg, [('mode', 0, -1, old)], [('s', 4, -1, old >> off & (1 << size) - 1)])
        hn.add('s_setreg_b32 %s, s4 ; s_getreg_b32 s5, hwreg(HW_REG_MODE, 0, 10)' % reg,
               [('mode', 0, -1, old), ('s', 4, -1, v)], [('s', 5, -1, new)])
        hn.add('s_setreg_imm32_b32 %s, 0x%x ; s_getreg_b32 s5, hwreg(HW_REG_MODE, 0, 10)' % (reg, v),
               [('mode', 0, -1, old)], [('s', 5, -1, new)])


SKIP = ' 1 ; s_mov_b32 s4, 7'


def branches():
    """A branch leaves s4 as it was, or not."""
    def jump(code, taken, *sets):
        hn.add(code + SKIP + ' ; s_mov_b32 s5, 9', [('s', 4, -1, 3)] + list(sets), [('s', 4, -1, 3 if taken else 7), ('s', 5, -1, 9)])
    jump('s_branch', True)
    for v in (0, 1):
        jump('s_cbranch_scc0', not v, ('scc', 0, -1, v))
        jump('s_cbranch_scc1', v, ('scc', 0, -1, v))
    for v in (0, 1, 1 << 63, ALL):
        jump('s_cbranch_vccz', not v, ('vcc', 0, -1, v))
        jump('s_cbranch_vccnz', v, ('vcc', 0, -1, v))
        jump('s_cbranch_execz', not v, exec_mask(v))
        jump('s_cbranch_execnz', v, exec_mask(v))
    # no debugger is attached
    for name in ('cdbgsys', 'cdbguser', 'cdbgsys_or_user', 'cdbgsys_and_user'):
        jump('s_cbranch_' + name, False)
    # backwards: a loop of five turns
    hn.add('s_add_u32 s4, s4, 2 ; s_sub_u32 s5, s5, 1 ; s_cmp_lg_u32 s5, 0 ; s_cbranch_scc1 65532',
           sgprs(4, 0, 1) + sgprs(5, 5, 1), [('s', 4, -1, 10), ('s', 5, -1, 0)])
    pc = 's_getpc_b64 s[8:9] ; s_add_u32 s8, s8, %d ; s_addc_u32 s9, s9, 0 ; '
    hn.add(pc % 16 + 's_setpc_b64 s[8:9] ; s_mov_b32 s4, 7 ; s_mov_b32 s5, 9', [], [('s', 4, -1, 0), ('s', 5, -1, 9)])
    # the return address is that of the instruction skipped
    hn.add(pc % 16 + 's_swappc_b64 s[10:11], s[8:9] ; s_mov_b32 s4, 7 ; s_sub_u32 s5, s8, s10', [],
           [('s', 4, -1, 0), ('s', 5, -1, 4)])
    hn.add('s_getpc_b64 s[8:9] ; s_call_b64 s[10:11], 1 ; s_mov_b32 s4, 7 ; s_sub_u32 s5, s10, s8', [],
           [('s', 4, -1, 0), ('s', 5, -1, 4)])


def control():
    """Nothing that a single wave could see, other than that the next instruction runs."""
    for code in ('s_nop 3', 's_wakeup', 's_barrier', 's_waitcnt vmcnt(0) lgkmcnt(0)', 's_sleep 2', 's_setprio 2', 's_icache_inv',
                 's_incperflevel 1', 's_decperflevel 1', 's_ttracedata', 's_sendmsg sendmsg(MSG_INTERRUPT)',
                 's_dcache_inv', 's_dcache_wb', 's_dcache_inv_vol', 's_dcache_wb_vol', 'buffer_wbinvl1', 'buffer_wbinvl1_vol',
                 'buffer_wbl2', 'buffer_invl2', 'ds_nop'):
        hn.add(code + ' ; s_mov_b32 s4, 7', [], [('s', 4, -1, 7)],
               'gfx900' if code in ('s_dcache_wb', 's_dcache_wb_vol') else 'gfx90a')
    for code in ('s_dcache_discard s[0:1], s2', 's_dcache_discard_x2 s[0:1], s2'):
        hn.add(code + ' ; s_mov_b32 s4, 7', [], [('s', 4, -1, 7)], 'gfx900')
    hn.add('s_endpgm ; s_mov_b32 s4, 7', [], [('s', 4, -1, 0)])
    for name in ('s_memtime', 's_memrealtime'):
        hn.add(name + ' s[4:5] ; ' + name + ' s[6:7] ; s_waitcnt lgkmcnt(0) ; s_sub_u32 s8, s6, s4 ; s_subb_u32 s9, s7, s5 ; '
               's_or_b32 s10, s4, s5 ; s_cmp_lg_u32 s10, 0', [], [('s', 9, -1, 0), ('scc', 0, -1, 1)])
    # what hardware does with a trap, an end of the wave by a debugger or illegal code ends in a fault
    hn.add('s_trap 3', [], [('fault', 5, -1, 3)])


def gpr_index():
    a = [hn.value('u') for _ in range(hn.LANES)]
    regs = [hn.row(k, [x + k for x in a]) for k in range(1, 12)]

    def at(k):
        return [x + k for x in a]
    for n in (0, 1, 5):
        hn.add('s_set_gpr_idx_on s4, gpr_idx(SRC0) ; v_mov_b32 v20, v2 ; s_set_gpr_idx_off ; v_mov_b32 v21, v2',
               regs + [('s', 4, -1, n)], [hn.row(20, at(2 + n)), hn.row(21, at(2))])
        hn.add('s_set_gpr_idx_on s4, gpr_idx(DST) ; v_mov_b32 v20, v2 ; s_set_gpr_idx_off',
               regs + [('s', 4, -1, n)], [hn.row(20 + n, at(2))])
        hn.add('s_set_gpr_idx_on s4, gpr_idx(SRC1) ; v_sub_u32 v20, v9, v2 ; s_set_gpr_idx_off',
               regs + [('s', 4, -1, n)], [hn.row(20, [7 - n] * hn.LANES)])
        hn.add('s_set_gpr_idx_on s4, gpr_idx(SRC0) ; s_set_gpr_idx_idx s5 ; v_mov_b32 v20, v2 ; s_set_gpr_idx_off',
               regs + [('s', 4, -1, 9), ('s', 5, -1, n)], [hn.row(20, at(2 + n))])
        hn.add('s_set_gpr_idx_on s4, gpr_idx(DST) ; s_set_gpr_idx_mode gpr_idx(SRC0) ; v_mov_b32 v20, v2 ; s_set_gpr_idx_off',
               regs + [('s', 4, -1, n)], [hn.row(20, at(2 + n))])


def make():
    sop2()
    sop1()
    sopc()
    sopk()
    branches()
    control()
    gpr_index()
