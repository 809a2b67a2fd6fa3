/* SPDX-License-Identifier: MIT */
/* Executables, their symbols, and the loader extension. */
#include "stand_in_internal.h"

#include <string.h>

#include <hsa/hsa_ven_amd_loader.h>

static hsa_status_t
load_agent_code(hsa_executable_t e, hsa_agent_t agent, hsa_code_object_reader_t r, const char *options,
                hsa_loaded_code_object_t *loaded)
{
	return stand_in_fails(&stand_in.load_code) ? HSA_STATUS_ERROR_OUT_OF_RESOURCES : HSA_STATUS_SUCCESS;
}

static hsa_status_t
load_program_code(hsa_executable_t e, hsa_code_object_reader_t r, const char *options,
                  hsa_loaded_code_object_t *loaded)
{
	return stand_in_fails(&stand_in.load_code) ? HSA_STATUS_ERROR_OUT_OF_RESOURCES : HSA_STATUS_SUCCESS;
}

static hsa_status_t
load_code(hsa_executable_t e, hsa_agent_t agent, hsa_code_object_t object, const char *options)
{
	return stand_in_fails(&stand_in.load_code) ? HSA_STATUS_ERROR_OUT_OF_RESOURCES : HSA_STATUS_SUCCESS;
}

static hsa_status_t
freeze(hsa_executable_t e, const char *options)
{
	return stand_in_fails(&stand_in.freeze) ? HSA_STATUS_ERROR : HSA_STATUS_SUCCESS;
}

/* Executables that were made; tests use handles that were not, below this. */
#define FIRST_EXECUTABLE 100000u

static hsa_status_t
create_executable(hsa_profile_t profile, hsa_default_float_rounding_mode_t rounding, const char *options,
                  hsa_executable_t *e)
{
	static uint64_t last = FIRST_EXECUTABLE;

	if (stand_in_fails(&stand_in.executable_create))
		return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
	e->handle = ++last;
	stand_in.live_executables++;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
create_reader(const void *image, size_t size, hsa_code_object_reader_t *reader)
{
	if (stand_in_fails(&stand_in.reader_create))
		return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
	reader->handle = (uint64_t)(uintptr_t)image;
	stand_in.live_readers++;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
destroy_reader(hsa_code_object_reader_t reader)
{
	stand_in.live_readers--;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
destroy_executable(hsa_executable_t e)
{
	stand_in.live_executables -= e.handle > FIRST_EXECUTABLE;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
iterate_symbols(hsa_executable_t e, hsa_agent_t agent,
                hsa_status_t (*visit)(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t, void *), void *data)
{
	for (unsigned i = 0; i < stand_in.symbols; i++)
		visit(e, agent, (hsa_executable_symbol_t){i + 1}, data);
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
symbol_by_name(hsa_executable_t e, const char *name, const hsa_agent_t *agent, hsa_executable_symbol_t *symbol)
{
	stand_in_kernel kernel = stand_in.kernel_named != NULL ? stand_in.kernel_named(name) : NULL;

	if (kernel == NULL || stand_in_fails(&stand_in.symbol))
		return HSA_STATUS_ERROR_INVALID_SYMBOL_NAME;
	symbol->handle = (uint64_t)(uintptr_t)kernel;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
symbol_info(hsa_executable_symbol_t symbol, hsa_executable_symbol_info_t info, void *value)
{
	const char *name;

	if (symbol.handle > stand_in.symbols) { /* found by name: the kernel itself */
		if (info == HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT)
			*(uint64_t *)value = symbol.handle;
		else
			*(uint32_t *)value = 0;
		return HSA_STATUS_SUCCESS;
	}
	name = stand_in.symbol_name[symbol.handle - 1];
	switch ((uint32_t)info) {
	case HSA_EXECUTABLE_SYMBOL_INFO_TYPE:
		*(hsa_symbol_kind_t *)value = HSA_SYMBOL_KIND_KERNEL;
		break;
	case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT:
		*(uint64_t *)value = stand_in.symbol_object[symbol.handle - 1];
		break;
	case HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH:
		*(uint32_t *)value = (uint32_t)strlen(name);
		break;
	case HSA_EXECUTABLE_SYMBOL_INFO_NAME:
		memcpy(value, name, strlen(name));
		break;
	default:
		*(uint32_t *)value = 0;
	}
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
iterate_code_objects(hsa_executable_t e,
                     hsa_status_t (*visit)(hsa_executable_t, hsa_loaded_code_object_t, void *), void *data)
{
	return visit(e, (hsa_loaded_code_object_t){e.handle + 1000}, data);
}

static hsa_status_t
code_object_info(hsa_loaded_code_object_t object, hsa_ven_amd_loader_loaded_code_object_info_t info, void *value)
{
	switch ((uint32_t)info) {
	case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_AGENT:
		*(hsa_agent_t *)value = STAND_IN_GPU;
		break;
	case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_TYPE:
		*(uint32_t *)value = HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY;
		break;
	case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_BASE:
		*(uint64_t *)value = (uint64_t)(uintptr_t)stand_in.image;
		break;
	case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_SIZE:
		*(uint64_t *)value = stand_in.image_size;
		break;
	case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA:
		*(int64_t *)value = stand_in.load_delta;
		break;
	default:
		return HSA_STATUS_ERROR_INVALID_ARGUMENT;
	}
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
extension_table(uint16_t extension, uint16_t major, size_t size, void *table)
{
	hsa_ven_amd_loader_1_01_pfn_t loader = {
		.hsa_ven_amd_loader_executable_iterate_loaded_code_objects = iterate_code_objects,
		.hsa_ven_amd_loader_loaded_code_object_get_info = code_object_info,
	};

	if (stand_in.no_loader || extension != HSA_EXTENSION_AMD_LOADER)
		return HSA_STATUS_ERROR;
	memcpy(table, &loader, size < sizeof(loader) ? size : sizeof(loader));
	return HSA_STATUS_SUCCESS;
}

void
stand_in_put_code(struct kr_next *next)
{
	next->hsa_executable_load_agent_code_object = load_agent_code;
	next->hsa_executable_load_program_code_object = load_program_code;
	next->hsa_executable_load_code_object = load_code;
	next->hsa_executable_freeze = freeze;
	next->hsa_executable_destroy = destroy_executable;
	next->hsa_executable_iterate_agent_symbols = iterate_symbols;
	next->hsa_executable_symbol_get_info = symbol_info;
	next->hsa_executable_get_symbol_by_name = symbol_by_name;
	next->hsa_executable_create_alt = create_executable;
	next->hsa_code_object_reader_create_from_memory = create_reader;
	next->hsa_code_object_reader_destroy = destroy_reader;
	next->hsa_system_get_major_extension_table = extension_table;
}
