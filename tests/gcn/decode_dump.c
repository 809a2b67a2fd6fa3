/* SPDX-License-Identifier: MIT */
/* With an argument: prints the names of all rows. Else reads lines "isa word0 word1 word2" (isa 0..2, hex words); prints row name and size, or "-". */
#include <stdio.h>
#include <string.h>

#include "inst.h"

int main(int argc, char **argv)
{
	unsigned int isa, w[3];
	const struct gcn_row *r;
	size_t n;

	(void)argv;

	if (*gcn_table_check()) {
		printf("table: two rows for one opcode: %s\n", gcn_table_check());
		return 1;
	}
	for (unsigned int f = 0; argc > 1 && (r = gcn_rows(f, &n)); f++)
		for (; n; n--, r++)
			puts(r->name);
	if (argc > 1)
		return 0;
	while (scanf("%u %x %x %x", &isa, &w[0], &w[1], &w[2]) == 4) {
		uint32_t word[4] = { w[0], w[1], w[2], 0 };
		struct gcn_consts *consts = NULL;
		struct gcn_inst in;
		unsigned int size = gcn_decode(&in, (enum gcn_isa)(isa % 3), 0x1000, word, &consts);

		gcn_consts_free(consts);
		if (in.fn == gcn_illegal)
			puts("- 0");
		else
			printf("%s %u %d\n", in.row->name, size, in.form);
	}
	return 0;
}
