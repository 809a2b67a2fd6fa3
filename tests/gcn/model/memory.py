# SPDX-License-Identifier: MIT
"""Memory rows: SMEM, FLAT, GLOBAL, SCRATCH, MUBUF and DS, on a model of bytes.

The runner gives a wave 16 KiB of memory at s[0:1], whose words hold their own
numbers, 4 KiB of LDS and 256 bytes of scratch a lane.
"""
import harness as hn
import softfloat as sf
from harness import ALL, LANES, exec_mask, rnd, row, rows, sgprs, signed
from softfloat import F16, F32, F64

M32 = 0xffffffff
WORDS = 4096
LDS_WORDS = 1024


class Bytes:
    """Memory from before: each word is its number, or 0 in LDS."""
    def __init__(self, words, numbered):
        self.data = bytearray(b''.join((k if numbered else 0).to_bytes(4, 'little') for k in range(words)))
        self.file = 'm' if numbered else 'l'
        self.touched = set()

    def read(self, at, n):
        return int.from_bytes(self.data[at:at + n], 'little') if at + n <= len(self.data) else 0

    def write(self, at, n, v):
        if at + n <= len(self.data):
            self.data[at:at + n] = (v & (1 << 8 * n) - 1).to_bytes(n, 'little')
            self.touched |= set(range(at // 4, (at + n + 3) // 4))

    def preset(self, words):
        """Items that put these values there before."""
        for k, v in words.items():
            self.data[4 * k:4 * k + 4] = v.to_bytes(4, 'little')
        return [(self.file, k, -1, v) for k, v in words.items()]

    def wants(self):
        around = set(self.touched)
        for k in self.touched:
            around |= {max(0, k - 1), min(len(self.data) // 4 - 1, k + 1)}
        return [(self.file, k, -1, self.read(4 * k, 4)) for k in sorted(around)]


# suffix: bytes, kind
LOADS = {'load_ubyte': (1, 'u'), 'load_sbyte': (1, 's'), 'load_ushort': (2, 'u'), 'load_sshort': (2, 's'),
         'load_dword': (4, 'w'), 'load_dwordx2': (8, 'w'), 'load_dwordx3': (12, 'w'), 'load_dwordx4': (16, 'w'),
         'load_ubyte_d16': (1, 'ul'), 'load_ubyte_d16_hi': (1, 'uh'), 'load_sbyte_d16': (1, 'sl'),
         'load_sbyte_d16_hi': (1, 'sh'), 'load_short_d16': (2, 'ul'), 'load_short_d16_hi': (2, 'uh')}
STORES = {'store_byte': (1, 0), 'store_byte_d16_hi': (1, 16), 'store_short': (2, 0), 'store_short_d16_hi': (2, 16),
          'store_dword': (4, 0), 'store_dwordx2': (8, 0), 'store_dwordx3': (12, 0), 'store_dwordx4': (16, 0)}


def loaded(raw, n, kind, old):
    """Destination register(s) after a load."""
    if kind == 'w':
        return raw
    v = signed(raw, 8 * n) if kind[0] == 's' else raw
    if kind.endswith('l'):
        return old & 0xffff0000 | v & 0xffff
    if kind.endswith('h'):
        return old & 0xffff | (v & 0xffff) << 16
    return v & M32


def reg(n, words):
    return 'v%d' % n if words == 1 else 'v[%d:%d]' % (n, n + words - 1)


# Addresses that the lanes use: side by side, strided, scattered, unaligned where allowed.
def lane_offsets(n, pattern):
    if pattern == 0:
        return [n * l for l in range(LANES)]
    if pattern == 1:
        return [(n + 3) // 4 * 4 * 3 * l + 16 for l in range(LANES)]
    slots = rnd.sample(range(200), LANES)
    step = max(n, 4)
    return [s * step + (rnd.randrange(4) if pattern == 3 else 0) for s in slots]


class Segment:
    """How a segment names an address. addr: what goes into the code and into v[2:3]; base: added by the segment."""
    def __init__(self, name):
        self.name = name

    def code(self, op, data, imm, saddr):
        """data: the destination or the source; loads and stores differ in their order."""
        load = 'load' in op
        if self.name == 'global':
            addr, s = ('v2', 's[0:1]') if saddr else ('v[2:3]', 'off')
            ops = [data, addr, s] if load else [addr, data, s]
            return 'global_%s %s%s' % (op, ', '.join(ops), ' offset:%d' % imm if imm else '')
        if self.name == 'flat':
            ops = [data, 'v[2:3]'] if load else ['v[2:3]', data]
            return 'flat_%s %s%s' % (op, ', '.join(ops), ' offset:%d' % imm if imm else '')
        return 'buffer_%s %s, v2, s[8:11], 0 offen%s' % (op, data, ' offset:%d' % imm if imm else '')


# v[2:3] = s[0:1] + v2
WIDE = 'v_mov_b32 v3, s1 ; v_add_co_u32 v2, vcc, s0, v2 ; v_addc_co_u32 v3, vcc, 0, v3, vcc ; '
# s[8:11]: raw buffer of 16 KiB over the memory
RAW = 's_mov_b32 s8, s0 ; s_and_b32 s9, s1, 0xffff ; s_movk_i32 s10, 0x4000 ; s_mov_b32 s11, 0x27000 ; '


def prelude(segment, saddr):
    if segment == 'buffer':
        return RAW
    return '' if saddr else WIDE


def transfer(segment):
    seg = Segment(segment)
    for op, (n, kind) in LOADS.items():
        for pattern in range(4):
            saddr = segment == 'global' and pattern % 2 == 0
            mem, imm = Bytes(WORDS, True), rnd.choice((0, 4, 100, 2047 if pattern == 3 else 2044))
            off, m = lane_offsets(n, pattern), ALL if pattern < 2 else rnd.getrandbits(64) | 1
            w = max(1, n // 4)
            old = [rnd.getrandbits(32 * w) for _ in range(LANES)]
            want = [loaded(mem.read(off[l] + imm, n), n, kind, old[l]) if m >> l & 1 else old[l] for l in range(LANES)]
            hn.add(prelude(segment, saddr) + seg.code(op, reg(8, w), imm, saddr),
                   [row(2, off), exec_mask(m)] + rows(8, old, w), rows(8, want, w))
    for op, (n, shift) in STORES.items():
        for pattern in range(4):
            saddr = segment == 'global' and pattern % 2 == 0
            mem, imm = Bytes(WORDS, True), rnd.choice((0, 4, 100, 2044))
            off, m = lane_offsets(n, pattern if pattern < 3 else 2), ALL if pattern < 2 else rnd.getrandbits(64) | 1
            w = max(1, n // 4)
            data = [rnd.getrandbits(32 * w) for _ in range(LANES)]
            for l in range(LANES):
                if m >> l & 1:
                    mem.write(off[l] + imm, n, data[l] >> shift)
            hn.add(prelude(segment, saddr) + seg.code(op, reg(8, w), imm, saddr),
                   [row(2, off), exec_mask(m)] + rows(8, data, w), mem.wants())


def scratch():
    """Private memory: what each lane stores only it sees. v1: the offset; s4 gives it to all lanes instead."""
    for op, (n, kind) in LOADS.items():
        for at in (0, 8, 21 if n < 16 else 20):
            w = max(1, n // 4)
            fill = [rnd.getrandbits(32 * 12) for _ in range(LANES)]
            old = [rnd.getrandbits(32 * w) for _ in range(LANES)]
            store = ' ; '.join('scratch_store_dwordx4 v1, v[%d:%d], off offset:%d' % (20 + 4 * k, 23 + 4 * k, 16 * k) for k in range(3))
            want = [loaded(fill[l] >> 8 * at & (1 << 8 * n) - 1, n, kind, old[l]) for l in range(LANES)]
            addr = 'off, s4' if at == 8 else 'v1, off offset:%d' % at
            hn.add('%s ; scratch_%s %s, %s' % (store, op, reg(8, w), addr),
                   [row(1, [0] * LANES), ('s', 4, -1, at)] + rows(20, fill, 12) + rows(8, old, w), rows(8, want, w))
    for op, (n, shift) in STORES.items():
        for at in (0, 9, 33 if n < 16 else 32):
            w = max(1, n // 4)
            fill, data = [rnd.getrandbits(32 * 12) for _ in range(LANES)], [rnd.getrandbits(32 * w) for _ in range(LANES)]
            store = ' ; '.join('scratch_store_dwordx4 v1, v[%d:%d], off offset:%d' % (20 + 4 * k, 23 + 4 * k, 16 * k) for k in range(3))
            load = ' ; '.join('scratch_load_dwordx4 v[%d:%d], v1, off offset:%d' % (20 + 4 * k, 23 + 4 * k, 16 * k) for k in range(3))
            m = (1 << 8 * n) - 1
            want = [fill[l] & ~(m << 8 * at) | (data[l] >> shift & m) << 8 * at for l in range(LANES)]
            addr = 'off, %s, s4' % reg(8, w) if at == 9 else 'v1, %s, off offset:%d' % (reg(8, w), at)
            hn.add('%s ; scratch_%s %s ; %s' % (store, op, addr, load),
                   [row(1, [0] * LANES), ('s', 4, -1, at)] + rows(20, fill, 12) + rows(8, data, w), rows(20, want, 12))


def buffers():
    """Range checks and the ways of addressing a buffer: what lies outside reads 0 and is not written."""
    for k in range(8):
        records = rnd.choice((64, 100, 256))
        off = [rnd.choice((0, 4, records - 4, records - 3, records, records + 4, 8 * l % 300)) // 4 * 4 for l in range(LANES)]
        so, imm = rnd.choice((0, 16)), rnd.choice((0, 8))
        mem = Bytes(WORDS, True)
        code = 's_mov_b32 s8, s0 ; s_and_b32 s9, s1, 0xffff ; s_mov_b32 s10, s12 ; s_mov_b32 s11, 0x27000 ; '
        sets = [row(2, off), ('s', 12, -1, records), ('s', 13, -1, so)]
        want = [mem.read(o + so + imm, 4) if o + so + imm + 4 <= records else 0 for o in off]
        hn.add(code + 'buffer_load_dword v8, v2, s[8:11], s13 offen offset:%d' % imm, sets, [row(8, want)])
        # structured: index times stride, checked by index
        stride, index = 16, [rnd.randrange(40) for _ in range(LANES)]
        want = [mem.read(i * stride + so + imm, 4) if i < 24 else 0 for i in index]
        hn.add(code.replace('0xffff ;', '0xffff ; s_or_b32 s9, s9, 0x100000 ;') +
               'buffer_load_dword v8, v2, s[8:11], s13 idxen offset:%d' % imm,
               [row(2, index), ('s', 12, -1, 24), ('s', 13, -1, so)], [row(8, want)])
        off = [rnd.randrange(3) * 4 for _ in range(LANES)]
        want = [mem.read(i * stride + so + o, 4) if i < 24 else 0 for i, o in zip(index, off)]
        hn.add(code.replace('0xffff ;', '0xffff ; s_or_b32 s9, s9, 0x100000 ;') +
               'buffer_load_dword v8, v[2:3], s[8:11], s13 idxen offen',
               [row(2, index), row(3, off), ('s', 12, -1, 24), ('s', 13, -1, so)], [row(8, want)])
    mem = Bytes(WORDS, True)
    hn.add(RAW + 'buffer_load_dword v8, off, s[8:11], s13 offset:12', [('s', 13, -1, 100)], [row(8, [28] * LANES)])


# --- atomics

def floats(f, fn, word=sf.DEFAULT):
    """Memory operations round to nearest; single precision has no denormals when it adds."""
    def run(o, d, c=0):
        sf.set_mode(word & ~15)
        r = fn(f, o, d, *([c] if fn.__code__.co_argcount == 4 else []))
        sf.set_mode(sf.DEFAULT)
        return r
    return run


def fadd(f, o, d):
    if f is F32:
        sf.set_mode(0x3c0)
    return sf.add(f, o, d)


def local_fadd(f, o, d):
    """In LDS, where MODE says what becomes of denormals, except that doubles keep theirs."""
    if f is F64:
        sf.set_mode(sf.DEFAULT)
    return sf.add(f, o, d)


def fextreme(largest):
    def run(f, o, d):
        """A number wins over a quiet NaN, a signalling one over all; -0 is below +0; what is not more leaves memory as it was."""
        for x in (o, d):
            if sf.is_snan(f, x):
                return x | f.quiet
        if sf.is_nan(f, d):
            return o
        if sf.is_nan(f, o):
            return d
        x, y = ((sf.value(f, sf.source(f, v)), not v & f.sign) for v in (d, o))
        return d if (x > y if largest else x < y) else o
    return run


def ints(bits):
    m = (1 << bits) - 1

    def s(v):
        return signed(v, bits)
    return {
        'swap': lambda o, d, c: d, 'add': lambda o, d, c: o + d & m, 'sub': lambda o, d, c: o - d & m,
        'rsub': lambda o, d, c: d - o & m, 'smin': lambda o, d, c: min(s(o), s(d)) & m, 'umin': lambda o, d, c: min(o, d),
        'smax': lambda o, d, c: max(s(o), s(d)) & m, 'umax': lambda o, d, c: max(o, d), 'and': lambda o, d, c: o & d,
        'or': lambda o, d, c: o | d, 'xor': lambda o, d, c: o ^ d, 'inc': lambda o, d, c: 0 if o >= d else o + 1,
        'dec': lambda o, d, c: d if o == 0 or o > d else o - 1, 'cmpswap': lambda o, d, c: d if o == c else o,
        'mskor': lambda o, d, c: o & ~c | d, 'wrap': lambda o, d, c: o - c if o >= c else o + d & m,
    }


def f16_pair(o, d, c=0):
    sf.set_mode(0x3f0)
    return sum(sf.add(F16, o >> s & 0xffff, d >> s & 0xffff) << s for s in (0, 16))


def atomic_case(name, bits, fn, kind, build, mem, cmp_first=False, word=None):
    """One vector: lanes meet at few places, in lane order where the result depends on it."""
    for ret in (False, True):
        for collide in (False, True):
            m = rnd.getrandbits(64) | 1 << 40
            n = bits // 8
            slots = [rnd.randrange(3) if collide else l for l in range(LANES)]
            memory = mem()
            preset = {}
            for sl in set(slots):
                v = hn.value(kind)
                for w in range(bits // 32):
                    preset[8 + sl * bits // 32 + w] = v >> 32 * w & M32
            sets = memory.preset(preset)
            data, cmp = ([hn.value(kind) for _ in range(LANES)] for _ in range(2))
            cmp = [memory.read(32 + n * slots[l], n) if rnd.random() < 0.6 else cmp[l] for l in range(LANES)]
            old = [rnd.getrandbits(bits) for _ in range(LANES)]
            got = list(old)
            for l in range(LANES):
                if m >> l & 1:
                    at = 32 + n * slots[l]
                    got[l] = memory.read(at, n)
                    memory.write(at, n, fn(got[l], data[l], cmp[l]))
            code = build(name, ret, bits // 32)
            if code is None:
                continue
            sets += [row(2, [32 + n * s - 16 for s in slots]), exec_mask(m)] + rows(8, old, bits // 32)
            w = bits // 32
            if word is not None:
                sets.append(('mode', 0, -1, word))
            first, second = (cmp, data) if cmp_first else (data, cmp)
            sets += rows(12, first, w) + rows(12 + w if not cmp_first else 16, second, w)
            hn.add(code, sets, memory.wants() + rows(8, got if ret else old, w))


def vector_atomics():
    def build(segment):
        def run(name, ret, words):
            data = words * (2 if 'cmpswap' in name else 1)
            glc = ' glc' if ret else ''
            if segment == 'buffer':
                # the old value comes back in the data register
                if ret:
                    moves = ''.join(' ; v_mov_b32 v%d, v%d' % (8 + k, 12 + k) for k in range(words))
                    return RAW + 'buffer_%s %s, v2, s[8:11], 0 offen offset:16 glc' % (name, reg(12, data)) + moves
                return RAW + 'buffer_%s %s, v2, s[8:11], 0 offen offset:16' % (name, reg(12, data))
            dst = reg(8, words) + ', ' if ret else ''
            if segment == 'flat':
                return WIDE + 'flat_%s %sv[2:3], %s offset:16%s' % (name, dst, reg(12, data), glc)
            if rnd.getrandbits(1):
                return WIDE + 'global_%s %sv[2:3], %s, off offset:16%s' % (name, dst, reg(12, data), glc)
            return 'global_%s %sv2, %s, s[0:1] offset:16%s' % (name, dst, reg(12, data), glc)
        return run

    def mem():
        return Bytes(WORDS, True)
    names = ('swap', 'cmpswap', 'add', 'sub', 'smin', 'umin', 'smax', 'umax', 'and', 'or', 'xor', 'inc', 'dec')
    for segment in ('flat', 'global', 'buffer'):
        for bits, sfx in ((32, ''), (64, '_x2')):
            table = ints(bits)
            for n in names:
                atomic_case('atomic_%s%s' % (n, sfx), bits, table[n], 'u' if bits == 32 else 'U', build(segment), mem)
        for word in (None, 0x30f):  # which is nothing to memory
            for n, fn in (('add', fadd), ('min', fextreme(False)), ('max', fextreme(True))):
                atomic_case('atomic_%s_f64' % n, 64, floats(F64, fn), 'd', build(segment), mem, word=word)
            if segment != 'flat':
                atomic_case('atomic_add_f32', 32, floats(F32, fadd), 'f', build(segment), mem, word=word)
                atomic_case('atomic_pk_add_f16', 32, f16_pair, 'q', build(segment), mem, word=word)


# --- LDS

def lds():
    return Bytes(LDS_WORDS, False)


def two_data(name):
    """DATA0 is what is compared, or the mask, and DATA1 the new value: the other way round than in FLAT."""
    return any(x in name for x in ('cmpst', 'mskor', 'wrap_'))


def ds_atomics():
    def build(name, ret, words):
        two = two_data(name)
        ops = ([reg(8, words)] if ret else []) + ['v2', reg(12, words)] + ([reg(16, words)] if two else [])
        stem, _, sfx = name.rpartition('_')
        return 'ds_%s%s_%s %s offset:16' % (stem, '_rtn' if ret else '', sfx, ', '.join(ops))
    for bits, u, i, b in ((32, 'u32', 'i32', 'b32'), (64, 'u64', 'i64', 'b64')):
        t, kind = ints(bits), 'u' if bits == 32 else 'U'
        for name, fn in (('add_' + u, 'add'), ('sub_' + u, 'sub'), ('rsub_' + u, 'rsub'), ('inc_' + u, 'inc'),
                         ('dec_' + u, 'dec'), ('min_' + i, 'smin'), ('max_' + i, 'smax'), ('min_' + u, 'umin'),
                         ('max_' + u, 'umax'), ('and_' + b, 'and'), ('or_' + b, 'or'), ('xor_' + b, 'xor'),
                         ('mskor_' + b, 'mskor'), ('cmpst_' + b, 'cmpswap')):
            atomic_case(name, bits, t[fn], kind, build, lds, two_data(name))
        for name, fn in (('wrxchg_' + b, 'swap'), ('wrap_b32', 'wrap')):
            if fn != 'wrap' or bits == 32:  # these always return the old value
                atomic_case(name, bits, t[fn], kind, lambda n, r, w: build(n, r, w) if r else None, lds, two_data(name))
        f, k, n = (F32, 'f', 'f32') if bits == 32 else (F64, 'd', 'f64')
        # denormals: as they are, none, of the other width only, none in sources, none in results; rounding is never MODE's
        for word in (None, 0x30f, 0x3c5 if bits == 32 else 0x33a, 0x33a if bits == 32 else 0x3c5, 0x3a3, 0x35c):
            mode = sf.DEFAULT if word is None else word

            def equal(f, o, d, c):
                return sf.source(f, d) if sf.equal(f, o, c) else o
            atomic_case('add_' + n, bits, floats(f, local_fadd, mode), k, build, lds, word=word)
            atomic_case('min_' + n, bits, floats(f, fextreme(False), mode), k, build, lds, word=word)
            atomic_case('max_' + n, bits, floats(f, fextreme(True), mode), k, build, lds, word=word)
            atomic_case('cmpst_' + n, bits, floats(f, equal, mode), k, build, lds, True, word)


DS_LOADS = {'read_b32': (4, 'w'), 'read_b64': (8, 'w'), 'read_b96': (12, 'w'), 'read_b128': (16, 'w'), 'read_i8': (1, 's'),
            'read_u8': (1, 'u'), 'read_i16': (2, 's'), 'read_u16': (2, 'u'), 'read_u8_d16': (1, 'ul'),
            'read_u8_d16_hi': (1, 'uh'), 'read_i8_d16': (1, 'sl'), 'read_i8_d16_hi': (1, 'sh'), 'read_u16_d16': (2, 'ul'),
            'read_u16_d16_hi': (2, 'uh')}
DS_STORES = {'write_b32': (4, 0), 'write_b64': (8, 0), 'write_b96': (12, 0), 'write_b128': (16, 0), 'write_b8': (1, 0),
             'write_b16': (2, 0), 'write_b8_d16_hi': (1, 16), 'write_b16_d16_hi': (2, 16)}


def ds_transfer():
    """Some lanes lie outside: they read 0 and write nothing."""
    for op, (n, kind) in DS_LOADS.items():
        for case in range(3):
            mem, imm = lds(), rnd.choice((0, 8, 200))
            sets = mem.preset({k: rnd.getrandbits(32) for k in range(LDS_WORDS)} if case == 0 else
                              {k: rnd.getrandbits(32) for k in range(0, LDS_WORDS, 3)})
            off = lane_offsets(n, (0, 1, 2)[case])
            off = [o if rnd.random() < 0.95 or not case else 5000 for o in off]
            m = ALL if case == 0 else rnd.getrandbits(64)
            w = max(1, n // 4)
            old = [rnd.getrandbits(32 * w) for _ in range(LANES)]
            want = [loaded(mem.read(off[l] + imm, n), n, kind, old[l]) if m >> l & 1 else old[l] for l in range(LANES)]
            hn.add('ds_%s %s, v2%s' % (op, reg(8, w), ' offset:%d' % imm if imm else ''),
                   sets + [row(2, off), exec_mask(m)] + rows(8, old, w), rows(8, want, w))
    for op, (n, shift) in DS_STORES.items():
        for case in range(3):
            mem, imm = lds(), rnd.choice((0, 8, 200))
            off = lane_offsets(n, (0, 1, 2)[case])
            off = [o if rnd.random() < 0.95 or not case else 5000 for o in off]
            m = ALL if case == 0 else rnd.getrandbits(64)
            w = max(1, n // 4)
            data = [rnd.getrandbits(32 * w) for _ in range(LANES)]
            for l in range(LANES):
                if m >> l & 1:
                    mem.write(off[l] + imm, n, data[l] >> shift)
            hn.add('ds_%s v2, %s%s' % (op, reg(8, w), ' offset:%d' % imm if imm else ''),
                   [row(2, off), exec_mask(m)] + rows(8, data, w), mem.wants())


def ds_pairs():
    """Two places a lane, offsets in elements or in 64 of them."""
    for bits in (32, 64):
        n, w = bits // 8, bits // 32
        for st in ('', 'st64'):
            unit = n * (64 if st else 1)
            a, b = (1, 2) if st else (3, 70)
            off = [n * l for l in range(LANES)]
            m = rnd.getrandbits(64) | 1
            mem = lds()
            sets = mem.preset({k: rnd.getrandbits(32) for k in range(LDS_WORDS)})
            old = [rnd.getrandbits(2 * bits) for _ in range(LANES)]
            both = [mem.read(off[l] + a * unit, n) | mem.read(off[l] + b * unit, n) << bits for l in range(LANES)]
            want = [both[l] if m >> l & 1 else old[l] for l in range(LANES)]
            base = sets + [row(2, off), exec_mask(m)] + rows(8, old, 2 * w)
            offs = ' offset0:%d offset1:%d' % (a, b)
            hn.add('ds_read2%s_b%d %s, v2%s' % (st, bits, reg(8, 2 * w), offs), base, rows(8, want, 2 * w))
            x, y = ([rnd.getrandbits(bits) for _ in range(LANES)] for _ in range(2))
            data = rows(20, x, w) + rows(24, y, w)
            # places of two lanes must not meet
            m, off = (0xfffe, off) if st else (0b111111, [n * 75 * (l % 6) for l in range(LANES)])
            mem = lds()
            sets = mem.preset({k: rnd.getrandbits(32) for k in range(LDS_WORDS)})
            both = [mem.read(off[l] + a * unit, n) | mem.read(off[l] + b * unit, n) << bits for l in range(LANES)]
            for l in range(LANES):
                if m >> l & 1:
                    mem.write(off[l] + a * unit, n, x[l])
                    mem.write(off[l] + b * unit, n, y[l])
            base = sets + data + [row(2, off), exec_mask(m)] + rows(8, old, 2 * w)
            hn.add('ds_write2%s_b%d v2, %s, %s%s' % (st, bits, reg(20, w), reg(24, w), offs), base, mem.wants())
            hn.add('ds_wrxchg2%s_rtn_b%d %s, v2, %s, %s%s' % (st, bits, reg(8, 2 * w), reg(20, w), reg(24, w), offs), base,
                   mem.wants() + rows(8, [both[l] if m >> l & 1 else old[l] for l in range(LANES)], 2 * w))


def exchanges():
    a = [hn.value('u') for _ in range(LANES)]
    addr = [rnd.choice((4 * rnd.randrange(64), 4 * rnd.randrange(64) + 1, 0xfffffffc, 256)) for _ in range(LANES)]
    old = [rnd.getrandbits(32) for _ in range(LANES)]
    for m in (ALL, 0xff0ff0f0f0ffff0e):
        for imm in (0, 8):
            pull = [(a[(addr[l] + imm) // 4 % 64] if m >> ((addr[l] + imm) // 4 % 64) & 1 else 0) if m >> l & 1 else old[l]
                    for l in range(LANES)]
            hn.add('ds_bpermute_b32 v3, v1, v2 offset:%d' % imm, [row(1, addr), row(2, a), row(3, old), exec_mask(m)], [row(3, pull)])
            t = [0] * LANES
            for l in range(LANES):
                if m >> l & 1:
                    t[(addr[l] + imm) // 4 % 64] = a[l]
            hn.add('ds_permute_b32 v3, v1, v2 offset:%d' % imm, [row(1, addr), row(2, a), row(3, old), exec_mask(m)],
                   [row(3, [t[l] if m >> l & 1 else old[l] for l in range(LANES)])])
        for spec in (0x801f, 0x041f, 0x7c1f, 0x001f, 0x03e0, 0x80e4, 0x801b, 0x8000, 0xc020, 0xc421, 0xc7e3):
            t = []
            for l in range(LANES):
                i = l & 31
                if spec >= 0xc000:
                    keep, n = spec & 31, spec >> 5 & 31
                    src = i & keep | (i - n if spec >> 10 & 1 else i + n) & 31 & ~keep
                elif spec & 0x8000:
                    src = i & ~3 | spec >> 2 * (i & 3) & 3
                else:
                    src = (i & spec & 31 | spec >> 5 & 31) ^ spec >> 10 & 31
                src |= l & 32
                t.append((a[src] if m >> src & 1 else 0) if m >> l & 1 else old[l])
            hn.add('ds_swizzle_b32 v3, v1 offset:0x%x' % spec, [row(1, a), row(3, old), exec_mask(m)], [row(3, t)])
    for name, sign in (('ds_append', 1), ('ds_consume', -1)):
        for m in (ALL, 0xf0, 1):
            n = bin(m).count('1')
            hn.add(name + ' v3 offset:8', [('l', 4, -1, 100), ('m0', 0, -1, 8 << 16), exec_mask(m), row(3, old)],
                   [('l', 4, -1, 100 + sign * n & M32), row(3, [100 if m >> l & 1 else old[l] for l in range(LANES)])])
    mem = lds()
    sets = mem.preset({k: rnd.getrandbits(32) for k in range(200)})
    hn.add('ds_read_addtid_b32 v3 offset:12', sets + [('m0', 0, -1, 64)], [row(3, [mem.read(76 + 4 * l, 4) for l in range(LANES)])])
    for l in range(LANES):
        mem.write(76 + 4 * l, 4, a[l])
    hn.add('ds_write_addtid_b32 v1 offset:12', sets + [('m0', 0, -1, 64), row(1, a)], mem.wants())


# --- scalar memory

def scalar():
    for words in (1, 2, 4, 8, 16):
        sfx = 'dword' + ('x%d' % words if words > 1 else '')
        for _ in range(3):
            at = 4 * rnd.randrange(4000)
            dst = 's20' if words == 1 else 's[20:%d]' % (19 + words)
            value = sum((at // 4 + k) << 32 * k for k in range(words))
            hn.add('s_load_%s %s, s[0:1], 0x%x' % (sfx, dst, at), [], sgprs(20, value, words))
            hn.add('s_load_%s %s, s[0:1], s4' % (sfx, dst), [('s', 4, -1, at + 2)], sgprs(20, value, words))
            # words beyond NUM_RECORDS read 0
            limit = at + 4 * rnd.randrange(words + 1)
            inside = sum((at // 4 + k) << 32 * k for k in range(words) if at + 4 * k + 4 <= limit)
            for off in ('0x%x' % at, 's4'):
                hn.add(RAW.replace('s_movk_i32 s10, 0x4000', 's_mov_b32 s10, s12') + 's_buffer_load_%s %s, s[8:11], %s' % (sfx, dst, off),
                       [('s', 12, -1, limit), ('s', 4, -1, at)], sgprs(20, inside, words))
    for words in (1, 2, 4):
        sfx = 'dword' + ('x%d' % words if words > 1 else '')
        src = 's20' if words == 1 else 's[20:%d]' % (19 + words)
        data = rnd.getrandbits(32 * words)
        for code, limit in (('s_store_%s %s, s[0:1], 0x24', 99), (RAW + 's_buffer_store_%s %s, s[8:11], 0x24', 99),
                            (RAW.replace('s_movk_i32 s10, 0x4000', 's_movk_i32 s10, 0x28') + 's_buffer_store_%s %s, s[8:11], 0x24', 1)):
            mem = Bytes(WORDS, True)
            mem.write(0x24, 4 * min(words, limit), data)
            hn.add(code % (sfx, src), sgprs(20, data, words), mem.wants() + [('m', 12, -1, mem.read(48, 4))], 'gfx900')


def global_sync():
    """Waves still to come after this one: none, so that nothing waits; the counts of two resources are apart."""
    hn.add('ds_gws_init v2 offset:1 gds ; ds_gws_init v4 offset:2 gds ; ds_gws_barrier v2 offset:1 gds ; '
           'ds_gws_barrier v2 offset:1 gds ; s_mov_b32 s4, 7',
           [row(2, [0] * LANES), row(4, [5] * LANES), ('m0', 0, -1, 0)], [('s', 4, -1, 7)])


def make():
    for segment in ('flat', 'global', 'buffer'):
        transfer(segment)
    scratch()
    buffers()
    vector_atomics()
    ds_atomics()
    ds_transfer()
    ds_pairs()
    exchanges()
    global_sync()
    scalar()
