#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random kernels, compiled by the same clang for gfx90a and for the host, must agree bit for bit.

usage: differ.py CLANG RUNNER [--seed N] [--count N] [--batch N] [--from N] [--keep DIR]

The kernels have integers of all widths, f32, f64 and f16 arithmetic, branches,
loops, switches, calls, LDS, private arrays and atomics; see differ.h for how the
host runs them. A batch of kernels is one compilation on each side, its
optimisation level drawn with the rest. Without --seed the clock gives one; it is
printed either way, and --seed with it repeats the run. A kernel that the compiler
works at without end is named, left out and made up for. With --keep, or when
something differs, the sources stay in DIR (else in a directory that is named).
"""
import argparse
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LEVELS = (['-O2'], ['-O0'], ['-O1'], ['-O3'])
DEVICE = ['-x', 'cl', '-cl-std=CL2.0', '--target=amdgcn-amd-amdhsa', '-mcpu=gfx90a', '-nogpulib', '-ffp-contract=off',
          '-cl-fp32-correctly-rounded-divide-sqrt', '-w',
          # clang 15 moves selects out of loops that lanes leave at different times, away from the masks they go by
          '-mllvm', '-disable-machine-sink']
HOST = ['-x', 'c', '-std=gnu17', '-shared', '-fPIC', '-ffp-contract=off', '-w', '-lm']

# Of each type: an expression of a sub-expression's types; %u a u32, %s s32, %l u64, %L s64, %f float, %d double, %h half
FORMS = {
    'u': ['(%u + %u)', '(%u - %u)', '(%u * %u)', '(%u & %u)', '(%u | %u)', '(%u ^ %u)', '(~%u)', '(%u << (%u & 31))',
          '(%u >> (%u & 31))', 'divu(%u, %u)', 'remu(%u, %u)', 'mulhi(%u, %u)', 'clz(%u)', 'ctz(%u)', 'rotl(%u, %u)',
          '(u32)__builtin_popcount(%u)', '(%b ? %u : %u)', '(u32)(%s)', '(u32)(%l)', '(u32)(%l >> (%u & 63))', 'f2u(%f)',
          'd2u(%d)', 'bits32(%f)', 'bits16(%h)', '(u32)(u16)(%u * %u)', '(u32)(u8)(%u + %u)', '(%u >> 7 & 0x3f)',
          '(u32)(s32)(s8)(%u)', '(u32)(s32)(s16)(%u - %u)', '(%u < %u ? %u : %u)', '((%u & 0xffffff) * (%u & 0xffffff))',
          'clzl(%l)', 'ctzl(%l)', '(u32)POP64(%l)', '(u32)(%b)', 'callu(%u, %u)', '(%u * %u + %u)', '(%u << 3 | %u)'],
    's': ['(s32)(%u)', '(s32)((u32)%s + (u32)%s)', '(s32)((u32)%s * (u32)%s)', 'divs(%s, %s)', 'rems(%s, %s)', 'mulhis(%s, %s)',
          '(%s >> (%u & 31))', 'f2s(%f)', 'd2s(%d)', '(%s < %s ? %s : %s)', '(%s > %s ? %s : %s)', '(s32)(s16)(%u)',
          '(s32)(s8)(%u)', '(s32)(%L)', 'h2s(%h)', '((%s << 9 & 0x7fffffff) >> 20)'],
    'l': ['(%l + %l)', '(%l - %l)', 'mull(%l, %l)', '(%l & %l)', '(%l | %l)', '(%l ^ %l)', '(%l << (%u & 63))', '(%l >> (%u & 63))',
          'divl(%l, %l | 1)', 'reml(%l, %l)', '(u64)(%u)', '((u64)%u << 32 | %u)', 'mulw(%u, %u)', '(u64)(%L)', 'bits64(%d)',
          'd2ul(%d)', 'rotll(%l, %u)', '(%b ? %l : %l)', '(%l < %l ? %l : %l)', '(~%l)', '(mulw(%u, %u) + %l)'],
    'L': ['(s64)(%l)', '(s64)(%s)', '((s64)%s * %s)', '(%L >> (%u & 63))', 'divsl(%L, %L)', 'f2l(%f)', 'd2l(%d)',
          '(%L < %L ? %L : %L)', '(s64)((u64)%L + (u64)((s64)%s * %s))'],
    'f': ['(%f + %f)', '(%f - %f)', '(%f * %f)', '(%f / %f)', '(-%f)', '__builtin_fabsf(%f)', '__builtin_fmaf(%f, %f, %f)',
          '__builtin_sqrtf(__builtin_fabsf(%f))', '__builtin_floorf(%f)', '__builtin_ceilf(%f)', '__builtin_truncf(%f)',
          '__builtin_rintf(%f)', '(float)(%s)', '(float)(%u)', '(float)(%l)', '(float)(%L)', '(float)(%d)', '(float)(%h)',
          'minf(%f, %f)', 'maxf(%f, %f)', '(%b ? %f : %f)', 'f32_of(%u)', '(float)(u8)(%u)', 'callf(%f, %f)', '(%f * %f + %f)',
          '(%f * -%f - %f)', '(1.0f / %f)'],
    'd': ['(%d + %d)', '(%d - %d)', '(%d * %d)', '(%d / %d)', '(-%d)', '__builtin_fabs(%d)', '__builtin_fma(%d, %d, %d)',
          '__builtin_sqrt(__builtin_fabs(%d))', '__builtin_floor(%d)', '__builtin_ceil(%d)', '__builtin_trunc(%d)',
          '__builtin_rint(%d)', '(double)(%s)', '(double)(%u)', '(double)(%l)', '(double)(%L)', '(double)(%f)', 'mind(%d, %d)',
          'maxd(%d, %d)', '(%b ? %d : %d)', 'F64_OF(%l)', '(%d * %d - %d)'],
    # one operation at a time: the host keeps single precision within an expression
    'h': ['(half)(%H + %H)', '(half)(%H - %H)', '(half)(%H * %H)', '(half)(%f)', '(half)(-%H)', 'F16_FMA(%H, %H, %H)',
          '(half)(s16)(%u)', 'F16_OF((u16)(%u))'],
    'b': ['(%u < %u)', '(%u == %u)', '(%s < %s)', '(%s >= %s)', '(%l > %l)', '(%L <= %L)', '(%f < %f)', '(%f == %f)', '(%f != %f)',
          '(%f >= %f)', '(%d < %d)', '(%d != %d)', '(%d >= %d)', '(%H < %H)', '(%b && %b)', '(%b || %b)', '(!%b)', '((%u & 1) != 0)',
          '(%l == %l)', '((%u & 0x1f) < 9)', '(%u != %u)'],
}
CTYPE = {'u': 'u32', 's': 's32', 'l': 'u64', 'L': 's64', 'f': 'float', 'd': 'double', 'h': 'half'}
CONSTANTS = {
    'u': ['0u', '1u', '2u', '31u', '0xffu', '0x8000u', '0xffffu', '0x7fffffffu', '0x80000000u', '0xffffffffu', '0x12345678u'],
    's': ['0', '1', '(-1)', '(-16)', '64', '100', '(-0x7fffffff - 1)', '0x7fffffff', '(-32768)'],
    'l': ['0ul', '1ul', '0xfffffffful', '0x100000000ul', '0x8000000000000000ul', '0xfffffffffffffffful', '0x123456789abcdeful'],
    'L': ['(s64)-1', '(s64)0', '(s64)0x7fffffffffffffffl', '(s64)-5000000000l'],
    'f': ['0.0f', '1.0f', '(-1.0f)', '0.5f', '2.0f', '4.0f', '0.1f', '1e30f', '1e-30f', '3.0e-39f', '(-0.0f)', '16777217.0f', '0.15915494f'],
    'd': ['0.0', '1.0', '(-1.0)', '0.5', '(-4.0)', '0.1', '1e300', '1e-300', '5e-310', '(-0.0)', '9007199254740993.0', '0.15915494309189532'],
    'h': ['(half)0.0f', '(half)1.0f', '(half)-2.0f', '(half)0.1f', '(half)1000.0f', '(half)6e-6f'],
    'b': ['(%u & 4u) == 0'],
}


class Kernel:
    def __init__(self, rnd, name):
        self.rnd, self.name, self.out, self.fresh = rnd, name, [], 0
        self.loops = 0

    def expr(self, t, depth):
        r = self.rnd
        if t == 'H':  # a half that is a variable or a constant
            return r.choice(self.vars['h']) if r.random() < 0.8 else r.choice(CONSTANTS['h'])
        if depth <= 0 and t != 'b':
            return r.choice(self.vars[t]) if r.random() < 0.75 else r.choice(CONSTANTS[t])
        form = r.choice(FORMS[t])
        while depth <= 0 and '%b' in form:
            form = r.choice(FORMS[t])
        return self.fill(form, depth - 1)

    def fill(self, form, depth):
        parts = form.split('%')
        text = parts[0]
        for p in parts[1:]:
            text += self.expr(p[0], depth - self.rnd.randrange(2)) + p[1:]
        return text

    def line(self, text):
        self.out.append('\t' * self.indent + text)

    def assign(self):
        t = self.rnd.choice('uuuusllLffffdddhh')
        self.line('%s = %s;' % (self.rnd.choice(self.own[t]), self.expr(t, self.rnd.randrange(1, 4))))

    def block(self, count, depth):
        self.indent += 1
        for _ in range(count):
            self.statement(depth)
        self.indent -= 1

    def statement(self, depth):
        r = self.rnd
        kind = r.random()
        if depth <= 0 or kind < 0.42:
            self.assign()
        elif kind < 0.54:
            self.line('if (%s) {' % self.expr('b', 2))
            self.block(r.randrange(1, 4), depth - 1)
            if r.random() < 0.6:
                self.line('} else {')
                self.block(r.randrange(1, 3), depth - 1)
            self.line('}')
        elif kind < 0.64 and self.loops < 3:
            self.loop(depth)
        elif kind < 0.70:
            self.line('switch (%s & 7) {' % self.expr('u', 1))
            for k in sorted(r.sample(range(8), r.randrange(2, 6))):
                self.line('case %d:' % k)
                self.block(r.randrange(1, 3), depth - 1)
                if r.random() < 0.8:
                    self.line('\tbreak;')
            self.line('default:')
            self.block(1, depth - 1)
            self.line('}')
        elif kind < 0.78:
            self.line('words[%s & 15] = %s;' % (self.expr('u', 1), self.expr('u', 2)))
            self.line('%s ^= words[%s & 15];' % (r.choice(self.own['u']), self.expr('u', 1)))
        elif kind < 0.83:
            self.line('bytes[%s & 31] = (u8)%s;' % (self.expr('u', 1), self.expr('u', 1)))
            self.line('%s += (u32)bytes[%s & 31] << %d;' % (r.choice(self.own['u']), self.expr('u', 1), r.randrange(24)))
        elif kind < 0.87:
            self.line('wide[%s & 3] = %s;' % (self.expr('u', 1), self.expr('d', 1)))
            self.line('%s = %s - wide[%s & 3];' % (r.choice(self.own['d']), self.expr('d', 1), self.expr('u', 1)))
        elif kind < 0.92:
            self.line('%s = %s ^ sh->slot[%d][remu(%s, size)];' % (
                r.choice(self.own['u']), self.expr('u', 1), 1 - self.phase % 2, self.expr('u', 1)))
        elif kind < 0.96:
            wide = r.random() < 0.4
            op = r.choice(('add', 'xor', 'or', 'and', 'min', 'max', 'sub'))
            where = r.choice(('sh->%s' % ('wide' if wide else 'count'), 'total%s' % ('l' if wide else '')))
            # one operation for each place of a kernel, so that they commute
            key = (where,)
            op = self.ops.setdefault(key, op)
            self.line('ATOMIC(%s, &%s[%s & %d], %s);' % (op, where, self.expr('u', 1), 3 if wide else 7, self.expr('lu'[not wide], 2)))
        else:
            self.line('%s = in[remu(gid * %du + %s, n)];' % (r.choice(self.own['u']), r.choice((1, 3, 64)), self.expr('u', 1)))

    def loop(self, depth):
        r = self.rnd
        i = 'i%d' % self.fresh
        self.fresh += 1
        self.loops += 1
        limit = '(%s & %d)' % (self.expr('u', 1), r.choice((3, 7, 15))) if r.random() < 0.7 else str(r.randrange(1, 9))
        self.line('for (u32 %s = 0, end%s = %s; %s < end%s; %s++) {' % (i, i, limit, i, i, i))
        self.vars['u'].append(i)
        self.block(r.randrange(1, 4), depth - 1)
        if r.random() < 0.3:
            self.line('\tif (%s)' % self.expr('b', 1))
            self.line('\t\t%s;' % r.choice(('break', 'continue')))
        self.vars['u'].remove(i)
        self.line('}')
        self.loops -= 1

    def phase_text(self, number):
        r = self.rnd
        self.phase, self.indent = number, 1
        self.own = {'u': ['u0', 'u1', 'u2', 'u3'], 's': ['s0', 's1'], 'l': ['l0', 'l1'], 'L': ['L0'], 'f': ['f0', 'f1', 'f2'],
                    'd': ['d0', 'd1', 'd2'], 'h': ['h0', 'h1']}
        self.vars = {k: list(v) for k, v in self.own.items()}
        self.vars['u'] += ['gid', 'lid']
        self.line('u32 u0 = s->u[0], u1 = s->u[1], u2 = s->u[2], u3 = s->u[3];')
        self.line('u64 l0 = s->l[0], l1 = s->l[1];')
        self.line('s32 s0 = (s32)u2 >> 3, s1 = (s32)(u3 * 7);')
        self.line('s64 L0 = (s64)l1 >> 5;')
        self.line('float f0 = s->f[0], f1 = s->f[1], f2 = s->f[2];')
        self.line('double d0 = s->d[0], d1 = s->d[1], d2 = s->d[2];')
        self.line('half h0 = s->h[0], h1 = s->h[1];')
        self.line('u32 words[16];')
        self.line('u8 bytes[32];')
        self.line('double wide[4] = { d0, d1, d2, 0.25 };')
        self.line('for (u32 k = 0; k < 16; k++)')
        self.line('\twords[k] = u0 * k + u1;')
        self.line('for (u32 k = 0; k < 32; k++)')
        self.line('\tbytes[k] = (u8)(l0 >> k);')
        for _ in range(r.randrange(4, 11)):
            self.statement(3)
        self.line('s->u[0] = u0; s->u[1] = u1; s->u[2] = u2 ^ (u32)s0; s->u[3] = u3 + (u32)s1;')
        self.line('s->l[0] = l0; s->l[1] = l1 ^ (u64)L0;')
        self.line('s->f[0] = f0; s->f[1] = f1; s->f[2] = f2;')
        self.line('s->d[0] = d0; s->d[1] = d1; s->d[2] = d2;')
        self.line('s->h[0] = h0; s->h[1] = h1;')
        self.line('s->hash = mix(mix(mix(mix(s->hash, u0 ^ (u64)u1 << 32), l0), bits32(f0) ^ (u64)bits32(f1) << 32), bits64(d0));')
        self.line('s->hash = mix(mix(mix(s->hash, bits64(d1) ^ l1), bits16(h0) ^ (u64)bits32(f2) << 32 ^ u2), words[u3 & 15] ^ bytes[u0 & 31]);')
        self.line('sh->slot[%d][lid] = u0 ^ (u32)s->hash;' % (number % 2))

    def text(self):
        phases = self.rnd.randrange(1, 4)
        self.ops = {}
        text = []
        for p in range(phases):
            self.out = []
            self.phase_text(p)
            text.append('INLINE void %s_%d(struct state *s, LOCAL struct shared *sh, GLOBAL const u32 *in, GLOBAL u32 *total, '
                        'GLOBAL u64 *totall, u32 n, u32 gid, u32 lid, u32 size)\n{\n%s\n}\n' % (self.name, p, '\n'.join(self.out)))
        calls = ''.join('\tBARRIER\n\tEACH %s_%d(STATE, SHARED, in, total, totall, n, GID, LID, size);\n' % (self.name, p)
                        for p in range(phases))
        text.append('KERNEL(%s,\n%s)\n' % (self.name, calls))
        return '\n'.join(text)


FRAME = r'''
#include "differ.h"

/* Calls that stay calls, one of them recursive. */
static NOINLINE u32 callu(u32 a, u32 b)
{
	u32 r = a;

	for (u32 k = 0; k < (b & 7); k++)
		r = rotl(r, k + 3) * 0x85ebca6bu ^ b;
	return (r & 3) == 3 && b > 100 ? callu(r >> 2, b >> 4) + 1 : r;
}

static NOINLINE float callf(float a, float b)
{
	return a < b ? a * 0.75f + b : b - a * 0.25f;
}

INLINE void begin(struct state *s, GLOBAL const u32 *in, u32 n, u32 gid)
{
	u32 a = in[gid], b = in[remu(gid * 7 + 1, n)], c = in[remu(gid ^ 5, n)];

	s->u[0] = a; s->u[1] = b; s->u[2] = c; s->u[3] = gid;
	s->l[0] = (u64)a << 32 | b; s->l[1] = (u64)c * a;
	/* as they are, and of a size to do arithmetic with */
	s->f[0] = F32_OF(a); s->f[1] = (float)(s32)b * 0x1p-20f; s->f[2] = F32_OF((c & 0x7fffff) | 0x3f800000);
	s->d[0] = F64_OF(s->l[0]); s->d[1] = (double)(s32)a * 0x1p-16; s->d[2] = F64_OF((s->l[1] & 0xffffffffffffful) | 0x3ff0000000000000ul);
	s->h[0] = F16_OF((u16)a); s->h[1] = (half)((float)(s32)(c & 0xfff) * 0.0625f);
	s->hash = 1;
}

#ifdef __OPENCL_C_VERSION__
#define BARRIER __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); \
	__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
#define EACH
#define STATE &st
#define SHARED &sh
#define GID gid
#define LID lid
#define KERNEL(name, phases) \
kernel void name(global u64 *out, global const u32 *in, global u32 *total, global u64 *totall, u32 n) \
{ \
	local struct shared sh; \
	u32 lid = __builtin_amdgcn_workitem_id_x(), base = __builtin_amdgcn_workgroup_id_x() * GROUP, gid = base + lid; \
	u32 size = n - base < GROUP ? n - base : GROUP; \
	struct state st; \
	\
	begin(&st, in, n, gid); \
	sh.slot[0][lid] = sh.slot[1][lid] = st.u[0]; \
	if (lid < 8) sh.count[lid] = 5; \
	if (lid < 4) sh.wide[lid] = 9; \
	phases \
	BARRIER \
	out[gid] = st.hash ^ sh.count[lid & 7] ^ sh.wide[lid & 3]; \
}
#else
#define BARRIER
#define EACH for (u32 lid = 0; lid < size; lid++)
#define STATE &st[lid]
#define SHARED &sh
#define GID base + lid
#define LID lid
#define KERNEL(name, phases) \
__attribute__((visibility("default"))) void name(u64 *out, const u32 *in, u32 *total, u64 *totall, u32 n) \
{ \
	static struct state st[GROUP]; \
	static struct shared sh; \
	\
	for (u32 base = 0; base < n; base += GROUP) { \
		u32 size = n - base < GROUP ? n - base : GROUP; \
		\
		for (u32 lid = 0; lid < size; lid++) { \
			begin(&st[lid], in, n, base + lid); \
			sh.slot[0][lid] = sh.slot[1][lid] = st[lid].u[0]; \
		} \
		for (u32 k = 0; k < 8; k++) sh.count[k] = 5; \
		for (u32 k = 0; k < 4; k++) sh.wide[k] = 9; \
		phases \
		for (u32 lid = 0; lid < size; lid++) \
			out[base + lid] = st[lid].hash ^ sh.count[lid & 7] ^ sh.wide[lid & 3]; \
	} \
}
#endif
'''


def limit(kernels):
    """The compiler has been seen not to end. Its own time counts, not that of a busy machine."""
    seconds = 8 + len(kernels)  # it takes a few for 25
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def compiled(args, work, number, level, kernels):
    """Both objects of these kernels, or None when the compiler did not end; an error of it is one of ours."""
    source = os.path.join(work, 'batch%d.c' % number)
    with open(source, 'w') as f:
        f.write('\n'.join([FRAME] + [text for _, text in kernels]))
    code, shared = source[:-2] + '.co', source[:-2] + '.so'
    # -cc1 in the same process, so that the limit's signal is seen as what it is
    commands = ([*DEVICE, *level, '-o', code], [*HOST, '-O1', '-o', shared])
    jobs = [subprocess.Popen([args.clang, '-fintegrated-cc1', *c, '-I', HERE, source], preexec_fn=lambda: limit(kernels),
                             stderr=subprocess.PIPE, text=True) for c in commands]
    outputs = [j.communicate()[1] for j in jobs]
    if not any(j.returncode for j in jobs):
        return code, shared
    # killed, or it says of the process that it ran it in
    slow = all(not j.returncode or j.returncode < 0 or 'due to signal' in o or 'CPU time limit' in o
               for j, o in zip(jobs, outputs))
    if not slow:
        sys.exit('\n'.join(outputs))
    return None


def batch(args, work, number, level, kernels):
    """How many of the kernels were run and how many runs were not good; what the compiler cannot do is left out."""
    objects = compiled(args, work, number, level, kernels)
    if objects:
        return len(kernels), subprocess.run([args.runner, *objects, *[name for name, _ in kernels]]).returncode != 0
    if len(kernels) == 1:
        print('%s %s: left out, the compiler does not end' % (kernels[0][0], level[0]), flush=True)
        return 0, 0
    half = len(kernels) // 2
    parts = [batch(args, work, number, level, part) for part in (kernels[:half], kernels[half:])]
    return sum(p[0] for p in parts), sum(p[1] for p in parts)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('clang')
    p.add_argument('runner')
    p.add_argument('--seed', type=int)
    p.add_argument('--count', type=int, default=100)
    p.add_argument('--batch', type=int, default=25)
    p.add_argument('--from', type=int, default=0, dest='first', help='the first batch')
    p.add_argument('--keep')
    args = p.parse_args()
    seed = args.seed if args.seed is not None else int(time.time())
    print('seed %d' % seed, flush=True)
    work = args.keep or tempfile.mkdtemp(prefix='differ-')
    os.makedirs(work, exist_ok=True)
    bad = done = tried = 0
    number = args.first
    while done < args.count:
        count = min(args.batch, args.count - done)
        rnd = random.Random('%d/%d' % (seed, number))
        names = ['k%d_%d' % (number, k) for k in range(count)]
        ran, wrong = batch(args, work, number, LEVELS[number % len(LEVELS)], [(n, Kernel(rnd, n).text()) for n in names])
        done, bad, tried, number = done + ran, bad + wrong, tried + count, number + 1
        if tried - done > 5 + args.count // 50:
            sys.exit('%d of %d kernels left out: too many' % (tried - done, tried))
        if not bad and not args.keep:
            for name in os.listdir(work):
                os.remove(os.path.join(work, name))
    print('%d kernels, seed %d, %d left out: %s' % (done, seed, tried - done, 'sources in ' + work if bad else 'all agree'))
    if not bad and not args.keep:
        shutil.rmtree(work)
    sys.exit(bad != 0)


if __name__ == '__main__':
    main()
