/* SPDX-License-Identifier: MIT */
#include "grid.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

#define SHORTEST_NAME_COLUMNS 16 /* of a longer name, on a terminal too narrow for the table */
#define GAP 2

size_t kr_text_add_clean(struct kr_text *out, const char *text)
{
	size_t rest = strlen(text), columns = 0;

	for (; rest > 0; columns++) {
		size_t length = kr_utf8_length(text, rest);

		if (length == 0 || (length == 1 && ((unsigned char)*text < ' ' || *text == 0x7f)) ||
		    (length == 2 && (unsigned char)text[0] == 0xc2 && (unsigned char)text[1] < 0xa0)) {
			kr_text_add(out, "?");
			length = length ? length : 1;
		} else {
			kr_text_add_bytes(out, text, length);
		}
		text += length;
		rest -= length;
	}
	return columns;
}

void kr_text_add_coloured(struct kr_text *out, const char *text, enum kr_colour colour, bool on)
{
	static const char *const codes[] = { "", "\033[1m", "\033[2m", "\033[31m", "\033[32m", "\033[33m" };

	if (!on || colour == KR_PLAIN)
		kr_text_add(out, text);
	else
		kr_text_addf(out, "%s%s\033[0m", codes[colour], text);
}

/* The bytes that the first `columns` characters of well-formed text take. */
static size_t bytes_of(const char *text, size_t columns)
{
	size_t at = 0;

	for (; columns > 0 && text[at]; columns--)
		at += kr_utf8_length(text + at, strnlen(text + at, 4));
	return at;
}

static void replace(struct kr_text *text, struct kr_text *by)
{
	kr_text_finish(text);
	*text = *by;
}

/* Where the list of parameters opens in `f(int, g(*)())`; NULL: the name does not end in one. */
static const char *parameters_of(const char *name)
{
	size_t at = strlen(name), depth = 0;

	if (at == 0 || name[at - 1] != ')')
		return NULL;
	while (at-- > 0) {
		depth += name[at] == ')';
		if (name[at] == '(' && --depth == 0)
			return at > 0 ? name + at : NULL;
	}
	return NULL;
}

/* What can go before the name itself has to: the result that every kernel has, and what stands behind in the parameters. */
static size_t shorten_signature(struct kr_text *text, size_t have, size_t columns)
{
	struct kr_text cut = { 0 };
	const char *name = text->data, *parameters;
	size_t head;

	if (strncmp(name, "void ", 5) == 0) {
		name += 5;
		have -= 5;
	}
	parameters = parameters_of(name);
	/* characters in front of the parameters: a byte that goes on with one is none */
	head = 0;
	for (const char *at = name; parameters && at < parameters; at++)
		head += ((unsigned char)*at & 0xc0) != 0x80;
	if (have <= columns || !parameters) {
		kr_text_add(&cut, name);
	} else if (head + 5 <= columns) {
		kr_text_add_bytes(&cut, name, bytes_of(name, columns - 4));
		kr_text_add(&cut, "...)");
		have = columns;
	} else {
		kr_text_add_bytes(&cut, name, (size_t)(parameters - name));
		have = head;
	}
	replace(text, &cut);
	return have;
}

/* Takes the middle out of a long name: the front names the kernel, the end tells template instances apart. */
static size_t shorten(struct kr_text *text, size_t have, size_t columns)
{
	struct kr_text cut = { 0 };
	size_t front, back;

	if (have > columns && !text->failed)
		have = shorten_signature(text, have, columns);
	if (have <= columns || text->failed)
		return have;
	back = (columns - 3) / 2;
	front = columns - 3 - back;
	kr_text_add_bytes(&cut, text->data, bytes_of(text->data, front));
	kr_text_add(&cut, "...");
	kr_text_add(&cut, text->data + bytes_of(text->data, have - back));
	replace(text, &cut);
	return columns;
}

void kr_text_add_shortened(struct kr_text *out, const char *text, size_t columns)
{
	struct kr_text clean = { 0 };
	size_t have = kr_text_add_clean(&clean, text);

	shorten(&clean, have, columns < 8 ? 8 : columns);
	kr_text_add(out, clean.data ? clean.data : "");
	out->failed = out->failed || clean.failed;
	kr_text_finish(&clean);
}

struct kr_grid_row *kr_grid_add(struct kr_grid *grid, const char *name)
{
	struct kr_grid_row *row = kr_report_append((void **)&grid->rows, &grid->row_count, sizeof(*row));

	if (!row)
		return NULL;
	row->name_columns = kr_text_add_clean(&row->name, name);
	for (size_t i = 0; i < grid->figures; i++)
		strcpy(row->figures[i], "-");
	return row;
}

static void add_figure(struct kr_text *out, const char *figure, size_t width, enum kr_colour colour, bool on)
{
	kr_text_addf(out, "%*s", (int)(GAP + width - strlen(figure)), "");
	kr_text_add_coloured(out, figure, colour, on);
}

static void print_heading(struct kr_text *out, const struct kr_grid *grid, size_t name_width, const size_t *widths,
			  const bool *left_out, bool colour)
{
	kr_text_add_coloured(out, grid->name_heading, KR_BOLD, colour);
	kr_text_addf(out, "%*s", (int)(name_width - strlen(grid->name_heading)), "");
	for (size_t i = 0; i < grid->figures; i++)
		if (!left_out[i])
			add_figure(out, grid->headings[i], widths[i], KR_BOLD, colour);
	kr_text_add(out, "\n");
}

void kr_grid_print(struct kr_text *out, struct kr_grid *grid, unsigned width, bool colour)
{
	size_t widths[KR_GRID_MOST_FIGURES], taken = 0, allowed = SIZE_MAX, reserved;
	bool left_out[KR_GRID_MOST_FIGURES] = { false };
	size_t name_width = strlen(grid->name_heading);

	for (size_t i = 0; i < grid->figures; i++) {
		widths[i] = strlen(grid->headings[i]);
		for (size_t j = 0; j < grid->row_count; j++) {
			size_t length = strlen(grid->rows[j].figures[i]);

			widths[i] = length > widths[i] ? length : widths[i];
		}
		taken += GAP + widths[i];
	}
	reserved = name_width;
	for (size_t j = 0; j < grid->row_count; j++)
		reserved = grid->rows[j].name_columns > reserved ? grid->rows[j].name_columns : reserved;
	reserved = reserved < SHORTEST_NAME_COLUMNS ? reserved : SHORTEST_NAME_COLUMNS;
	for (const char *drop = grid->dropped; width > 0 && drop && *drop && width < taken + reserved; drop++) {
		left_out[*drop - '0'] = true;
		taken -= GAP + widths[*drop - '0'];
	}
	if (width > 0)
		allowed = width > taken + reserved ? width - taken : SHORTEST_NAME_COLUMNS;
	for (size_t j = 0; j < grid->row_count; j++) {
		struct kr_grid_row *row = &grid->rows[j];

		row->name_columns = shorten(&row->name, row->name_columns, allowed);
		name_width = row->name_columns > name_width ? row->name_columns : name_width;
	}
	print_heading(out, grid, name_width, widths, left_out, colour);
	for (size_t j = 0; j < grid->row_count; j++) {
		struct kr_grid_row *row = &grid->rows[j];

		kr_text_addf(out, "%s%*s", row->name.data ? row->name.data : "", (int)(name_width - row->name_columns),
			     "");
		for (size_t i = 0; i < grid->figures; i++)
			if (!left_out[i])
				add_figure(out, row->figures[i], widths[i], row->colours[i], colour);
		kr_text_add(out, "\n");
		out->failed = out->failed || row->name.failed;
		kr_text_finish(&row->name);
	}
	free(grid->rows);
	grid->rows = NULL;
	grid->row_count = 0;
}
