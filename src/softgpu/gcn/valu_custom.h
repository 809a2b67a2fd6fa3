/* SPDX-License-Identifier: MIT */
/* Part of valu.c: rows that are not one function of each lane. */

#define FN(name) static const struct gcn_inst *x_##name(const struct gcn_inst *i, struct gcn_wave *w)

static uint32_t scalar_of(const struct gcn_opnd *o, const struct gcn_wave *w)
{
	return o->kind == OP_SGPR ? w->s[o->idx] : (uint32_t)o->val;
}

FN(v_nop)
{
	(void)w;
	return i + 1;
}

/* The lane is 0 when EXEC is empty. */
FN(v_readfirstlane_b32)
{
	uint64_t ex = EXEC(w);
	unsigned int lane = ex ? (unsigned int)__builtin_ctzll(ex) : 0;

	w->s[i->dst & 127] = i->s[0].kind == OP_VGPR ? w->v[i->s[0].idx][lane] : scalar_of(&i->s[0], w);
	return i + 1;
}

FN(v_readlane_b32)
{
	unsigned int lane = scalar_of(&i->s[1], w) & 63;

	w->s[i->dst & 127] = i->s[0].kind == OP_VGPR ? w->v[i->s[0].idx][lane] : scalar_of(&i->s[0], w);
	return i + 1;
}

FN(v_writelane_b32)
{
	w->v[i->dst][scalar_of(&i->s[1], w) & 63] = scalar_of(&i->s[0], w);
	return i + 1;
}

FN(v_swap_b32)
{
	uint64_t ex = EXEC(w);
	uint32_t *a = w->v[i->dst], *b = w->v[i->s[0].idx];

	for (int l = 0; l < LANES; l++)
		if (ex >> l & 1) {
			uint32_t t = a[l];

			a[l] = b[l];
			b[l] = t;
		}
	return i + 1;
}

FN(v_accvgpr_read_b32)
{
	blend(w->v[i->dst], w->v[ACC_BASE + i->s[0].idx], EXEC(w), 1);
	return i + 1;
}

FN(v_accvgpr_write_b32)
{
	blend(w->v[ACC_BASE + i->dst], get(&i->s[0], w, w->t[0]), EXEC(w), 1);
	return i + 1;
}

FN(v_accvgpr_mov_b32)
{
	blend(w->v[ACC_BASE + i->dst], w->v[ACC_BASE + i->s[0].idx], EXEC(w), 1);
	return i + 1;
}
