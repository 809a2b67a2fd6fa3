/* SPDX-License-Identifier: MIT */
/*
 * Attributes of shared virtual memory: what the kernel driver keeps for ranges of the process's own memory and tells
 * when asked. Every kernel reaches all of that memory where it is, so none of them has another effect here.
 *
 * The driver forgets them when the process unmaps the memory, which nobody tells a library. What is freed through this
 * one is forgotten.
 */
#include "internal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct range {
	uint64_t start, end;
	struct sg_svm what;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct range *ranges; /* sorted, apart from each other */
static size_t count, capacity;

static const struct sg_svm defaults = {
	.preferred = SG_SVM_NOWHERE,
	.prefetch = SG_SVM_NOWHERE,
	.flags_all = SG_SVM_HOST_ACCESS | SG_SVM_COHERENT,
	.flags_any = SG_SVM_HOST_ACCESS | SG_SVM_COHERENT,
	.granularity = 9, /* 2 MiB */
};

void sg_svm_reset(void)
{
	/* Also runs in a forked child, where the lock may be anyone's. */
	pthread_mutex_init(&lock, NULL);
	free(ranges);
	ranges = NULL;
	count = capacity = 0;
}

/* Whether the process has something everywhere in [start, start + size). */
static bool is_mapped(uint64_t start, uint64_t size)
{
	unsigned char resident[1024];

	while (size) {
		uint64_t piece = size < sizeof(resident) * SG_PAGE ? size : sizeof(resident) * SG_PAGE;

		if (mincore((void *)(uintptr_t)start, piece, resident))
			return false;
		start += piece;
		size -= piece;
	}
	return true;
}

static enum sg_status check(uint64_t start, uint64_t size)
{
	if (!start || !size || start % SG_PAGE || size % SG_PAGE || start + size < start)
		return SG_INVALID;
	return is_mapped(start, size) ? SG_OK : SG_ERROR;
}

/* The first range that ends behind `address`. */
static size_t first_behind(uint64_t address)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (ranges[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void insert(size_t at, struct range range)
{
	memmove(&ranges[at + 1], &ranges[at], (count - at) * sizeof(range));
	ranges[at] = range;
	count++;
}

/* After it no range goes across `address`. Room has been made. */
static void split(uint64_t address)
{
	size_t i = first_behind(address);

	if (i < count && ranges[i].start < address) {
		struct range tail = ranges[i];

		ranges[i].end = tail.start = address;
		insert(i + 1, tail);
	}
}

static bool make_room(size_t more)
{
	if (count + more > capacity) {
		size_t room = (count + more) * 2;
		struct range *grown = realloc(ranges, room * sizeof(*grown));

		if (!grown)
			return false;
		ranges = grown;
		capacity = room;
	}
	return true;
}

/* Ranges for all of [start, end), new ones with the defaults; each hole needs one. */
static bool cover(uint64_t start, uint64_t end)
{
	size_t need = 3;

	for (size_t i = first_behind(start); i < count && ranges[i].start < end; i++)
		need++;
	if (!make_room(need))
		return false;
	split(start);
	split(end);
	for (size_t i = first_behind(start); start < end; i++) {
		if (i == count || ranges[i].start > start) {
			uint64_t stop = i == count || ranges[i].start > end ? end : ranges[i].start;

			insert(i, (struct range){start, stop, defaults});
		}
		start = ranges[i].end;
	}
	return true;
}

/* Neighbours that are alike become one. */
static void join(size_t from, size_t to)
{
	for (size_t i = to; i > from; i--) {
		if (i >= count || i == 0 || ranges[i - 1].end != ranges[i].start ||
		    memcmp(&ranges[i - 1].what, &ranges[i].what, sizeof(ranges[i].what)) != 0)
			continue;
		ranges[i - 1].end = ranges[i].end;
		memmove(&ranges[i], &ranges[i + 1], (count - i - 1) * sizeof(ranges[i]));
		count--;
	}
}

enum sg_status sg_svm_set(uint64_t start, uint64_t size, void (*change)(struct sg_svm *what, void *data), void *data)
{
	enum sg_status status = check(start, size);

	if (status != SG_OK)
		return status;
	pthread_mutex_lock(&lock);
	if (cover(start, start + size)) {
		size_t first = first_behind(start), i = first;

		for (; i < count && ranges[i].start < start + size; i++)
			change(&ranges[i].what, data);
		join(first ? first - 1 : 0, i);
	} else {
		status = SG_NO_MEMORY;
	}
	pthread_mutex_unlock(&lock);
	return status;
}

void sg_svm_forget(uint64_t start, uint64_t size)
{
	pthread_mutex_lock(&lock);
	size_t first = first_behind(start), end = first;

	if (first < count && ranges[first].start < start + size && make_room(2)) {
		split(start);
		split(start + size);
		for (first = end = first_behind(start); end < count && ranges[end].start < start + size; end++)
			;
		memmove(&ranges[first], &ranges[end], (count - end) * sizeof(*ranges));
		count -= end - first;
	}
	pthread_mutex_unlock(&lock);
}

static void merge(struct sg_svm *all, const struct sg_svm *one)
{
	if (all->preferred != one->preferred)
		all->preferred = SG_SVM_NOWHERE;
	if (all->prefetch != one->prefetch)
		all->prefetch = SG_SVM_NOWHERE;
	if (one->granularity < all->granularity)
		all->granularity = one->granularity;
	all->flags_all &= one->flags_all;
	all->flags_any |= one->flags_any;
	all->access &= one->access;
	all->in_place &= one->in_place;
}

/* What is not the same everywhere has no place; rights and flags are what all of it has. As with the driver, memory
 * that was never given attributes does not count when other memory of the range was. */
enum sg_status sg_svm_get(uint64_t start, uint64_t size, struct sg_svm *what)
{
	enum sg_status status = check(start, size);
	bool any = false;

	*what = defaults;
	if (status != SG_OK)
		return status;
	pthread_mutex_lock(&lock);
	for (size_t i = first_behind(start); i < count && ranges[i].start < start + size; i++) {
		if (any)
			merge(what, &ranges[i].what);
		else
			*what = ranges[i].what;
		any = true;
	}
	pthread_mutex_unlock(&lock);
	return SG_OK;
}
