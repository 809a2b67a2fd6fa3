/* SPDX-License-Identifier: MIT */
/* A table of text: a name at the left, figures at the right of it, as wide as its terminal allows. */
#ifndef KR_REPORT_GRID_H
#define KR_REPORT_GRID_H

#include <stdbool.h>
#include <stddef.h>

#include "text.h"

#define KR_GRID_MOST_FIGURES 9

enum kr_colour { KR_PLAIN, KR_BOLD, KR_DIM, KR_RED, KR_GREEN, KR_YELLOW };

struct kr_grid_row {
	struct kr_text name;
	size_t name_columns;
	char figures[KR_GRID_MOST_FIGURES][KR_TEXT_NUMBER];
	enum kr_colour colours[KR_GRID_MOST_FIGURES];
};

struct kr_grid {
	const char *name_heading;
	const char *const *headings; /* `figures` of them */
	size_t figures;
	const char *dropped; /* indices of figures that a narrow terminal goes without, the first first; NULL: none */
	struct kr_grid_row *rows;
	size_t row_count;
};

/* A new row with this name and a '-' for each figure; NULL: no memory. */
struct kr_grid_row *kr_grid_add(struct kr_grid *grid, const char *name);
/* Writes the table, its names shortened to fit `width` columns (0: not a terminal), and frees the rows. */
void kr_grid_print(struct kr_text *out, struct kr_grid *grid, unsigned width, bool colour);

/* One line of printable text: what is not becomes '?'. Returns the number of columns. */
size_t kr_text_add_clean(struct kr_text *out, const char *text);
/* Text in a colour, when `on`. */
void kr_text_add_coloured(struct kr_text *out, const char *text, enum kr_colour colour, bool on);
/* The same text, shortened as names in a table are when it has more than `columns`; at least 8. */
void kr_text_add_shortened(struct kr_text *out, const char *text, size_t columns);

#endif
