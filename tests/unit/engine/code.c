/* SPDX-License-Identifier: MIT */
#include "engine_test.h"

#include <elf.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "core/code.h"
#include "core/kernels.h"
#include "core/engine.h"
#include "core/log.h"

static struct {
	Elf64_Ehdr header;
	Elf64_Phdr segment[4];
} image;

static void
make_image(void)
{
	memset(&image, 0, sizeof(image));
	memcpy(image.header.e_ident, ELFMAG, SELFMAG);
	image.header.e_ident[EI_CLASS] = ELFCLASS64;
	image.header.e_ident[EI_DATA] = ELFDATA2LSB;
	image.header.e_ident[EI_VERSION] = EV_CURRENT;
	image.header.e_type = ET_DYN;
	image.header.e_machine = 224; /* EM_AMDGPU */
	image.header.e_version = EV_CURRENT;
	image.header.e_ehsize = sizeof(Elf64_Ehdr);
	image.header.e_phoff = sizeof(Elf64_Ehdr);
	image.header.e_phentsize = sizeof(Elf64_Phdr);
	image.header.e_phnum = 4;
	image.segment[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = 0, .p_memsz = 0x100};
	image.segment[1] = (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_vaddr = 0x2000, .p_memsz = 0x30};
	image.segment[2] = (Elf64_Phdr){.p_type = PT_DYNAMIC, .p_flags = PF_R | PF_W, .p_vaddr = 0x3000, .p_memsz = 8};
	image.segment[3] = (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_vaddr = 0x4000, .p_memsz = 0x40};
	stand_in.image = &image;
	stand_in.image_size = sizeof(image);
	stand_in.load_delta = 0x10000;
}

static int
setup(void **state)
{
	stand_in_reset();
	kr_code_clear();
	make_image();
	return !kr_agents_init();
}

/* contract 5: out: read-only variables */
static void
reads_writable_segments(void **state)
{
	struct kr_segment s[4];
	uint64_t read_only;

	image.segment[2].p_type = PT_LOAD;
	image.segment[2].p_flags = PF_R | PF_X;
	assert_int_equal(kr_code_writable(&image, sizeof(image), s, 4, &read_only), 2);
	assert_int_equal(read_only, 0x100); /* code is not data */
	assert_int_equal(s[0].address, 0x2000);
	assert_int_equal(s[0].size, 0x30);
	assert_int_equal(s[1].address, 0x4000);
	assert_int_equal(kr_code_writable(&image, sizeof(image), s, 1, &read_only), 2); /* counts beyond the room */
}

/* What is read-only once it is loaded is no variable: all of a segment, or its beginning. */
static void
leaves_out_what_is_read_only_after_loading(void **state)
{
	struct kr_segment s[4];
	uint64_t read_only;

	image.segment[0] = (Elf64_Phdr){.p_type = PT_GNU_RELRO, .p_flags = PF_R, .p_vaddr = 0x2000, .p_memsz = 0x1000};
	assert_int_equal(kr_code_writable(&image, sizeof(image), s, 4, &read_only), 1);
	assert_int_equal(s[0].address, 0x4000);
	assert_int_equal(s[0].size, 0x40);
	assert_int_equal(read_only, 0x30);
	image.segment[0].p_vaddr = 0x4000;
	image.segment[0].p_memsz = 0x18;
	assert_int_equal(kr_code_writable(&image, sizeof(image), s, 4, &read_only), 2);
	assert_int_equal(s[0].address, 0x2000);
	assert_int_equal(s[0].size, 0x30);
	assert_int_equal(s[1].address, 0x4018);
	assert_int_equal(s[1].size, 0x28);
	image.segment[0].p_vaddr = 0x4040; /* behind it */
	assert_int_equal(kr_code_writable(&image, sizeof(image), s, 4, &read_only), 2);
	assert_int_equal(s[1].size, 0x40);
}

static void
refuses_what_is_no_image(void **state)
{
	struct kr_segment s[4];
	char junk[64] = "not an ELF image at all";
	uint64_t read_only;

	assert_int_equal(kr_code_writable(junk, sizeof(junk), s, 4, &read_only), -1);
	assert_int_equal(kr_code_writable(&image, 20, s, 4, &read_only), -1);
	assert_int_equal(kr_code_writable(&image, sizeof(Elf64_Ehdr) + 10, s, 4, &read_only), -1);
}

struct seen {
	unsigned count;
	uint64_t address[8], generation;
};

static bool
see(const struct kr_segment *s, void *data)
{
	struct seen *seen = data;

	seen->address[seen->count++] = s->address;
	seen->generation = s->generation;
	return true;
}

static const hsa_code_object_reader_t no_reader;

static hsa_status_t
load_for_agent(hsa_executable_t e)
{
	return kr_hook_hsa_executable_load_agent_code_object(e, STAND_IN_GPU, no_reader, NULL, NULL);
}

static hsa_status_t
load_for_program(hsa_executable_t e)
{
	return kr_hook_hsa_executable_load_program_code_object(e, no_reader, NULL, NULL);
}

static hsa_status_t
load_object(hsa_executable_t e)
{
	return kr_hook_hsa_executable_load_code_object(e, STAND_IN_GPU, (hsa_code_object_t){0}, NULL);
}

static void
every_way_to_load_is_noted(void **state)
{
	hsa_status_t (*const load[])(hsa_executable_t) = {load_for_agent, load_for_program, load_object};
	struct kr_agent *gpu = kr_agent_find(STAND_IN_GPU);
	hsa_executable_t e = {5};

	for (unsigned i = 0; i < 3; i++) {
		struct seen seen = {0};

		stand_in.load_code = (struct stand_in_point){.fail_at = 1};
		assert_int_not_equal(load[i](e), 0);
		kr_code_each(gpu, see, &seen);
		assert_int_equal(seen.count, 0);
		assert_int_equal(load[i](e), 0);
		kr_code_each(gpu, see, &seen);
		assert_int_equal(seen.count, 2);
		kr_hook_hsa_executable_destroy(e);
	}
}

/* contract 5: in: writable variables, static ones too */
static void
knows_where_segments_were_placed(void **state)
{
	struct kr_agent *gpu = kr_agent_find(STAND_IN_GPU), *other = kr_agent_find(STAND_IN_GPU2);
	hsa_executable_t e = {5};
	struct seen seen = {0};

	assert_int_equal(load_for_agent(e), 0);
	kr_code_loaded(e); /* listed once */
	assert_true(kr_code_known(gpu));
	kr_code_each(gpu, see, &seen);
	assert_int_equal(seen.count, 2);
	assert_int_equal(seen.address[0], 0x12000);
	assert_int_equal(seen.address[1], 0x14000);
	assert_true(kr_code_alive(seen.generation));
	assert_int_equal(kr_code_read_only(gpu), 0x100);
	assert_int_equal(kr_code_read_only(other), 0);
	seen.count = 0;
	kr_code_each(other, see, &seen);
	assert_int_equal(seen.count, 0);
	kr_hook_hsa_executable_destroy(e);
	kr_code_each(gpu, see, &seen);
	assert_int_equal(seen.count, 0);
	assert_false(kr_code_alive(seen.generation));
}

static void
says_when_variables_are_unknown(void **state)
{
	struct kr_agent *gpu = kr_agent_find(STAND_IN_GPU), *other = kr_agent_find(STAND_IN_GPU2);

	stand_in.image_size = 10;
	kr_code_loaded((hsa_executable_t){6});
	assert_false(kr_code_known(gpu));
	assert_true(kr_code_known(other));
	kr_code_destroyed((hsa_executable_t){6});
	assert_true(kr_code_known(gpu));
	stand_in.no_loader = true;
	kr_code_clear();
	kr_code_loaded((hsa_executable_t){7});
	assert_false(kr_code_known(gpu));
	assert_false(kr_code_known(other)); /* whose it is cannot be told */
}

static void
names_kernels(void **state)
{
	hsa_executable_t e = {8};
	struct kr_kernel *k;

	stand_in.symbols = 3;
	stand_in.symbol_name[0] = "plain.kd";
	stand_in.symbol_object[0] = 0x5000;
	stand_in.symbol_name[1] = "_Z3addPfS_.kd";
	stand_in.symbol_object[1] = 0x5040;
	stand_in.symbol_name[2] = "old";
	stand_in.symbol_object[2] = 0x5080;
	stand_in.freeze = (struct stand_in_point){.fail_at = 1};
	assert_int_not_equal(kr_hook_hsa_executable_freeze(e, NULL), 0);
	assert_string_equal(kr_kernel_of_object(0x5080)->name, "kernel@0x5080");
	stand_in.symbol_object[2] = 0x50c0;
	assert_int_equal(kr_hook_hsa_executable_freeze(e, NULL), 0);
	k = kr_kernel_of_object(0x5000);
	assert_string_equal(k->name, "plain");
	k = kr_kernel_of_object(0x5040);
	assert_string_equal(k->mangled, "_Z3addPfS_");
	assert_ptr_equal(kr_kernel_of_object(0x5040), k);
	assert_string_equal(kr_kernel_name(k->id, true), "_Z3addPfS_");
	assert_string_equal(kr_kernel_of_object(0x50c0)->name, "old");
	assert_string_equal(kr_kernel_of_object(0x9990)->name, "kernel@0x9990");
	assert_null(kr_kernel_name(0, false));
	assert_null(kr_kernel_name(12345, false));
	kr_hook_hsa_executable_destroy(e);
	assert_string_equal(kr_kernel_of_object(0x5000)->name, "kernel@0x5000"); /* the address means nothing now */
	assert_string_equal(kr_kernel_name(k->id, true), "_Z3addPfS_");          /* the id still does */
}

/* Two threads whose first dispatches come together: the second must not look before the first has listed the symbols. */

static hsa_status_t (*iterate_at_once)(hsa_executable_t, hsa_agent_t,
				       hsa_status_t (*)(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t, void *),
				       void *);
static sem_t listing, go_on, looked;

static hsa_status_t
iterate_slowly(hsa_executable_t e, hsa_agent_t agent,
	       hsa_status_t (*visit)(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t, void *), void *data)
{
	sem_post(&listing);
	sem_wait(&go_on);
	return iterate_at_once(e, agent, visit, data);
}

static void *
look(void *data)
{
	*(struct kr_kernel **)data = kr_kernel_of_object(0x6000);
	sem_post(&looked);
	return NULL;
}

static void
names_a_kernel_that_is_being_listed(void **state)
{
	struct kr_kernel *first = NULL, *second = NULL;
	pthread_t threads[2];
	struct timespec soon;

	sem_init(&listing, 0, 0);
	sem_init(&go_on, 0, 0);
	sem_init(&looked, 0, 0);
	stand_in.symbols = 1;
	stand_in.symbol_name[0] = "late.kd";
	stand_in.symbol_object[0] = 0x6000;
	iterate_at_once = kr_next.hsa_executable_iterate_agent_symbols;
	kr_next.hsa_executable_iterate_agent_symbols = iterate_slowly;
	kr_hook_hsa_executable_freeze((hsa_executable_t){9}, NULL);
	assert_int_equal(pthread_create(&threads[0], NULL, look, &first), 0);
	sem_wait(&listing);
	assert_int_equal(pthread_create(&threads[1], NULL, look, &second), 0);
	/* it waits, which is seen by its not coming back: the one wait here that has to run out */
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_nsec += 100000000;
	soon.tv_sec += soon.tv_nsec / 1000000000;
	soon.tv_nsec %= 1000000000;
	assert_int_equal(sem_timedwait(&looked, &soon), -1);
	for (unsigned i = 0; i < 8; i++) /* one for each agent, and more */
		sem_post(&go_on);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	kr_next.hsa_executable_iterate_agent_symbols = iterate_at_once;
	assert_string_equal(first->name, "late");
	assert_ptr_equal(second, first);
	kr_hook_hsa_executable_destroy((hsa_executable_t){9});
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(reads_writable_segments, setup),
		cmocka_unit_test_setup(leaves_out_what_is_read_only_after_loading, setup),
		cmocka_unit_test_setup(refuses_what_is_no_image, setup),
		cmocka_unit_test_setup(every_way_to_load_is_noted, setup),
		cmocka_unit_test_setup(knows_where_segments_were_placed, setup),
		cmocka_unit_test_setup(says_when_variables_are_unknown, setup),
		cmocka_unit_test_setup(names_kernels, setup),
		cmocka_unit_test_setup(names_a_kernel_that_is_being_listed, setup),
	};

	kr_log_set_level(KR_LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
