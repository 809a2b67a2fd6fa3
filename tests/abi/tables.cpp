/* SPDX-License-Identifier: MIT */
// The C mirror of the runtime's API tables against the real header, slot by slot. The header is C++ and, as a
// distribution installs it, finds its neighbours only when it takes itself for a part of the runtime's build.
#define AMD_INTERNAL_BUILD
#include <cstddef>

#include <hsa/hsa_api_trace.h>

extern "C" {
#include "core/table.h"
}

namespace {

constexpr unsigned since[] = {
#define SLOT(name, since) since,
#include "core/amd_table.def"
#undef SLOT
};

constexpr unsigned slots = (sizeof(AmdExtTable) - sizeof(ApiTableVersion)) / sizeof(void *);

constexpr unsigned
index_of(unsigned slot)
{
	unsigned index = 0;

	for (unsigned i = 0; i < slot; i++)
		index += since[i] <= slots;
	return index;
}

#define SLOT(name, since) \
	static_assert(offsetof(CoreApiTable, name##_fn) == 16 + 8 * KR_core_##name, #name " is elsewhere");
#include "core/core_table.def"
#undef SLOT
static_assert(sizeof(CoreApiTable) == 16 + 8 * KR_CORE_SLOTS, "the core table has another size");

// Rows of newer runtimes have no member here to be compared with.
#define CHECK_0(name) \
	static_assert(offsetof(AmdExtTable, name##_fn) == 16 + 8 * index_of(KR_amd_##name), #name " is elsewhere");
#define CHECK_51(name)
#define CHECK_55(name)
#define CHECK_67(name)
#define CHECK_68(name)
#define CHECK_70(name)
#define CHECK_71(name)
#define CHECK_72(name)
#define CHECK_73(name)
#define CHECK_74(name)
#define CHECK_75(name)
#define CHECK_76(name)
#define CHECK_77(name)
#define CHECK_78(name)
#define CHECK_79(name)
#define CHECK_80(name)
#define CHECK_81(name)
#define CHECK_82(name)
#define SLOT(name, since) CHECK_##since(name)
#include "core/amd_table.def"
#undef SLOT

static_assert(offsetof(HsaApiTable, core_) == offsetof(kr_root_table, core), "the root table differs");
static_assert(offsetof(HsaApiTable, amd_ext_) == offsetof(kr_root_table, amd), "the root table differs");
static_assert(sizeof(ApiTableVersion) == sizeof(kr_table_version), "the version differs");

} // namespace

int
main()
{
	return 0;
}
