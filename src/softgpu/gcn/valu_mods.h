/* SPDX-License-Identifier: MIT */
/* Part of valu.c: instructions with modifiers (VOP3, SDWA, DPP) and packed ones. */

static uint32_t sign_of(unsigned int type)
{
	return type == T_F16 ? 0x8000 : type == T_F32 || type == T_F64 ? 0x80000000 : 0;
}

static bool is_half(unsigned int type)
{
	return type == T_F16 || type == T_U16 || type == T_I16;
}

/* Source lane of each lane under a DPP control, -1: none (ISA "DPP_CTRL"). */
static int dpp_source(unsigned int ctrl, int l)
{
	int row = l & ~15, n = ctrl & 15;

	if (ctrl < 0x100) /* quad_perm */
		return (l & ~3) | (int)(ctrl >> 2 * (l & 3) & 3);
	if (ctrl < 0x110) /* row_shl */
		return (l & 15) + n < 16 ? l + n : -1;
	if (ctrl < 0x120) /* row_shr */
		return (l & 15) >= n ? l - n : -1;
	if (ctrl < 0x130) /* row_ror */
		return row | ((l - n) & 15);
	switch (ctrl) {
	case 0x130: return l < 63 ? l + 1 : -1;  /* wave_shl:1 */
	case 0x134: return (l + 1) & 63;         /* wave_rol:1 */
	case 0x138: return l - 1;                /* wave_shr:1 */
	case 0x13c: return (l - 1) & 63;         /* wave_ror:1 */
	case 0x140: return row | (15 - (l & 15)); /* row_mirror */
	case 0x141: return (l & ~7) | (7 - (l & 7)); /* row_half_mirror */
	case 0x142: return row ? row - 1 : -1;   /* row_bcast:15, row 0 has no source */
	case 0x143: return l >= 32 ? 31 : -1;    /* row_bcast:31 */
	default: return row | n;                 /* row_newbcast */
	}
}

/* Returns the lanes that write. */
static uint64_t dpp(const struct gcn_inst *i, const struct gcn_wave *w, uint32_t *t,
                    const uint32_t *p, unsigned int rows)
{
	uint64_t ex = EXEC(w), wr = 0;

	for (int l = 0; l < LANES; l++) {
		int s = dpp_source(i->dpp_ctrl, l);
		bool valid = s >= 0 && (ex >> s & 1);

		for (unsigned int r = 0; r < rows; r++)
			t[l + r * LANES] = valid ? p[s + (int)(r * LANES)] : 0;
		if ((valid || i->bound_ctrl) && (i->row_mask >> (l >> 4) & 1) &&
		    (i->bank_mask >> (l >> 2 & 3) & 1))
			wr |= (uint64_t)1 << l;
	}
	return wr & ex;
}

static void sdwa_source(uint32_t *t, const uint32_t *p, unsigned int sel, bool sext)
{
	unsigned int sh = sel < 4 ? 8 * sel : sel < 6 ? 16 * (sel - 4) : 0;
	unsigned int bits = sel < 4 ? 8 : sel < 6 ? 16 : 32;

	for (int l = 0; l < LANES; l++) {
		uint32_t v = p[l] >> sh << (32 - bits);

		t[l] = sext ? (uint32_t)((int32_t)v >> (32 - bits)) : v >> (32 - bits);
	}
}

/* Fetches source n and applies what the form says. */
static const uint32_t *modified(const struct gcn_inst *i, struct gcn_wave *w, int n, uint64_t *wr)
{
	const struct gcn_opnd *o = &i->s[n];
	uint32_t *t = w->t[n];
	const uint32_t *p = get(o, w, t);
	uint32_t sign = sign_of(o->type), shift;
	unsigned int rows = is_wide(o->type) ? 2 : 1;

	if (!p)
		return NULL;
	if (n == 0 && i->form == FORM_DPP) {
		*wr = dpp(i, w, t, p, rows);
		p = t;
	}
	if (n < 2 && i->form == FORM_SDWA && (i->sel[n] != 6 || (i->sext >> n & 1))) {
		sdwa_source(t, p, i->sel[n], i->sext >> n & 1);
		p = t;
	}
	shift = i->form == FORM_VOP3 && is_half(o->type) && (i->opsel >> n & 1) ? 16 : 0;
	if (!shift && !((i->neg | i->abs) >> n & 1))
		return p;
	for (int l = 0; l < LANES; l++) {
		uint32_t v = p[l + (rows == 2 ? LANES : 0)] >> shift;

		if (rows == 2)
			t[l] = p[l];
		if (i->abs >> n & 1)
			v &= ~sign;
		if (i->neg >> n & 1)
			v ^= sign;
		t[l + (rows == 2 ? LANES : 0)] = v;
	}
	return t;
}

/* OMOD, then CLAMP (NaN gives 0 with DX10_CLAMP). */
static void output_mods(const struct gcn_inst *i, struct gcn_wave *w, uint32_t *t)
{
	static const float factor[4] = { 1, 2, 4, 0.5f };
	bool dx10 = w->mode >> 8 & 1;

	for (int l = 0; l < LANES; l++) {
		uint64_t u = i->row->d == T_F64 ? t[l] | (uint64_t)t[l + LANES] << 32 : t[l];
		double v = i->row->d == T_F64 ? bitsd(u) : i->row->d == T_F16 ? (double)h2f(t[l]) :
		           (double)bitsf(t[l]);

		if (i->omod && v == v)
			v *= factor[i->omod];
		if (i->clamp)
			v = v != v ? (dx10 ? 0 : v) : v > 1 ? 1 : v > 0 ? v : 0;
		if (v != v)
			continue;
		if (i->row->d == T_F64) {
			u = dbits(v);
			t[l] = (uint32_t)u;
			t[l + LANES] = (uint32_t)(u >> 32);
		} else {
			t[l] = i->row->d == T_F16 ? f2h((float)v) : fbits((float)v);
		}
	}
}

static void sdwa_dest(const struct gcn_inst *i, const uint32_t *old, uint32_t *t)
{
	unsigned int sel = i->sel[2], sh = sel < 4 ? 8 * sel : 16 * (sel - 4);
	uint32_t m = (sel < 4 ? 0xffu : 0xffffu) << sh;

	for (int l = 0; l < LANES; l++) {
		uint32_t v = t[l] << sh & m, rest = 0;

		if (i->dst_unused == 2)
			rest = old[l] & ~m;
		else if (i->dst_unused == 1 && (v & (m ^ m >> 1) & m))
			rest = ~(m | (m - 1)); /* sign extension reaches the upper bits only */
		t[l] = v | rest;
	}
}

static const struct gcn_inst *general(const struct gcn_inst *i, struct gcn_wave *w)
{
	uint64_t wr = EXEC(w);
	uint32_t *t = w->t[3], *k = t + 2 * LANES;
	const struct gcn_row *r = i->row;
	const uint32_t *a = modified(i, w, 0, &wr), *b = modified(i, w, 1, &wr);
	const uint32_t *c = modified(i, w, 2, &wr);

	set_fp(i, w);
	if (r->flags & RF_KIN)
		expand(k, VCC(w));
	i->core(t, k, a, b, c, i, w);
	if (r->flags & RF_KOUT)
		gcn_set64(&w->s[i->sdst], collect(k) & wr);
	if (r->d == T_M) {
		put_mask(i, w, collect(t) & wr);
		return i + 1;
	}
	if (i->omod || (i->clamp && (r->d == T_F32 || r->d == T_F64 || r->d == T_F16)))
		output_mods(i, w, t);
	if (i->form == FORM_SDWA && i->sel[2] != 6) {
		sdwa_dest(i, w->v[i->dst], t);
	} else if (i->form == FORM_VOP3 && is_half(r->d)) {
		const uint32_t *old = w->v[i->dst];

		for (int l = 0; l < LANES; l++)
			t[l] = i->opsel & 8 ? t[l] << 16 | (old[l] & 0xffff) :
			       r->flags & RF_KEEP16 ? (t[l] & 0xffff) | (old[l] & 0xffff0000) : t[l];
	}
	blend(w->v[i->dst], t, wr, i->dwords);
	return i + 1;
}

/* Packed: for NEG_HI see i->abs. */
static const uint32_t *packed_source(const struct gcn_inst *i, struct gcn_wave *w, int n)
{
	const struct gcn_opnd *o = &i->s[n];
	uint32_t *t = w->t[n];
	const uint32_t *p = get(o, w, t);
	unsigned int lo = i->opsel >> n & 1, hi = i->opsel_hi >> n & 1;
	uint32_t nl = i->neg >> n & 1, nh = i->abs >> n & 1;

	if (!p || (o->type != T_PK && o->type != T_PF && !(i->row->flags & RF_MIX)))
		return p;
	if (i->row->flags & RF_MIX) {
		const bool flush_in = !(w->mode >> 6 & 1);

		for (int l = 0; l < LANES; l++) {
			uint32_t h = p[l] >> 16 * lo & 0xffff, v = hi ? fbits(h2f(H_IN(h))) : p[l];

			t[l] = (nh ? v & 0x7fffffff : v) ^ nl << 31;
		}
	} else if (o->type == T_PK) {
		if (!lo && hi && !nl && !nh)
			return p;
		for (int l = 0; l < LANES; l++)
			t[l] = ((p[l] >> 16 * lo & 0xffff) | p[l] >> 16 * hi << 16) ^ (nl << 15 | nh << 31);
	} else if (!lo && hi && !nl && !nh && o->kind != OP_CONST && !(i->row->flags & RF_NOFP)) {
		return p;
	} else {
		/* An inline constant stands in both halves. v_pk_mov_b32: op_sel chooses,
		 * and each source feeds one row of the result. */
		const uint32_t *q = o->kind == OP_CONST ? p : p + LANES;

		if (i->row->flags & RF_NOFP)
			hi = lo;

		for (int l = 0; l < LANES; l++) {
			uint32_t x = (lo ? q[l] : p[l]) ^ nl << 31, y = (hi ? q[l] : p[l]) ^ nh << 31;

			t[l] = x;
			t[l + LANES] = y;
		}
	}
	return t;
}

static void packed_clamp(const struct gcn_inst *i, struct gcn_wave *w, uint32_t *t)
{
	bool dx10 = w->mode >> 8 & 1;

	for (int l = 0; l < LANES * (i->row->d == T_PF ? 2 : 1); l++) {
		float v[2] = { i->row->d == T_PK ? h2f(t[l]) : i->row->d == T_U16 ? h2f(t[l]) : bitsf(t[l]),
		               i->row->d == T_PK ? h2f(t[l] >> 16) : 0 };

		for (int h = 0; h < 2; h++)
			v[h] = v[h] != v[h] ? (dx10 ? 0 : v[h]) : v[h] > 1 ? 1 : v[h] > 0 ? v[h] : 0;
		t[l] = i->row->d == T_PK ? f2h(v[0]) | f2h(v[1]) << 16 :
		       i->row->d == T_U16 ? f2h(v[0]) : fbits(v[0]);
	}
}

static const struct gcn_inst *packed(const struct gcn_inst *i, struct gcn_wave *w)
{
	uint32_t *t = w->t[3], *d = w->v[i->dst];
	const uint32_t *a = packed_source(i, w, 0), *b = packed_source(i, w, 1);
	const uint32_t *c = packed_source(i, w, 2);

	set_fp(i, w);
	if (!i->clamp && i->row->d != T_U16 && EXEC(w) == ALL_LANES) {
		i->core(d, NULL, a, b, c, i, w);
		return i + 1;
	}
	i->core(t, NULL, a, b, c, i, w);
	if (i->clamp && !(i->row->flags & RF_INTPK))
		packed_clamp(i, w, t);
	if (i->row->d == T_U16) /* mixlo, mixhi: one half, the other stays */
		for (int l = 0; l < LANES; l++)
			t[l] = i->row->op & 1 ? (d[l] & 0xffff0000) | (t[l] & 0xffff) :
			       t[l] << 16 | (d[l] & 0xffff);
	blend(d, t, EXEC(w), i->dwords);
	return i + 1;
}
