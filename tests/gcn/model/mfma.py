# SPDX-License-Identifier: MIT
"""Matrix instructions: D = A * B + C for each block, from where the ISA document says that each element lies.

A block is M x K by K x M. With one value a lane, A[i][k] of block b is in lane
i + M * (b + blocks * k); where a lane packs P values of K it holds k = P * group
.. P * group + P - 1 and `group` takes the place of k. B alike, with j for i. D:
32 rows: four at a time, lanes 0-31 rows 0-3 of each eight, lanes 32-63 rows 4-7;
16 rows: four to a group of 16 lanes; 4 rows: one register a row, one block to
four lanes. f64: 16 rows are dealt out to the groups of 16 lanes in turn.
Integers and small multiples of 1/4 make every sum exact, so that the order in
which hardware adds does not matter.
"""
import harness as hn
import softfloat as sf
from harness import LANES, rnd, row

#        name                     M  K   blocks type
SHAPES = (
    ('v_mfma_f32_32x32x1f32', 32, 1, 2, 'f32'), ('v_mfma_f32_16x16x1f32', 16, 1, 4, 'f32'),
    ('v_mfma_f32_4x4x1f32', 4, 1, 16, 'f32'), ('v_mfma_f32_32x32x2f32', 32, 2, 1, 'f32'),
    ('v_mfma_f32_16x16x4f32', 16, 4, 1, 'f32'),
    ('v_mfma_f32_32x32x4f16', 32, 4, 2, 'f16'), ('v_mfma_f32_16x16x4f16', 16, 4, 4, 'f16'),
    ('v_mfma_f32_4x4x4f16', 4, 4, 16, 'f16'), ('v_mfma_f32_32x32x8f16', 32, 8, 1, 'f16'),
    ('v_mfma_f32_16x16x16f16', 16, 16, 1, 'f16'),
    ('v_mfma_i32_32x32x4i8', 32, 4, 2, 'i8'), ('v_mfma_i32_16x16x4i8', 16, 4, 4, 'i8'),
    ('v_mfma_i32_4x4x4i8', 4, 4, 16, 'i8'), ('v_mfma_i32_32x32x8i8', 32, 8, 1, 'i8'),
    ('v_mfma_i32_16x16x16i8', 16, 16, 1, 'i8'),
    ('v_mfma_f32_32x32x2bf16', 32, 2, 2, 'bf16'), ('v_mfma_f32_16x16x2bf16', 16, 2, 4, 'bf16'),
    ('v_mfma_f32_4x4x2bf16', 4, 2, 16, 'bf16'), ('v_mfma_f32_32x32x4bf16', 32, 4, 1, 'bf16'),
    ('v_mfma_f32_16x16x8bf16', 16, 8, 1, 'bf16'),
    ('v_mfma_f32_32x32x4bf16_1k', 32, 4, 2, 'bf16_1k'), ('v_mfma_f32_16x16x4bf16_1k', 16, 4, 4, 'bf16_1k'),
    ('v_mfma_f32_4x4x4bf16_1k', 4, 4, 16, 'bf16_1k'), ('v_mfma_f32_32x32x8bf16_1k', 32, 8, 1, 'bf16_1k'),
    ('v_mfma_f32_16x16x16bf16_1k', 16, 16, 1, 'bf16_1k'),
    ('v_mfma_f64_16x16x4f64', 16, 4, 1, 'f64'), ('v_mfma_f64_4x4x4f64', 4, 4, 4, 'f64'),
)
# values packed into a lane, bits of each, registers of A and B
PACK = {'f32': (1, 32, 1), 'f16': (4, 16, 2), 'i8': (4, 8, 1), 'bf16': (2, 16, 1), 'bf16_1k': (4, 16, 2), 'f64': (1, 64, 2)}


def encode(kind, v):
    if kind == 'i8':
        return v & 255
    if kind == 'f16':
        return sf.from_float(sf.F16, v / 4)
    if kind == 'f64':
        return sf.from_float(sf.F64, v / 4)
    x = sf.from_float(sf.F32, v / 4)
    return x >> 16 if kind.startswith('bf16') else x


def scatter(kind, m, k, blocks, matrix):
    """Register values of A or B; matrix[block][i][k]."""
    per, bits, regs = PACK[kind]
    lanes = [0] * LANES
    for b in range(blocks):
        for i in range(m):
            for kk in range(k):
                lane = i + m * (b + blocks * (kk // per))
                lanes[lane] |= encode(kind, matrix[b][i][kk]) << bits * (kk % per)
    return [[x >> 32 * r & 0xffffffff for x in lanes] for r in range(regs)]


def where(kind, m, b, i, j):
    """Register and lane of D[b][i][j]."""
    if kind == 'f64':
        return (2 * (i // 4), j + 16 * (i % 4)) if m == 16 else (0, j + 4 * b + 16 * i)
    if m == 32:
        return 16 * b + 4 * (i // 8) + i % 4, j + 32 * (i // 4 % 2)
    if m == 16:
        return 4 * b + i % 4, j + 16 * (i // 4)
    return i, j + 4 * b


def result_bits(kind, v):
    if kind == 'i8':
        return v & 0xffffffff
    return sf.from_float(sf.F64 if kind == 'f64' else sf.F32, v / 16)


def spread(kind, m, blocks, matrix):
    regs = m * m * blocks // LANES * (2 if kind == 'f64' else 1)
    out = [[0] * LANES for _ in range(regs)]
    for b in range(blocks):
        for i in range(m):
            for j in range(m):
                r, lane = where(kind, m, b, i, j)
                x = result_bits(kind, matrix[b][i][j])
                out[r][lane] = x & 0xffffffff
                if kind == 'f64':
                    out[r + 1][lane] = x >> 32
    return out


def random_matrix(blocks, n, m, limit):
    return [[[rnd.randint(-limit, limit) for _ in range(m)] for _ in range(n)] for _ in range(blocks)]


def names(file, first, count):
    return '%s%d' % (file, first) if count == 1 else '%s[%d:%d]' % (file, first, first + count - 1)


def blgp_lane(blgp, lane):
    """Which lane of B is taken instead: one half or one quarter for all, or rotated by a quarter."""
    return (lane, lane & 31, 32 + (lane & 31), lane + 16 & 63, *(16 * q + (lane & 15) for q in range(4)))[blgp]


def one(name, m, k, blocks, kind, files, cbsz=0, abid=0, blgp=0):
    limit = 127 if kind == 'i8' else 7
    a, b = random_matrix(blocks, m, k, limit), random_matrix(blocks, m, k, limit)
    c = random_matrix(blocks, m, m, 1000)
    rega, regb, regc = scatter(kind, m, k, blocks, a), scatter(kind, m, k, blocks, b), spread(kind, m, blocks, c)
    if blgp and kind != 'f64':  # what B is once its lanes are replaced
        regb2 = [[r[blgp_lane(blgp, l)] for l in range(LANES)] for r in regb]
        per, bits, _ = PACK[kind]
        joined = [sum(r[l] << 32 * n for n, r in enumerate(regb2)) for l in range(LANES)]
        inverse = {encode(kind, v): v for v in range(-limit, limit + 1)}
        b = [[[inverse[joined[j + m * (bl + blocks * (kk // per))] >> bits * (kk % per) & (1 << bits) - 1]
               for kk in range(k)] for j in range(m)] for bl in range(blocks)]
    scale = -1 if kind == 'f64' else 1
    sa, sb, sc = (scale if blgp >> n & 1 and kind == 'f64' else 1 for n in range(3))
    d = [[[sc * c[bl][i][j] + sum(sa * a[(bl & ~((1 << cbsz) - 1)) + abid if cbsz else bl][i][kk] * sb * b[bl][j][kk]
                                  for kk in range(k)) for j in range(m)] for i in range(m)] for bl in range(blocks)]
    want = spread(kind, m, blocks, d)
    file_ab, file_cd = files
    n = len(want)
    first_b, first_c, first_d = 8, 32, 128
    code = '%s %s, %s, %s, %s' % (name, names(file_cd, first_d, n), names(file_ab, 4, len(rega)),
                                  names(file_ab, first_b, len(regb)), names(file_cd, first_c, n))
    for label, v in (('cbsz', cbsz), ('abid', abid), ('blgp', blgp)):  # for f64 it negates A, B and C
        code += ' %s:%d' % (label, v) if v else ''
    sets = [row(4 + r, v, file_ab) for r, v in enumerate(rega)] + [row(first_b + r, v, file_ab) for r, v in enumerate(regb)]
    sets += [row(first_c + r, v, file_cd) for r, v in enumerate(regc)]
    # EXEC does not matter
    hn.add(code, sets + [hn.exec_mask(rnd.getrandbits(64))], [row(first_d + r, v, file_cd) for r, v in enumerate(want)])


def denormals():
    """f32 keeps what MODE keeps, the 16-bit formats keep none, f64 all; rounding is to nearest whatever MODE says."""
    one32, half32, h_one, h_den, b_one, b_den = 0x3f800000, 0x3f000000, 0x3c00, 0x0001, 0x3f80, 0x0001

    def fill(reg, x, words=1):
        return [row(reg + n, [x >> 32 * n & 0xffffffff] * LANES) for n in range(words)]
    #       MODE   name, registers of A and B, A, B, C, D
    cases = [
        (0x3f0, '4x4x1f32', 1, 3, one32, 4, 7),
        (0x3ff, '4x4x1f32', 1, 3, half32, 4, 6),              # 1.5 to even, not down
        (0x3c0, '4x4x1f32', 1, 3, one32, 4, 0),
        (0x3d0, '4x4x1f32', 1, 3, one32, 4, 0),               # in, but not out
        (0x3d0, '4x4x1f32', 1, 0x00400000, 0x40000000, 0, 0x00800000),
        (0x3e0, '4x4x1f32', 1, 0x00400000, 0x40000000, 0, 0), # out, but not in
        (0x3e0, '4x4x1f32', 1, 0x00800000, half32, 0, 0x00400000),
        (0x3e0, '4x4x1f32', 1, 0x80000001, one32, 0x80000000, 0x80000000),
    ]
    for word in (0x3f0, 0x300, 0x3ff):
        cases += [
            (word, '4x4x4f16', 2, h_den, h_one, 0, 0), (word, '4x4x4f16', 2, h_one, h_den, one32, one32),
            (word, '4x4x4f16', 2, h_one, h_one, 5, one32), (word, '4x4x4f16', 2, 0, h_one, 5, 0),
            (word, '4x4x4bf16_1k', 2, b_den, b_one, 0, 0), (word, '4x4x4bf16_1k', 2, 0x0080, 0x3f00, 0, 0),
            (word, '4x4x4bf16_1k', 2, 0x0080, b_one, 0, 0x00800000),
            (word, '4x4x2bf16', 1, b_den, b_one, 0, 0), (word, '4x4x2bf16', 1, 0x0080, b_one, 3, 0x00800000),
        ]
    for word, name, words, a, b, c, d in cases:
        hn.add('v_mfma_f32_%s v[8:11], %s, %s, v[12:15]' % (name, names('v', 2, words), names('v', 4, words)),
               fill(2, a, words) + fill(4, b, words) + [r for k in range(4) for r in fill(12 + k, c)] + [('mode', 0, -1, word)],
               [r for k in range(4) for r in fill(8 + k, d)])
    for word in (0x3f0, 0x30f):
        hn.add('v_mfma_f64_4x4x4f64 v[8:9], v[2:3], v[4:5], v[12:13]',
               fill(2, 3, 2) + fill(4, 0x3ff0 << 48, 2) + fill(12, 1, 2) + [('mode', 0, -1, word)], fill(8, 13, 2))


def special_values():
    """Infinities, NaNs and denormals."""
    def fill(reg, x):
        return row(reg, [x] * LANES)
    for a, b, c, d in ((0x7f800000, 0x3f800000, 0, 0x7f800000), (0x7f800000, 0, 0, 0x7fc00000),
                       (0x7f800000, 0x3f800000, 0xff800000, 0x7fc00000), (1, 0x3f800000, 1, 2),
                       (0x7f7fffff, 0x40000000, 0, 0x7f800000), (0x80000000, 0x3f800000, 0x80000000, 0x80000000)):
        hn.add('v_mfma_f32_4x4x1f32 v[8:11], v2, v3, v[4:7]',
               [fill(2, a), fill(3, b)] + [fill(4 + k, c) for k in range(4)], [fill(8 + k, d) for k in range(4)])
    # the third source may be a constant
    hn.add('v_mfma_f32_4x4x1f32 v[8:11], v2, v3, 1.0', [fill(2, 0x40000000), fill(3, 0x40400000)],
           [fill(8 + k, 0x40e00000) for k in range(4)])
    hn.add('v_mfma_i32_4x4x4i8 v[8:11], v2, v3, 5', [fill(2, 0x01010101), fill(3, 0x7f7f7f80)],
           [fill(8 + k, 5 - 128 + 3 * 127) for k in range(4)])


def make():
    for name, m, k, blocks, kind in SHAPES:
        one(name, m, k, blocks, kind, ('v', 'v'))
        one(name, m, k, blocks, kind, ('a', 'a'))
        one(name, m, k, blocks, kind, ('v', 'a'))
        if kind == 'f64':
            for blgp in range(1, 8):
                one(name, m, k, blocks, kind, ('v', 'v'), blgp=blgp)
            continue
        for blgp in rnd.sample(range(1, 8), 3):
            one(name, m, k, blocks, kind, ('v', 'v'), blgp=blgp)
        if blocks > 1:
            cbsz = rnd.randrange(1, blocks.bit_length())
            one(name, m, k, blocks, kind, ('v', 'v'), cbsz=cbsz, abid=rnd.randrange(1 << cbsz))
    special_values()
    denormals()
