/* Are two recordings the same? As they are read: by texts and frames, not by numbers. */
#ifndef DT_TESTS_PROFILE_SAME_H
#define DT_TESTS_PROFILE_SAME_H

#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "profile/file.h"
#include "profile/profile.h"

/* Everything, numbers too, and no padding. */
static inline void assert_same_profile(const struct dt_profile *a, const struct dt_profile *b)
{
	struct dt_profile_counts counts = dt_profile_counts(a), other = dt_profile_counts(b);

	assert_memory_equal(&counts, &other, sizeof(counts));
	for (uint32_t i = 0; i <= counts.strings; i++)
		assert_string_equal(dt_profile_text(a, i), dt_profile_text(b, i));
	for (uint32_t i = 1; i <= counts.functions; i++)
		assert_memory_equal(dt_profile_function_at(a, i), dt_profile_function_at(b, i),
				    sizeof(struct dt_profile_function));
	for (uint32_t i = 1; i <= counts.locations; i++)
		assert_memory_equal(dt_profile_location_at(a, i), dt_profile_location_at(b, i),
				    sizeof(struct dt_profile_location));
	for (uint32_t i = 1; i <= counts.stacks; i++)
		assert_memory_equal(dt_profile_stack_at(a, i), dt_profile_stack_at(b, i),
				    sizeof(struct dt_profile_stack));
	for (uint32_t i = 1; i <= counts.processes; i++)
		assert_memory_equal(dt_profile_process_at(a, i), dt_profile_process_at(b, i),
				    sizeof(struct dt_profile_process));
	for (uint32_t i = 1; i <= counts.threads; i++) {
		const struct dt_profile_thread *x = dt_profile_thread_at(a, i), *y = dt_profile_thread_at(b, i);

		assert_memory_equal(x, y, offsetof(struct dt_profile_thread, main) + sizeof(x->main));
	}
	for (size_t i = 0; i < counts.runs; i++) {
		const struct dt_profile_run *x = &dt_profile_runs(a)[i], *y = &dt_profile_runs(b)[i];

		assert_memory_equal(x, y, offsetof(struct dt_profile_run, flags) + sizeof(x->flags));
	}
	assert_memory_equal(dt_profile_meta(a), dt_profile_meta(b),
			    offsetof(struct dt_profile_meta, darter) + sizeof(dt_profile_meta(a)->darter));
	assert_memory_equal(&dt_profile_meta(a)->quality, &dt_profile_meta(b)->quality,
			    sizeof(struct dt_profile_quality));
}

static inline bool same_stack(const struct dt_profile *a, uint32_t x, const struct dt_profile *b, uint32_t y)
{
	for (; x && y; x = dt_profile_stack_at(a, x)->parent, y = dt_profile_stack_at(b, y)->parent) {
		const struct dt_profile_location *p = dt_profile_location_at(a, dt_profile_stack_at(a, x)->location);
		const struct dt_profile_location *q = dt_profile_location_at(b, dt_profile_stack_at(b, y)->location);
		const struct dt_profile_function *f = dt_profile_function_at(a, p->function);
		const struct dt_profile_function *g = dt_profile_function_at(b, q->function);

		if (p->line != q->line || f->first_line != g->first_line || f->kind != g->kind ||
		    strcmp(dt_profile_text(a, f->name), dt_profile_text(b, g->name)) != 0 ||
		    strcmp(dt_profile_text(a, f->file), dt_profile_text(b, g->file)) != 0)
			return false;
	}
	return x == y;
}

/* Does the whole recording have a run that covers this one and says the same of it? Threads are known by their ident.
 */
static inline bool has_run(const struct dt_profile *whole, const struct dt_profile *part,
			   const struct dt_profile_run *run)
{
	for (size_t i = 0; i < dt_profile_counts(whole).runs; i++) {
		const struct dt_profile_run *other = &dt_profile_runs(whole)[i];

		if (dt_profile_thread_at(whole, other->thread)->ident ==
			dt_profile_thread_at(part, run->thread)->ident &&
		    other->start_ns <= run->start_ns &&
		    other->start_ns + other->wall_ns >= run->start_ns + run->wall_ns && other->state == run->state &&
		    other->flags == run->flags && other->cpu_ns >= run->cpu_ns && other->samples >= run->samples &&
		    !strcmp(dt_profile_text(whole, other->call), dt_profile_text(part, run->call)) &&
		    same_stack(whole, other->stack, part, run->stack))
			return true;
	}
	return false;
}

/* ---- files in memory ---- */

static inline int example_file(void)
{
	char path[] = "/tmp/darter-profile-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	unlink(path);
	return fd;
}

static inline int file_of(const void *bytes, size_t size)
{
	int fd = example_file();

	assert_int_equal(write(fd, bytes, size), size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static inline char *bytes_of(int fd, size_t *size)
{
	off_t end = lseek(fd, 0, SEEK_END);
	char *bytes = malloc((size_t)end + 1);

	assert_non_null(bytes);
	assert_int_equal(pread(fd, bytes, (size_t)end, 0), end);
	*size = (size_t)end;
	return bytes;
}

#endif
