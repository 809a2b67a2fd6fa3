/* SPDX-License-Identifier: MIT */
/* How much host memory control groups leave, from trees of files such as the kernel shows. */
#include "engine_test.h"

#include <sys/stat.h>

#include "core/snapshot/internal.h"

#define MIB (UINT64_C(1) << 20)
#define V2 "31 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1 \
	"31 23 0:28 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs mode=755\n" \
	"35 31 0:31 / /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n" \
	"36 31 0:32 / /sys/fs/cgroup/memory rw shared:10 - cgroup cgroup rw,memory\n"

static char root[64];

static int
setup(void **state)
{
	strcpy(root, "/tmp/kr-room-XXXXXX");
	return mkdtemp(root) == NULL;
}

static int
teardown(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r '%s'", root);
	return system(command);
}

static void
put(const char *path, const char *text)
{
	char full[512];
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *slash = full + strlen(root); (slash = strchr(slash + 1, '/')) != NULL; *slash = '/') {
		*slash = '\0';
		mkdir(full, 0700);
	}
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* A group of `mount` with a limit and what is used of it, in MiB; most 0: none. */
static void
put_group(const char *mount, const char *group, bool v2, unsigned most, unsigned used, unsigned cache)
{
	char path[256], text[128];

	snprintf(path, sizeof(path), "%s%s/%s", mount, group, v2 ? "memory.max" : "memory.limit_in_bytes");
	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)most * MIB);
	put(path, most != 0 ? text : v2 ? "max\n" : "9223372036854771712\n");
	snprintf(path, sizeof(path), "%s%s/%s", mount, group, v2 ? "memory.current" : "memory.usage_in_bytes");
	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)used * MIB);
	put(path, text);
	snprintf(path, sizeof(path), "%s%s/memory.stat", mount, group);
	snprintf(text, sizeof(text), "cache 1\ninactive_file %llu\ntotal_inactive_file %llu\n",
		 (unsigned long long)cache * MIB, (unsigned long long)(cache + 1) * MIB);
	put(path, text);
}

static void
nothing_known_is_no_limit(void **state)
{
	assert_int_equal(kr_cgroup_room(root), UINT64_MAX);
	put("/proc/self/mountinfo", V2);
	put("/proc/self/cgroup", "0::/a/b\n");
	assert_int_equal(kr_cgroup_room(root), UINT64_MAX);
	put("/proc/self/mountinfo", "nonsense\n1 2 - \n - cgroup2\n");
	put("/proc/self/cgroup", "nonsense\n:\n");
	assert_int_equal(kr_cgroup_room(root), UINT64_MAX);
}

static void
the_least_of_all_groups_counts(void **state)
{
	put("/proc/self/mountinfo", V2);
	put("/proc/self/cgroup", "0::/a/b\n");
	put_group("/sys/fs/cgroup", "/a/b", true, 0, 10, 0);
	put_group("/sys/fs/cgroup", "/a", true, 300, 100, 0);
	assert_int_equal(kr_cgroup_room(root), 200 * MIB);
	put_group("/sys/fs/cgroup", "/a/b", true, 64, 10, 0);
	assert_int_equal(kr_cgroup_room(root), 54 * MIB);
	put_group("/sys/fs/cgroup", "/a/b", true, 64, 70, 0);
	assert_int_equal(kr_cgroup_room(root), 0);
	/* What the file cache holds is to be had. */
	put_group("/sys/fs/cgroup", "/a/b", true, 64, 60, 40);
	assert_int_equal(kr_cgroup_room(root), 44 * MIB);
}

static void
version_1_counts_as_well(void **state)
{
	put("/proc/self/mountinfo", V1 "40 31 0:33 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
	put("/proc/self/cgroup", "5:cpu,cpuacct:/other\n4:memory:/a\n0::/a\n");
	put_group("/sys/fs/cgroup/memory", "/a", false, 100, 50, 9);
	put_group("/sys/fs/cgroup/cpu", "/other", false, 1, 1, 0);
	assert_int_equal(kr_cgroup_room(root), 60 * MIB); /* the cache of groups below is in the total */
	put_group("/sys/fs/cgroup/unified", "/a", true, 30, 10, 0);
	assert_int_equal(kr_cgroup_room(root), 20 * MIB);
}

static void
a_container_sees_its_own_group_as_the_top(void **state)
{
	put("/proc/self/mountinfo", "36 31 0:32 /docker/17 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
	put("/proc/self/cgroup", "4:memory:/docker/17/job\n");
	put_group("/sys/fs/cgroup/memory", "", false, 500, 100, 0);
	put_group("/sys/fs/cgroup/memory", "/job", false, 80, 30, 4);
	assert_int_equal(kr_cgroup_room(root), 55 * MIB);
	put("/proc/self/cgroup", "4:memory:/docker/17\n");
	assert_int_equal(kr_cgroup_room(root), 401 * MIB);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_known_is_no_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(the_least_of_all_groups_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(version_1_counts_as_well, setup, teardown),
		cmocka_unit_test_setup_teardown(a_container_sees_its_own_group_as_the_top, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
