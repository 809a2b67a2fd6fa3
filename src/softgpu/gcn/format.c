/* SPDX-License-Identifier: MIT */
/* Typed buffers: elements in memory to and from registers (ISA "Buffer Data", DFMT and NFMT of MTBUF). */
#include <math.h>

#include "mem.h"

enum { UNORM, SNORM, USCALED, SSCALED, UINT, SINT, FLOAT = 7 };

/* Widths of the fields, the first in the lowest bits. None crosses a word. */
static const uint8_t fields[16][4] = {
	[1] = { 8 }, [2] = { 16 }, [3] = { 8, 8 }, [4] = { 32 }, [5] = { 16, 16 }, [6] = { 11, 11, 10 },
	[7] = { 10, 11, 11 }, [8] = { 2, 10, 10, 10 }, [9] = { 10, 10, 10, 2 }, [10] = { 8, 8, 8, 8 },
	[11] = { 32, 32 }, [12] = { 16, 16, 16, 16 }, [13] = { 32, 32, 32 }, [14] = { 32, 32, 32, 32 },
};

bool gcn_format_get(struct gcn_format *f, unsigned int dfmt, unsigned int nfmt)
{
	unsigned int bits = 0;

	f->bits = fields[dfmt];
	f->nfmt = (uint8_t)nfmt;
	for (int k = 0; k < 4; k++)
		bits += f->bits[k];
	f->bytes = bits / 8;
	if (dfmt == 0) /* an unbound buffer: reads 0, drops writes */
		return true;
	if (!bits || nfmt == 6 || (nfmt == FLOAT && (f->bits[0] == 8 || f->bits[1] == 10 || f->bits[0] == 2)))
		return false;
	return f->bits[0] != 32 || nfmt >= UINT;
}

/* A float of five bits of exponent and m of mantissa, from a number that is not negative; nearest even. */
static uint32_t small_float(double v, int m)
{
	uint32_t r;
	int e;

	if (v != v)
		return 31u << m | 1u << (m - 1);
	if (v == 0)
		return 0;
	if (v >= 0x1p17)
		return 31u << m;
	frexp(v, &e);
	e = e - 1 < -14 ? -14 : e - 1;
	r = ((uint32_t)(e + 14) << m) + (uint32_t)nearbyint(ldexp(v, m - e));
	return r > 31u << m ? 31u << m : r;
}

static double float_of(uint32_t raw, unsigned int bits)
{
	uint32_t h = bits == 11 ? raw << 4 : bits == 10 ? raw << 5 : raw, e = h >> 10 & 31, m = h & 0x3ff;
	double v;
	float f;

	if (bits == 32) {
		memcpy(&f, &raw, 4);
		return f;
	}
	v = e == 31 ? (m ? (double)NAN : (double)INFINITY) : ldexp(e ? m | 0x400 : m, (e ? (int)e : 1) - 25);
	return bits == 16 && raw >> 15 ? -v : v;
}

static int32_t extended(uint32_t raw, unsigned int bits)
{
	return (int32_t)(raw << (32 - bits)) >> (32 - bits);
}

static uint32_t single_bits(double v)
{
	float f = (float)v;
	uint32_t u;

	memcpy(&u, &f, 4);
	return u;
}

static uint32_t half_bits(double v)
{
	return signbit(v) ? 0x8000 | small_float(-v, 10) : small_float(v, 10);
}

/* A field as a register holds it: an integer, or a float of 32 or 16 bits. */
static uint32_t to_register(uint32_t raw, unsigned int bits, unsigned int nfmt, bool d16)
{
	double v, top = (double)((1u << (bits - 1)) - 1);

	switch (nfmt) {
	case UINT: return raw;
	case SINT: return (uint32_t)extended(raw, bits);
	case UNORM: v = raw / (2 * top + 1); break;
	case SNORM: v = fmax(extended(raw, bits) / top, -1.0); break;
	case USCALED: v = raw; break;
	case SSCALED: v = extended(raw, bits); break;
	default:
		if (bits == (d16 ? 16 : 32))
			return raw;
		v = float_of(raw, bits);
	}
	return d16 ? half_bits(v) : single_bits(v);
}

static uint32_t rounded(double v, double low, double high)
{
	return v != v ? 0 : (uint32_t)(int64_t)nearbyint(v < low ? low : v > high ? high : v);
}

/* Values outside the range of a field become the nearest in it. */
static uint32_t from_register(uint32_t reg, unsigned int bits, unsigned int nfmt, bool d16)
{
	double top = (double)((1u << (bits - 1)) - 1), all = 2 * top + 1, v = float_of(reg & (d16 ? 0xffff : ~0u), d16 ? 16 : 32);
	int32_t i = d16 ? (int16_t)reg : (int32_t)reg;

	switch (nfmt) {
	case UINT:
		reg = d16 ? reg & 0xffff : reg;
		return reg > all ? (uint32_t)all : reg;
	case SINT: return (uint32_t)(i > top ? (int32_t)top : i < -top - 1 ? (int32_t)(-top - 1) : i);
	case UNORM: return rounded(v * all, 0, all);
	case SNORM: return rounded(v * top, -top, top);
	case USCALED: return rounded(v, 0, all);
	case SSCALED: return rounded(v, -top - 1, top);
	default:
		if (bits == (d16 ? 16 : 32))
			return reg;
		if (bits == 32)
			return single_bits(v);
		return bits == 16 ? half_bits(v) : small_float(v < 0 ? 0 : v, bits == 11 ? 6 : 5);
	}
}

/* What a component of the instruction stands for: 0, 1, or field SEL - 4. */
static unsigned int selected(const struct gcn_format *f, unsigned int component)
{
	return f->sel >> 3 * component & 7;
}

void gcn_format_load(uint32_t (*out)[LANES], const struct access *x, const struct gcn_format *f, unsigned int components,
                     unsigned int d16, uint64_t lanes)
{
	for (int l = 0; l < LANES; l++) {
		uint32_t raw[4] = { 0 }, field[4] = { 0 };

		if (!(lanes >> l & 1))
			continue;
		for (unsigned int k = 0; k < f->bytes; k += 4)
			gcn_read(x, l, k, &raw[k / 4], f->bytes - k < 4 ? f->bytes - k : 4);
		for (unsigned int k = 0, at = 0; k < 4 && f->bits[k] && x->p[l]; at += f->bits[k++])
			field[k] = to_register(raw[at / 32] >> at % 32 & (0xffffffffu >> (32 - f->bits[k])), f->bits[k], f->nfmt, d16);
		for (unsigned int c = 0; c < components; c++) {
			unsigned int sel = selected(f, c);
			uint32_t one = f->nfmt == UINT || f->nfmt == SINT ? 1 : d16 ? 0x3c00 : 0x3f800000;
			uint32_t v = sel >= 4 ? field[sel - 4] : sel == 1 ? one : 0, *r = &out[d16 ? c / 2 : c][l];

			if (!d16)
				*r = v;
			else if (d16 == 2 || c & 1)
				*r = (*r & 0xffff) | v << 16;
			else if (components > c + 1)
				*r = v & 0xffff; /* the other half follows */
			else
				*r = components == 1 ? (*r & 0xffff0000) | (v & 0xffff) : v & 0xffff;
		}
	}
}

void gcn_format_store(uint32_t (*in)[LANES], const struct access *x, const struct gcn_format *f, unsigned int components,
                      unsigned int d16, uint64_t lanes)
{
	for (int l = 0; l < LANES; l++) {
		uint32_t raw[4] = { 0 };

		if (!(lanes >> l & 1))
			continue;
		for (unsigned int k = 0, at = 0; k < 4 && f->bits[k]; at += f->bits[k++])
			for (unsigned int c = 0; c < components; c++)
				if (selected(f, c) == k + 4) {
					uint32_t r = !d16 ? in[c][l] : d16 == 2 || c & 1 ? in[c / 2][l] >> 16 : in[c / 2][l];

					raw[at / 32] |= (from_register(r, f->bits[k], f->nfmt, d16) & (0xffffffffu >> (32 - f->bits[k]))) << at % 32;
					break;
				}
		for (unsigned int k = 0; k < f->bytes; k += 4)
			gcn_write(x, l, k, &raw[k / 4], f->bytes - k < 4 ? f->bytes - k : 4);
	}
}
