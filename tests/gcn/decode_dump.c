/* SPDX-License-Identifier: MIT */
/* Reads lines "isa word0 word1 word2" (isa 0..2, hex words); prints row name and size, or "-". */
#include <stdio.h>
#include <string.h>

#include "inst.h"

int main(void)
{
	unsigned int isa, w[3];

	if (*gcn_table_check()) {
		printf("table: two rows for one opcode: %s\n", gcn_table_check());
		return 1;
	}
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
