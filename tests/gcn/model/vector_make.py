# SPDX-License-Identifier: MIT
"""Vectors of the rows in vector.py: edge values and random ones, all lanes and some, every MODE, modifiers, clamp."""
import harness as hn
import softfloat as sf
import vector
from harness import operand, reg, rnd

SRC = (2, 4, 6)
QUAD = 8  # the third source when it has four registers
DST = 20
PART = 0x0f0f00ff8001fffe

# rounding of all formats in each direction, denormals flushed, kept in sources or in results only, IEEE mode off
MODES = [0x3f0, 0x3f5, 0x3fa, 0x3ff, 0x300, 0x350, 0x3a0, 0x1f0]


def keeps(r, old, result):
    """A destination register after the write."""
    if r.dst not in 'hse':
        return result & (1 << 32 * hn.words(r.dst)) - 1
    return (old & 0xffff0000 if 'K' in r.flags else 0) | (result & 0xffff)


def compute(r, args, clamp):
    res = r.fn(*args, cl=1) if clamp else r.fn(*args)
    return res if isinstance(res, tuple) else (res, 0)


def modified(kind, raw, neg, absolute):
    f = hn.FORMAT.get(kind)
    if f and absolute:
        raw &= ~f.sign
    return raw ^ f.sign if f and neg else raw


def sources(r):
    out = []
    for k, kind in enumerate(r.src):
        v = [rnd.getrandbits(1) if kind == 'm' else hn.value(kind) for _ in range(hn.LANES)]
        if kind in 'fd' and 'n' in r.flags:
            f = hn.FORMAT[kind]
            v = [0x3f800000 if sf.is_nan(f, x) else x for x in v]
        # the upper half of a 16-bit source does not count
        if kind in 'hse':
            v = [x | rnd.getrandbits(16) << 16 for x in v]
        out.append(v)
    return out


def text(r, neg, absolute, clamp):
    ops = [reg(r.dst, DST)]
    if 'k' in r.flags:
        ops.append('s[20:21]' if 'o' in r.flags else 'vcc')
    n = len(r.src) - ('a' in r.flags)
    for k in range(n):
        kind = r.src[k]
        if kind == 'm':
            ops.append('vcc')
            continue
        t = reg(kind, QUAD if kind == 'R' else SRC[k])
        t = '|%s|' % t if absolute >> k & 1 else t
        ops.append('-' + t if neg >> k & 1 else t)
    return r.name + ' ' + ', '.join(ops) + (' clamp' if clamp else '')


def emit(r, word, exec_, neg=0, absolute=0, clamp=0):
    sf.set_mode(word)
    src = sources(r)
    sets, wants = [('mode', 0, -1, word), hn.exec_mask(exec_)], []
    old = [rnd.getrandbits(32 * hn.words(r.dst)) for _ in range(hn.LANES)]
    for k, kind in enumerate(r.src):
        if kind == 'm':
            sets.append(('vcc', 0, -1, sum(b << l for l, b in enumerate(src[k]))))
        elif k == len(r.src) - 1 and 'a' in r.flags:
            old = src[k]
        else:
            sets += hn.rows(QUAD if kind == 'R' else SRC[k], src[k], hn.words(kind))
    sets += hn.rows(DST, old, hn.words(r.dst))
    out, mask = [], 0
    for lane in range(hn.LANES):
        raw = [modified(kind, v[lane], neg >> k & 1, absolute >> k & 1) for k, (kind, v) in enumerate(zip(r.src, src))]
        d, k = compute(r, [operand(kind, x) for kind, x in zip(r.src, raw)], clamp)
        on = exec_ >> lane & 1
        out.append(keeps(r, old[lane], d) if on else old[lane])
        mask |= (bool(k) and on) << lane
    if r.ulps:
        wants.append((r.dst, DST, -3, r.ulps, [x & 2 * hn.FORMAT[r.dst].sign - 1 for x in out]))
    else:
        wants += hn.rows(DST, out, hn.words(r.dst))
    if 'k' in r.flags:
        wants += hn.sgprs(20, mask, 2) if 'o' in r.flags else [('vcc', 0, -1, mask)]
    sf.set_mode(sf.DEFAULT)
    hn.add(text(r, neg, absolute, clamp), sets, wants, r.isa)


def make():
    for r in vector.table:
        float_ = any(k in 'fdeqP' for k in r.src + r.dst)
        emit(r, sf.DEFAULT, hn.ALL)
        emit(r, sf.DEFAULT, PART if not r.ulps else hn.ALL)
        if float_ and not r.ulps and 'u' not in r.flags:
            for word in MODES[1:]:
                emit(r, word, hn.ALL)
        if any(k in 'fde' for k in r.src) and 'x' not in r.flags and 'a' not in r.flags and not r.ulps:
            emit(r, sf.DEFAULT, hn.ALL, neg=1, absolute=2 if len(r.src) > 1 and r.src[1] in 'fde' else 0)
        if 'c' in r.flags:
            emit(r, sf.DEFAULT, hn.ALL, clamp=1)
    compares()
    classes()


# --- compares

INT = {'f': lambda a, b: False, 'lt': lambda a, b: a < b, 'eq': lambda a, b: a == b, 'le': lambda a, b: a <= b,
       'gt': lambda a, b: a > b, 'ne': lambda a, b: a != b, 'ge': lambda a, b: a >= b, 't': lambda a, b: True}
# less, equal, greater, unordered: what each condition accepts
FLOAT = {'f': '', 'lt': 'l', 'eq': 'e', 'le': 'le', 'gt': 'g', 'lg': 'lg', 'ge': 'ge', 'o': 'leg', 'u': 'u',
         'nge': 'ul', 'nlg': 'ue', 'ngt': 'ule', 'nle': 'ug', 'neq': 'ulg', 'nlt': 'uge', 'tru': 'uleg'}


def relation(f, a, b):
    if sf.any_nan(f, a, b):
        return 'u'
    return 'l' if sf.less(f, a, b) else 'e' if sf.equal(f, a, b) else 'g'


def compare(name, kinds, fn, word=sf.DEFAULT):
    """Both forms: to VCC, to an SGPR pair; the cmpx twins write EXEC too. Inactive lanes give 0."""
    for x, (dst, exec_) in (('', ('vcc', PART)), ('', ('s[20:21]', hn.ALL)), ('x', ('vcc', PART)), ('x', ('s[20:21]', hn.ALL))):
        sf.set_mode(word)
        a, b = ([hn.value(k) for _ in range(hn.LANES)] for k in kinds)
        b = [y if rnd.random() < 0.7 or kinds[0] != kinds[1] else z for y, z in zip(b, a)]
        m = sum(bool(fn(operand(kinds[0], p), operand(kinds[1], q))) << l for l, (p, q) in enumerate(zip(a, b))) & exec_
        sf.set_mode(sf.DEFAULT)
        sets = hn.rows(2, a, hn.words(kinds[0])) + hn.rows(4, b, hn.words(kinds[1]))
        wants = [('vcc', 0, -1, m)] if dst == 'vcc' else hn.sgprs(20, m, 2)
        wants.append(hn.exec_mask(m if x else exec_))
        hn.add('v_cmp%s_%s %s, %s, %s' % (x, name, dst, reg(kinds[0], 2), reg(kinds[1], 4)),
               sets + [hn.exec_mask(exec_), ('mode', 0, -1, word)], wants)


def compares():
    for t, n in (('s', 'i16'), ('h', 'u16'), ('i', 'i32'), ('u', 'u32'), ('I', 'i64'), ('U', 'u64')):
        for cond, fn in INT.items():
            compare('%s_%s' % (cond, n), t + t, fn)
    for t, n in (('e', 'f16'), ('f', 'f32'), ('d', 'f64')):
        f = hn.FORMAT[t]
        for cond, accepts in FLOAT.items():
            for word in (sf.DEFAULT, 0x300):
                compare('%s_%s' % (cond, n), t + t, lambda a, b, f=f, ok=accepts: relation(f, a, b) in ok, word)


def class_bit(f, x):
    """ISA V_CMP_CLASS: signalling, quiet NaN, -inf, -normal, -denormal, -0, +0, +denormal, +normal, +inf."""
    s = x >> f.bits - 1 & 1
    if sf.is_nan(f, x):
        return 0 if sf.is_snan(f, x) else 1
    kind = 0 if sf.is_inf(f, x) else 3 if sf.is_zero(f, x) else 2 if sf.is_denorm(f, x) else 1
    return 2 + kind if s else 9 - kind


def classes():
    for t, n in (('e', 'f16'), ('f', 'f32'), ('d', 'f64')):
        f = hn.FORMAT[t]
        compare('class_' + n, t + 'u', lambda a, b, f=f: b >> class_bit(f, a) & 1)
