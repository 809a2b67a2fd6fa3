/* SPDX-License-Identifier: MIT */
#include "layout.c"
