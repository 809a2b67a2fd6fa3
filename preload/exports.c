/* SPDX-License-Identifier: MIT */
/*
 * The exported hsa_* functions: one jump through one slot each.
 *
 * A slot starts at a stub that resolves all slots at the first call, when the
 * runtime is sure to be loaded. Then it holds our hook, or, with nobody to
 * wrap anything for, the runtime's own function.
 */
#include "slots.h"

#define HOOK(table, name) \
	extern char kr_lazy_##name[]; \
	void *kr_slot_##name = kr_lazy_##name; \
	__asm__(".text\n" \
		".globl " #name "\n" \
		".type " #name ", @function\n" \
		#name ":\n" \
		"	endbr64\n" \
		"	jmp *kr_slot_" #name "(%rip)\n" \
		".size " #name ", . - " #name "\n" \
		".hidden kr_lazy_" #name "\n" \
		".globl kr_lazy_" #name "\n" \
		"kr_lazy_" #name ":\n" \
		"	endbr64\n" \
		"	leaq kr_slot_" #name "(%rip), %rax\n" \
		"	jmp kr_lazy_common\n");
#define NEED(table, name)
#define NEWER(table, name) HOOK(table, name)
#include "core/hooks.def"
#undef HOOK
#undef NEED
#undef NEWER

/* The arguments, all integers and pointers, are kept over the call; a few of
 * the functions take more than six, those are on the stack above us. */
__asm__(".text\n"
	"kr_lazy_common:\n"
	"	pushq %rdi\n"
	"	pushq %rsi\n"
	"	pushq %rdx\n"
	"	pushq %rcx\n"
	"	pushq %r8\n"
	"	pushq %r9\n"
	"	pushq %rax\n" /* seven pushes and the return address: 16-byte aligned */
	"	call kr_slots_resolve\n"
	"	popq %rax\n"
	"	popq %r9\n"
	"	popq %r8\n"
	"	popq %rcx\n"
	"	popq %rdx\n"
	"	popq %rsi\n"
	"	popq %rdi\n"
	"	jmp *(%rax)\n");
