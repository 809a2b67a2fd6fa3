/* SPDX-License-Identifier: MIT */
/* Executables: kernels' names and variables' places. */
#include "core/code.h"
#include "core/kernels.h"
#include "core/snapshot.h"

hsa_status_t
kr_hook_hsa_executable_load_agent_code_object(hsa_executable_t executable, hsa_agent_t agent,
                                              hsa_code_object_reader_t reader, const char *options,
                                              hsa_loaded_code_object_t *loaded)
{
	hsa_status_t status =
		kr_next.hsa_executable_load_agent_code_object(executable, agent, reader, options, loaded);

	if (kr_snapshot_make_room(status, kr_agent_find(agent)))
		status = kr_next.hsa_executable_load_agent_code_object(executable, agent, reader, options, loaded);
	/* Now, while the reader's memory is still there to be parsed. */
	if (status == HSA_STATUS_SUCCESS)
		kr_code_loaded(executable);
	return status;
}

hsa_status_t
kr_hook_hsa_executable_load_program_code_object(hsa_executable_t executable, hsa_code_object_reader_t reader,
                                                const char *options, hsa_loaded_code_object_t *loaded)
{
	hsa_status_t status = kr_next.hsa_executable_load_program_code_object(executable, reader, options, loaded);

	if (kr_snapshot_make_room(status, NULL)) /* of no agent's: host memory */
		status = kr_next.hsa_executable_load_program_code_object(executable, reader, options, loaded);
	if (status == HSA_STATUS_SUCCESS)
		kr_code_loaded(executable);
	return status;
}

hsa_status_t
kr_hook_hsa_executable_load_code_object(hsa_executable_t executable, hsa_agent_t agent, hsa_code_object_t object,
                                        const char *options)
{
	hsa_status_t status = kr_next.hsa_executable_load_code_object(executable, agent, object, options);

	if (kr_snapshot_make_room(status, kr_agent_find(agent)))
		status = kr_next.hsa_executable_load_code_object(executable, agent, object, options);
	if (status == HSA_STATUS_SUCCESS)
		kr_code_loaded(executable);
	return status;
}

hsa_status_t
kr_hook_hsa_executable_freeze(hsa_executable_t executable, const char *options)
{
	hsa_status_t status = kr_next.hsa_executable_freeze(executable, options);

	if (status == HSA_STATUS_SUCCESS)
		kr_kernels_frozen(executable);
	return status;
}

hsa_status_t
kr_hook_hsa_executable_destroy(hsa_executable_t executable)
{
	struct kr_agent *agent;
	hsa_status_t status;

	/* Its segments may be in the snapshot of a window that is open. */
	for (unsigned i = 0; (agent = kr_agent_at(i)) != NULL; i++)
		kr_agent_enter(agent);
	kr_kernels_destroyed(executable);
	kr_code_destroyed(executable);
	status = kr_next.hsa_executable_destroy(executable);
	for (unsigned i = 0; (agent = kr_agent_at(i)) != NULL; i++)
		kr_agent_leave(agent);
	return status;
}
