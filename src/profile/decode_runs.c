/* Runs of a .darter file: columns, and a table of the instants at which they begin and end. */
#include <errno.h>
#include <stdlib.h>

#include "base/util.h"
#include "profile/decode.h"
#include "profile/pack.h"

struct columns {
	struct file_input threads, stacks, kinds, calls, starts, lengths, cpu, samples;
};

static int get_times(struct file_decoder *decoder, struct file_input *in, size_t runs, size_t *count)
{
	uint64_t times = file_get(in), time = 0;

	if (in->bad || times > 2 * (uint64_t)runs || times > file_left(in))
		return -EINVAL;
	if (times > decoder->time_capacity) {
		uint64_t *bigger = realloc(decoder->times, times * sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		decoder->times = bigger;
		decoder->time_capacity = times;
	}
	for (size_t i = 0; i < times; i++) {
		uint64_t step = file_get(in);

		if (step > DT_PROFILE_TIME - time)
			return -EINVAL;
		time += step;
		decoder->times[i] = time;
	}
	decoder->end_ns = DT_MAX(decoder->end_ns, time);
	*count = times;
	return in->bad ? -EINVAL : 0;
}

/* Room for what is known of each thread; a thread of another section has ended nowhere yet. */
static int begin_section(struct file_decoder *decoder)
{
	size_t needed = (size_t)dt_profile_counts(decoder->profile).threads + 1;

	decoder->section++;
	if (needed > decoder->end_capacity) {
		struct file_thread_end *bigger = realloc(decoder->ends, 2 * needed * sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		for (size_t i = decoder->end_capacity; i < 2 * needed; i++)
			bigger[i] = (struct file_thread_end){0};
		decoder->ends = bigger;
		decoder->end_capacity = 2 * needed;
	}
	return 0;
}

/* The place in the table where a run begins; of a thread that is lost nobody knows it, and nobody asks. */
static bool get_span(struct file_decoder *decoder, uint32_t thread, struct columns *columns, size_t times,
		     struct dt_profile_run *run)
{
	struct file_thread_end *end = &decoder->ends[thread];
	int64_t step = file_get_signed(&columns->starts);
	uint64_t length = file_get(&columns->lengths), start;

	if (end->section != decoder->section)
		*end = (struct file_thread_end){.section = decoder->section};
	start = end->index + (uint64_t)step;
	if (!thread)
		return true;
	if (start >= times || length >= times - start)
		return false;
	end->index = (uint32_t)(start + length);
	run->start_ns = decoder->times[start];
	run->wall_ns = decoder->times[start + length] - run->start_ns;
	return true;
}

static int get_run(struct file_decoder *decoder, struct columns *columns, size_t times)
{
	struct dt_profile_run run = {0};
	bool whole = file_ids_find(&decoder->threads, file_get(&columns->threads), &run.thread);
	uint64_t stack = file_get(&columns->stacks), call = file_get(&columns->calls);
	uint64_t kind = file_get(&columns->kinds), samples = file_get(&columns->samples);
	int rc;

	whole &= !stack || file_ids_find(&decoder->stacks, stack, &run.stack);
	whole &= !call || file_ids_find(&decoder->strings, call, &run.call);
	run.cpu_ns = file_get(&columns->cpu);
	if (kind > 0x7f || samples > UINT32_MAX || !get_span(decoder, run.thread, columns, times, &run))
		return -EINVAL;
	run.state = kind & 7;
	run.flags = (uint8_t)(kind >> 3);
	run.samples = (uint32_t)samples;
	rc = whole ? dt_profile_add_run(decoder->profile, &run) : -EINVAL;
	if (rc == -ENOMEM)
		return rc;
	decoder->lost_runs += rc < 0;
	return 0;
}

int file_decode_runs(struct file_decoder *decoder, struct file_input in)
{
	struct columns columns;
	uint64_t count = file_get(&in);
	size_t times;
	int rc;

	if (in.bad || count > file_left(&in))
		return -EINVAL;
	columns.threads = file_get_column(&in, count);
	columns.stacks = file_get_column(&in, count);
	columns.kinds = file_get_column(&in, count);
	columns.calls = file_get_column(&in, count);
	rc = get_times(decoder, &in, count, &times);
	if (rc < 0)
		return rc;
	columns.starts = file_get_column(&in, count);
	columns.lengths = file_get_column(&in, count);
	columns.cpu = file_get_column(&in, count);
	columns.samples = file_get_column(&in, count);
	rc = in.bad ? -EINVAL : begin_section(decoder);
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = get_run(decoder, &columns, times);
	return rc;
}
