/*
 * Payloads of a .darter file: sections of one kind each, as columns, so that what is alike stands together. A section
 * has at most ITEMS items and nothing follows one that has filled the payload up to FULL: so no payload comes near
 * FILE_PAYLOAD, however large a profile is.
 */
#include "profile/encode.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "profile/inside.h"
#include "profile/pack.h"

#define ITEMS ((size_t)32768)
#define FULL  ((size_t)1 << 20)

void file_encoder_init(struct file_encoder *encoder)
{
	*encoder = (struct file_encoder){0};
	dt_buf_release(&encoder->section);
	dt_buf_release(&encoder->origins);
}

void file_encoder_release(struct file_encoder *encoder)
{
	dt_buf_release(&encoder->section);
	dt_buf_release(&encoder->origins);
	free(encoder->times);
	free(encoder->ends);
}

static void end_section(struct file_encoder *encoder, struct dt_buf *out, enum file_section kind)
{
	encoder->failed |= encoder->section.failed;
	file_put(out, kind);
	file_put(out, encoder->section.length);
	dt_buf_append(out, encoder->section.data, encoder->section.length);
	dt_buf_clear(&encoder->section);
}

/* How many items of a list are still to be put, with the words that every section of numbered items begins with. */
static uint32_t begin_items(struct file_encoder *encoder, uint32_t from, size_t all, uint32_t count)
{
	count = (uint32_t)DT_MIN(count, all - from);
	if (count) {
		file_put(&encoder->section, from + 1);
		file_put(&encoder->section, count);
	}
	return count;
}

static bool put_strings(struct file_encoder *encoder, const struct dt_profile *profile, uint32_t *done,
			struct dt_buf *out)
{
	uint32_t count = 0;
	size_t bytes = 0;

	while (*done + count < profile->strings.count && count < ITEMS && bytes < FULL)
		bytes += profile_string_at(profile, *done + ++count)->length;
	count = begin_items(encoder, *done, profile->strings.count, count);
	if (!count)
		return true;
	for (uint32_t i = 1; i <= count; i++)
		file_put(&encoder->section, profile_string_at(profile, *done + i)->length);
	for (uint32_t i = 1; i <= count; i++) {
		const struct dt_profile_string *string = profile_string_at(profile, *done + i);

		dt_buf_append(&encoder->section, string->text, string->length);
	}
	end_section(encoder, out, FILE_STRINGS);
	*done += count;
	return *done == profile->strings.count;
}

static bool put_functions(struct file_encoder *encoder, const struct dt_profile *profile, uint32_t *done,
			  struct dt_buf *out)
{
	uint32_t count = begin_items(encoder, *done, profile->functions.count, ITEMS);
	const struct dt_profile_function *functions = dt_profile_function_at(profile, *done + 1);
	uint64_t name = 0, file = 0, line = 0;

	if (!count)
		return true;
	for (uint32_t i = 0; i < count; i++)
		file_put_change(&encoder->section, &name, functions[i].name);
	for (uint32_t i = 0; i < count; i++)
		file_put_change(&encoder->section, &file, functions[i].file);
	for (uint32_t i = 0; i < count; i++)
		file_put_change(&encoder->section, &line, functions[i].first_line);
	for (uint32_t i = 0; i < count; i++)
		file_put(&encoder->section, functions[i].kind);
	end_section(encoder, out, FILE_FUNCTIONS);
	*done += count;
	return *done == profile->functions.count;
}

static bool put_locations(struct file_encoder *encoder, const struct dt_profile *profile, uint32_t *done,
			  struct dt_buf *out)
{
	uint32_t count = begin_items(encoder, *done, profile->locations.count, ITEMS);
	const struct dt_profile_location *locations = dt_profile_location_at(profile, *done + 1);
	uint64_t function = 0, line = 0;

	if (!count)
		return true;
	for (uint32_t i = 0; i < count; i++)
		file_put_change(&encoder->section, &function, locations[i].function);
	for (uint32_t i = 0; i < count; i++)
		file_put_change(&encoder->section, &line, locations[i].line);
	end_section(encoder, out, FILE_LOCATIONS);
	*done += count;
	return *done == profile->locations.count;
}

static bool put_stacks(struct file_encoder *encoder, const struct dt_profile *profile, uint32_t *done,
		       struct dt_buf *out)
{
	uint32_t count = begin_items(encoder, *done, profile->stacks.count, ITEMS);
	const struct dt_profile_stack *stacks = dt_profile_stack_at(profile, *done + 1);
	uint64_t location = 0;

	if (!count)
		return true;
	for (uint32_t i = 0; i < count; i++)
		file_put(&encoder->section, *done + 1 + i - stacks[i].parent);
	for (uint32_t i = 0; i < count; i++)
		file_put_change(&encoder->section, &location, stacks[i].location);
	end_section(encoder, out, FILE_STACKS);
	*done += count;
	return *done == profile->stacks.count;
}

/* Is a process to be put, where those up to a number were before? */
static bool is_due(const struct dt_profile *profile, uint32_t id, uint32_t put)
{
	return id > put || profile_process_entry(profile, id)->changed;
}

/* Where the processes from .. to come from, of those that are due. The section comes behind all others. */
static void collect_origins(struct file_encoder *encoder, const struct dt_profile *profile, uint32_t from, uint32_t to,
			    uint32_t put)
{
	struct dt_buf *origins = &encoder->origins;
	uint64_t count = 0, number = 0;

	for (uint32_t id = from; id <= to; id++)
		count += is_due(profile, id, put);
	if (!count)
		return;
	file_put(origins, count);
	for (uint32_t id = from; id <= to; id++)
		if (is_due(profile, id, put))
			file_put_change(origins, &number, id);
	for (uint32_t id = from; id <= to; id++)
		if (is_due(profile, id, put))
			file_put(origins, dt_profile_process_at(profile, id)->start_ns);
	for (uint32_t id = from; id <= to; id++)
		if (is_due(profile, id, put))
			file_put(origins, dt_profile_process_at(profile, id)->image);
}

static bool put_processes(struct file_encoder *encoder, const struct dt_profile *profile, struct file_cursor *cursor,
			  struct dt_buf *out)
{
	struct dt_buf *section = &encoder->section;
	uint32_t from = cursor->looked_processes + 1;
	size_t count = 0;
	uint64_t id = 0;

	while (cursor->looked_processes < profile->processes.count && count < ITEMS) {
		const struct dt_profile_process *process = dt_profile_process_at(profile, ++cursor->looked_processes);

		if (!is_due(profile, cursor->looked_processes, cursor->processes))
			continue;
		file_put_change(section, &id, cursor->looked_processes);
		file_put_signed(section, process->pid);
		file_put_signed(section, process->ppid);
		file_put(section, process->command);
		file_put(section, process->executable);
		file_put(section, process->version);
		file_put(section, process->container);
		file_put(section, process->began_ns);
		file_put(section, process->ended_ns);
		count++;
	}
	collect_origins(encoder, profile, from, cursor->looked_processes, cursor->processes);
	cursor->processes = DT_MAX(cursor->processes, cursor->looked_processes);
	if (count)
		end_section(encoder, out, FILE_PROCESSES);
	return cursor->looked_processes == profile->processes.count;
}

static bool put_threads(struct file_encoder *encoder, const struct dt_profile *profile, struct file_cursor *cursor,
			struct dt_buf *out)
{
	struct dt_buf *section = &encoder->section;
	size_t count = 0;
	uint64_t id = 0;

	while (cursor->looked_threads < profile->threads.count && count < ITEMS) {
		const struct dt_thread_entry *entry = profile_thread_entry(profile, ++cursor->looked_threads);
		const struct dt_profile_thread *thread = &entry->thread;

		if (cursor->looked_threads <= cursor->threads && !entry->changed)
			continue;
		file_put_change(section, &id, cursor->looked_threads);
		file_put(section, thread->process);
		file_put(section, thread->name);
		file_put(section, thread->tid);
		file_put(section, thread->ident);
		file_put_signed(section, thread->interpreter);
		file_put(section, thread->main);
		count++;
	}
	cursor->threads = DT_MAX(cursor->threads, cursor->looked_threads);
	if (count)
		end_section(encoder, out, FILE_THREADS);
	return cursor->looked_threads == profile->threads.count;
}

/* ---- runs ---- */

static int compare_times(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static bool reserve(struct file_encoder *encoder, size_t times, size_t threads)
{
	if (times > encoder->time_capacity) {
		uint64_t *bigger = realloc(encoder->times, 2 * times * sizeof(*bigger));

		if (!bigger)
			return false;
		encoder->times = bigger;
		encoder->time_capacity = 2 * times;
	}
	if (threads > encoder->end_capacity) {
		uint32_t *bigger = realloc(encoder->ends, 2 * threads * sizeof(*bigger));

		if (!bigger)
			return false;
		encoder->ends = bigger;
		encoder->end_capacity = 2 * threads;
	}
	return true;
}

/* Every instant at which a run begins or ends, once, in order: most of them are those of many runs. */
static size_t collect_times(uint64_t *times, const struct dt_profile_run *runs, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		times[2 * i] = runs[i].start_ns;
		times[2 * i + 1] = runs[i].start_ns + runs[i].wall_ns;
	}
	qsort(times, 2 * count, sizeof(*times), compare_times);
	for (size_t i = 0; i < 2 * count; i++)
		if (!kept || times[i] != times[kept - 1])
			times[kept++] = times[i];
	return kept;
}

static uint32_t time_index(const uint64_t *times, size_t count, uint64_t time)
{
	const uint64_t *found = bsearch(&time, times, count, sizeof(*times), compare_times);

	return (uint32_t)(found - times);
}

static void put_times(struct file_encoder *encoder, const struct dt_profile_run *runs, size_t count)
{
	size_t times = collect_times(encoder->times, runs, count);
	uint64_t before = 0;

	file_put(&encoder->section, times);
	for (size_t i = 0; i < times; i++) {
		file_put(&encoder->section, encoder->times[i] - before);
		before = encoder->times[i];
	}
	for (size_t i = 0; i < count; i++)
		encoder->ends[runs[i].thread] = 0;
	for (size_t i = 0; i < count; i++) {
		uint32_t *end = &encoder->ends[runs[i].thread];

		file_put_signed(&encoder->section,
				(int64_t)time_index(encoder->times, times, runs[i].start_ns) - (int64_t)*end);
		*end = time_index(encoder->times, times, runs[i].start_ns + runs[i].wall_ns);
	}
	for (size_t i = 0; i < count; i++)
		file_put(&encoder->section, time_index(encoder->times, times, runs[i].start_ns + runs[i].wall_ns) -
						time_index(encoder->times, times, runs[i].start_ns));
}

static bool put_runs(struct file_encoder *encoder, const struct dt_profile *profile, size_t *done, struct dt_buf *out)
{
	const struct dt_profile_run *runs = profile->runs + *done;
	size_t count = DT_MIN(profile->run_count - *done, ITEMS);
	struct dt_buf *section = &encoder->section;

	if (!count)
		return true;
	if (!reserve(encoder, 2 * count, profile->threads.count + 1)) {
		encoder->failed = true;
		return false;
	}
	file_put(section, count);
	for (size_t i = 0; i < count; i++)
		file_put(section, runs[i].thread);
	for (size_t i = 0; i < count; i++)
		file_put(section, runs[i].stack);
	for (size_t i = 0; i < count; i++)
		file_put(section, runs[i].state | (unsigned)runs[i].flags << 3);
	for (size_t i = 0; i < count; i++)
		file_put(section, runs[i].call);
	put_times(encoder, runs, count);
	for (size_t i = 0; i < count; i++)
		file_put(section, runs[i].cpu_ns);
	for (size_t i = 0; i < count; i++)
		file_put(section, runs[i].samples);
	end_section(encoder, out, FILE_RUNS);
	*done += count;
	return *done == profile->run_count;
}

static void put_meta(struct file_encoder *encoder, const struct dt_profile *profile, struct dt_buf *out)
{
	const struct dt_profile_meta *meta = &profile->meta;
	const struct dt_profile_quality *quality = &meta->quality;
	const uint64_t numbers[] = {
	    meta->began_realtime_ns,
	    meta->duration_ns,
	    meta->mode,
	    meta->rung,
	    meta->rung_why,
	    meta->host,
	    meta->darter,
	    quality->samples,
	    quality->rounds,
	    quality->late,
	    quality->unseen,
	    quality->settled,
	    quality->torn,
	    quality->lost,
	    quality->stops,
	    quality->stopped_ns,
	    quality->own_cpu_ns,
	    quality->own_rss,
	    meta->boot,
	    meta->began_boot_ns,
	    quality->missed,
	    meta->damaged_ns,
	    meta->damaged_samples,
	    meta->looked_ns,
	};
	uint64_t rate;

	memcpy(&rate, &meta->rate, sizeof(rate));
	file_put_fixed(&encoder->section, rate, sizeof(rate));
	for (size_t i = 0; i < DT_COUNT(numbers); i++)
		file_put(&encoder->section, numbers[i]);
	end_section(encoder, out, FILE_META);
}

void file_encode(struct file_encoder *encoder, const struct dt_profile *profile, struct file_cursor *cursor,
		 struct dt_buf *out)
{
	dt_buf_clear(&encoder->origins);
	if (put_strings(encoder, profile, &cursor->strings, out) && out->length < FULL &&
	    put_functions(encoder, profile, &cursor->functions, out) && out->length < FULL &&
	    put_locations(encoder, profile, &cursor->locations, out) && out->length < FULL &&
	    put_stacks(encoder, profile, &cursor->stacks, out) && out->length < FULL &&
	    put_processes(encoder, profile, cursor, out) && out->length < FULL &&
	    put_threads(encoder, profile, cursor, out) && out->length < FULL &&
	    put_runs(encoder, profile, &cursor->runs, out) && !cursor->meta) {
		put_meta(encoder, profile, out);
		cursor->meta = true;
	}
	if (encoder->origins.length || encoder->origins.failed) {
		dt_buf_append(&encoder->section, encoder->origins.data, encoder->origins.length);
		encoder->failed |= encoder->origins.failed;
		end_section(encoder, out, FILE_ORIGINS);
	}
}
