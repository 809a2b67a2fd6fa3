# SPDX-License-Identifier: MIT
"""IEEE arithmetic in integers: the reference that the instruction vectors are made with.

Values are bit patterns. A finite number is sign, m, e: (-1)^sign * m * 2^e, exact
at every step until pack() rounds once. MODE holds the rounding and denormal bits
as the ISA document lays them out: rounding 0 nearest even, 1 up, 2 down, 3 to
zero; denormals bit 0 kept in sources, bit 1 kept in results.
"""
from math import isqrt


class Format:
    def __init__(self, ebits, mbits):
        self.ebits, self.mbits = ebits, mbits
        self.bits = 1 + ebits + mbits
        self.bias = (1 << ebits - 1) - 1
        self.emax = (1 << ebits) - 1
        self.sign = 1 << self.bits - 1
        self.inf = self.emax << mbits
        self.quiet = 1 << mbits - 1
        self.nan = self.inf | self.quiet
        self.mask = (1 << mbits) - 1
        self.emin = 1 - self.bias
        self.half = ebits == 5


F16, F32, F64 = Format(5, 10), Format(8, 23), Format(11, 52)


class Mode:
    """round32, denorm32, round64, denorm64, dx10_clamp, ieee; f16 goes with f64."""
    def __init__(self, word):
        self.word = word

    def rounding(self, f):
        return self.word & 3 if f is F32 else self.word >> 2 & 3

    def denorm(self, f):
        return self.word >> 4 & 3 if f is F32 else self.word >> 6 & 3

    @property
    def ieee(self):
        return self.word >> 9 & 1


DEFAULT = 0x3f0
mode = Mode(DEFAULT)


def set_mode(word):
    mode.word = word


def is_nan(f, x):
    return x & ~f.sign > f.inf


def is_snan(f, x):
    return is_nan(f, x) and not x & f.quiet


def is_inf(f, x):
    return x & ~f.sign == f.inf


def is_zero(f, x):
    return not x & ~f.sign


def is_denorm(f, x):
    return not x & f.inf and bool(x & f.mask)


def unpack(f, x):
    """sign, m, e of a finite number."""
    e, m = x >> f.mbits & f.emax, x & f.mask
    return x >> f.bits - 1, (m | (1 << f.mbits)) if e else m, (e or 1) - f.bias - f.mbits


def source(f, x):
    """A source after the denormal mode."""
    return x & f.sign if is_denorm(f, x) and not mode.denorm(f) & 1 else x


def canonical(f, x):
    """What only goes through: a denormal that may not come in or go out is 0."""
    return x & f.sign if is_denorm(f, x) and mode.denorm(f) != 3 else x


def shifted(m, n, sticky):
    """m * 2^-n with what is lost kept in one more bit below: returns integer part, and remainder as 0..4 of a half."""
    if n <= 0:
        return m << -n, 1 if sticky else 0
    q, r, half = m >> n, m & ((1 << n) - 1), 1 << n - 1
    if r == half and not sticky:
        return q, 2
    if r >= half:
        return q, 3
    return q, 1 if r or sticky else 0


def round_up(q, rest, sign, rm):
    if rm == 0:
        return rest == 3 or (rest == 2 and q & 1)
    return rest and rm == (2 if sign else 1)


def pack(f, sign, m, e, sticky=False, rm=None, flush=None):
    """Rounds once. m != 0; sticky: the exact value is a little larger in magnitude."""
    rm = mode.rounding(f) if rm is None else rm
    flush = not mode.denorm(f) & 2 if flush is None else flush
    s = f.sign if sign else 0
    top = m.bit_length() - 1 + e
    if flush and top < f.emin and not f.half:
        # tiny after rounding with an unbounded exponent
        q, rest = shifted(m, top - f.mbits - e, sticky)
        q += round_up(q, rest, sign, rm)
        if q.bit_length() - 1 + top - f.mbits < f.emin:
            return s
    low = max(top, f.emin) - f.mbits
    q, rest = shifted(m, low - e, sticky)
    q += round_up(q, rest, sign, rm)
    if q >> f.mbits + 1:
        q >>= 1
        low += 1
    if not q >> f.mbits:
        return s if flush else s | q
    ex = low + f.mbits + f.bias
    if ex >= f.emax:
        return s | (f.inf if rm == 0 or rm == (2 if sign else 1) else f.inf - 1)
    return s | ex << f.mbits | (q & f.mask)


def nan_of(f, *xs):
    for x in xs:
        if is_nan(f, x):
            return x | f.quiet
    return f.nan


def any_nan(f, *xs):
    return any(is_nan(f, x) for x in xs)


def zero_sum(f, sa, sb, rm):
    """Sign of a zero sum."""
    return f.sign if (sa and sb) or (sa != sb and rm == 2) else 0


def fma(f, a, b, c, flush=None, rm=None):
    a, b, c = source(f, a), source(f, b), source(f, c)
    if any_nan(f, a, b, c):
        return nan_of(f, a, b, c)
    sp = (a ^ b) >> f.bits - 1
    sc = c >> f.bits - 1
    if is_inf(f, a) or is_inf(f, b):
        if is_zero(f, a) or is_zero(f, b) or (is_inf(f, c) and sc != sp):
            return f.nan
        return f.inf | (f.sign if sp else 0)
    if is_inf(f, c):
        return c
    _, ma, ea = unpack(f, a)
    _, mb, eb = unpack(f, b)
    _, mc, ec = unpack(f, c)
    rm = mode.rounding(f) if rm is None else rm
    return total(f, sp, ma * mb, ea + eb, sc, mc, ec, flush, rm)


def total(f, sa, ma, ea, sb, mb, eb, flush, rm):
    e = min(ea, eb)
    t = (-1) ** sa * (ma << ea - e) + (-1) ** sb * (mb << eb - e)
    if not t:
        return zero_sum(f, sa, sb, rm)
    return pack(f, t < 0, abs(t), e, rm=rm, flush=flush)


def add(f, a, b, flush=None):
    a, b = source(f, a), source(f, b)
    if any_nan(f, a, b):
        return nan_of(f, a, b)
    if is_inf(f, a) or is_inf(f, b):
        if is_inf(f, a) and is_inf(f, b) and a != b:
            return f.nan
        return a if is_inf(f, a) else b
    sa, ma, ea = unpack(f, a)
    sb, mb, eb = unpack(f, b)
    return total(f, sa, ma, ea, sb, mb, eb, flush, mode.rounding(f))


def neg(f, a):
    return a ^ f.sign


def sub(f, a, b):
    # a NaN keeps its sign: only numbers are negated
    return add(f, a, b if is_nan(f, b) else neg(f, b))


def mul(f, a, b, flush=None):
    a, b = source(f, a), source(f, b)
    if any_nan(f, a, b):
        return nan_of(f, a, b)
    s = (a ^ b) & f.sign
    if is_inf(f, a) or is_inf(f, b):
        return f.nan if is_zero(f, a) or is_zero(f, b) else s | f.inf
    _, ma, ea = unpack(f, a)
    _, mb, eb = unpack(f, b)
    return pack(f, bool(s), ma * mb, ea + eb, flush=flush) if ma * mb else s


def mad(f, a, b, c):
    """Two roundings. Single precision never has denormals here."""
    saved = mode.word
    if f is F32:
        mode.word &= ~0x30
    product, c = mul(f, a, b), source(f, c)
    mode.word |= 0x50  # the product is no source
    r = add(f, product, c)
    mode.word = saved
    return r


def div(f, a, b):
    a, b = source(f, a), source(f, b)
    if any_nan(f, a, b):
        return nan_of(f, a, b)
    s = (a ^ b) & f.sign
    if is_inf(f, a) or is_zero(f, b):
        return f.nan if is_inf(f, b) or is_zero(f, a) else s | f.inf
    if is_inf(f, b) or is_zero(f, a):
        return s
    _, ma, ea = unpack(f, a)
    _, mb, eb = unpack(f, b)
    q, r = divmod(ma << 2 * f.bits, mb)
    return pack(f, bool(s), q, ea - eb - 2 * f.bits, bool(r))


def sqrt(f, a):
    a = source(f, a)
    if is_nan(f, a):
        return nan_of(f, a)
    if is_zero(f, a) or a == f.inf:
        return a
    if a & f.sign:
        return f.nan
    _, m, e = unpack(f, a)
    k = 2 * f.bits + (e & 1)
    r = isqrt(m << k)
    return pack(f, False, r, (e - k) // 2, r * r != m << k)


def convert(to, f, x):
    """Between formats. Sources obey the mode of their own format."""
    x = source(f, x)
    s = to.sign if x & f.sign else 0
    if is_nan(f, x):
        m = x & f.mask
        d = to.mbits - f.mbits
        return s | to.inf | to.quiet | (m << d if d >= 0 else m >> -d)
    if is_inf(f, x):
        return s | to.inf
    _, m, e = unpack(f, x)
    return pack(to, bool(s), m, e) if m else s


def from_int(f, n):
    return pack(f, n < 0, abs(n), 0) if n else 0


def to_int(f, x, lo, hi):
    """Towards zero, saturating; NaN gives 0."""
    x = source(f, x)
    if is_nan(f, x):
        return 0
    if is_inf(f, x):
        return lo if x & f.sign else hi
    s, m, e = unpack(f, x)
    n = m << e if e >= 0 else m >> -e
    return max(lo, min(hi, -n if s else n))


def integral(f, x, how):
    """how: 'trunc', 'floor', 'ceil', 'even'."""
    x = source(f, x)
    if is_nan(f, x):
        return nan_of(f, x)
    if is_inf(f, x) or is_zero(f, x):
        return x
    s, m, e = unpack(f, x)
    if e >= 0:
        return x
    q, rest = shifted(m, -e, False)
    if (how == 'floor' and s and rest) or (how == 'ceil' and not s and rest) or \
       (how == 'even' and (rest == 3 or (rest == 2 and q & 1))):
        q += 1
    return pack(f, bool(s), q, 0) if q else x & f.sign


def less(f, a, b):
    a, b = source(f, a), source(f, b)
    if any_nan(f, a, b):
        return False
    return value(f, a) < value(f, b)


def equal(f, a, b):
    a, b = source(f, a), source(f, b)
    return not any_nan(f, a, b) and value(f, a) == value(f, b)


def value(f, x):
    """An integer that orders numbers: -0 and +0 alike."""
    m = x & ~f.sign
    return -m if x & f.sign else m


def minmax(f, a, b, largest):
    """V_MIN, V_MAX: the number wins over a NaN, but a signalling one is quieted in IEEE mode; -0 < +0."""
    a, b = canonical(f, a), canonical(f, b)
    if mode.ieee and is_snan(f, a):
        return a | f.quiet
    if mode.ieee and is_snan(f, b):
        return b | f.quiet
    if is_nan(f, a):
        return b
    if is_nan(f, b):
        return a
    if is_zero(f, a) and is_zero(f, b):
        return a & b if largest else a | b
    return a if (value(f, a) > value(f, b)) == largest else b


def ldexp(f, x, n):
    x = source(f, x)
    if is_nan(f, x):
        return nan_of(f, x)
    if is_inf(f, x) or is_zero(f, x):
        return x
    s, m, e = unpack(f, x)
    return pack(f, bool(s), m, e + max(-20000, min(20000, n)))


def from_float(f, v):
    """A Python float, rounded to the format."""
    import struct
    x = struct.unpack('<Q', struct.pack('<d', v))[0]
    saved = mode.word
    mode.word = DEFAULT
    x = x if f is F64 else convert(f, F64, x)
    mode.word = saved
    return x


def to_float(f, x):
    import struct
    saved = mode.word
    mode.word = DEFAULT
    x = x if f is F64 else convert(F64, f, x)
    mode.word = saved
    return struct.unpack('<d', struct.pack('<Q', x))[0]
