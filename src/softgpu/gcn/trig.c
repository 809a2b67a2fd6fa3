/* SPDX-License-Identifier: MIT */
/* V_TRIG_PREOP_F64: 53 bits of 2/pi from a position that the exponent of the argument and the index choose. */
#include "lanes.h"

/* 2/pi, binary fraction, most significant word first. */
static const uint64_t two_over_pi[21] = {
	0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
	0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
	0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
	0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
	0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d,
	0,
};

double gcn_trig_preop(double a, uint32_t b)
{
	int e = (int)(dbits(a) >> 52 & 2047);
	unsigned int shift = (b & 31) * 53 + (e > 1077 ? (unsigned int)(e - 1077) : 0);
	unsigned int word = shift / 64, bit = shift % 64;
	uint64_t v;

	/* Only 1201 bits of the constant exist; what is beyond them is 0. */
	if (shift > 1200)
		return 0;
	v = two_over_pi[word] << bit | (bit ? two_over_pi[word + 1] >> (64 - bit) : 0);
	v >>= 11;
	if (shift + 53 > 1201)
		v &= ~(((uint64_t)1 << (shift + 53 - 1201)) - 1);
	return scalbn((double)(int64_t)v, -53 - (int)shift + (e >= 1968 ? 128 : 0));
}
