/* SPDX-License-Identifier: MIT */
#ifndef KR_DEMANGLE_H
#define KR_DEMANGLE_H

/* The name for people of an Itanium-mangled symbol, or a copy of it as it is.
 * The runtime is C++, so its libstdc++ (or libc++abi) is in the process: its
 * __cxa_demangle is borrowed rather than linked. The caller frees. */
char *kr_demangle(const char *mangled);

#endif
