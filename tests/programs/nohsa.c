/* SPDX-License-Identifier: MIT */
/* nohsa [STATUS]: never uses HSA; prints one line and exits with STATUS. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	puts("nohsa: ok");
	return argc > 1 ? atoi(argv[1]) : 0;
}
