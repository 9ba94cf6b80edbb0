/*
 * Payloads of a .darter file into a profile, which checks what it is given. What speaks of something that was in a
 * block that is lost is lost, too: it is never replaced by something else. Only texts about a process, a thread or the
 * recording that are lost become empty, which stands for "not known".
 */
#include "profile/decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "profile/inside.h"
#include "profile/pack.h"

#define FIRST_NUMBER 1

void file_decoder_release(struct file_decoder *decoder)
{
	file_ids_release(&decoder->strings);
	file_ids_release(&decoder->functions);
	file_ids_release(&decoder->locations);
	file_ids_release(&decoder->stacks);
	file_ids_release(&decoder->processes);
	file_ids_release(&decoder->threads);
	free(decoder->times);
	free(decoder->ends);
}

/* A number that may be 0, "none". */
static bool find_or_none(const struct file_ids *ids, uint64_t number, uint32_t *id)
{
	*id = 0;
	return !number || file_ids_find(ids, number, id);
}

/* A text whose loss does no harm. */
static uint32_t text_or_none(const struct file_decoder *decoder, uint64_t number)
{
	uint32_t id;

	find_or_none(&decoder->strings, number, &id);
	return id;
}

/* What sections of numbered items begin with. Numbers only go up, so one is never given twice. */
static bool begin_items(struct file_input *in, const struct file_ids *ids, size_t limit, uint32_t *first,
			uint32_t *count)
{
	uint64_t from = file_get(in), items = file_get(in);

	if (in->bad || items > file_left(in) || from < DT_MAX(ids->next, FIRST_NUMBER) || from > limit ||
	    items > limit - from + 1)
		return false;
	*first = (uint32_t)from;
	*count = (uint32_t)items;
	return true;
}

/* What became of an item: it has a number, or is lost (-EINVAL), or memory is out. */
static int note(struct file_ids *ids, uint32_t number, int rc, uint32_t id)
{
	if (rc == -ENOMEM)
		return rc;
	return file_ids_add(ids, number, rc < 0 ? 0 : id);
}

static int get_strings(struct file_decoder *decoder, struct file_input in)
{
	struct file_input lengths;
	uint32_t first, count;
	int rc = 0;

	if (!begin_items(&in, &decoder->strings, DT_PROFILE_STRINGS, &first, &count))
		return -EINVAL;
	lengths = file_get_column(&in, count);
	if (in.bad)
		return -EINVAL;
	for (uint32_t i = 0; i < count && rc == 0; i++) {
		uint64_t length = file_get(&lengths);
		uint32_t id = 0;

		if (length > file_left(&in) || length > DT_PROFILE_STRING || !length)
			return -EINVAL;
		rc = dt_profile_string(decoder->profile, (const char *)in.at, (size_t)length, &id);
		rc = note(&decoder->strings, first + i, rc, id);
		in.at += length;
	}
	return rc;
}

static int get_functions(struct file_decoder *decoder, struct file_input in)
{
	struct file_input names, files, lines, kinds;
	uint64_t name = 0, file = 0, line = 0;
	uint32_t first, count;
	int rc = 0;

	if (!begin_items(&in, &decoder->functions, DT_PROFILE_FUNCTIONS, &first, &count))
		return -EINVAL;
	names = file_get_column(&in, count);
	files = file_get_column(&in, count);
	lines = file_get_column(&in, count);
	kinds = file_get_column(&in, count);
	if (in.bad)
		return -EINVAL;
	for (uint32_t i = 0; i < count && rc == 0; i++) {
		struct dt_profile_function function;
		uint64_t kind = file_get(&kinds);
		uint32_t id = 0;
		bool whole = find_or_none(&decoder->strings, file_get_change(&names, &name), &function.name);

		whole &= find_or_none(&decoder->strings, file_get_change(&files, &file), &function.file);
		if (file_get_change(&lines, &line) > UINT32_MAX || kind > DT_FUNCTION_MARK)
			return -EINVAL;
		function.first_line = (uint32_t)line;
		function.kind = (enum dt_function_kind)kind;
		rc = whole ? dt_profile_function(decoder->profile, &function, &id) : -EINVAL;
		rc = note(&decoder->functions, first + i, rc, id);
	}
	return rc;
}

static int get_locations(struct file_decoder *decoder, struct file_input in)
{
	struct file_input functions, lines;
	uint64_t function = 0, line = 0;
	uint32_t first, count;
	int rc = 0;

	if (!begin_items(&in, &decoder->locations, DT_PROFILE_LOCATIONS, &first, &count))
		return -EINVAL;
	functions = file_get_column(&in, count);
	lines = file_get_column(&in, count);
	if (in.bad)
		return -EINVAL;
	for (uint32_t i = 0; i < count && rc == 0; i++) {
		struct dt_profile_location location;
		uint32_t id = 0;
		bool whole = file_ids_find(&decoder->functions, file_get_change(&functions, &function),
					   &location.function);

		if (file_get_change(&lines, &line) > UINT32_MAX)
			return -EINVAL;
		location.line = (uint32_t)line;
		rc = whole ? dt_profile_location(decoder->profile, &location, &id) : -EINVAL;
		rc = note(&decoder->locations, first + i, rc, id);
	}
	return rc;
}

static int get_stacks(struct file_decoder *decoder, struct file_input in)
{
	struct file_input parents, locations;
	uint64_t location = 0;
	uint32_t first, count;
	int rc = 0;

	if (!begin_items(&in, &decoder->stacks, DT_PROFILE_STACKS, &first, &count))
		return -EINVAL;
	parents = file_get_column(&in, count);
	locations = file_get_column(&in, count);
	if (in.bad)
		return -EINVAL;
	for (uint32_t i = 0; i < count && rc == 0; i++) {
		uint32_t number = first + i, parent, place, id = 0;
		uint64_t distance = file_get(&parents);
		bool whole = file_ids_find(&decoder->locations, file_get_change(&locations, &location), &place);

		if (!distance || distance > number)
			return -EINVAL;
		whole &= find_or_none(&decoder->stacks, number - distance, &parent);
		rc = whole ? dt_profile_stack(decoder->profile, parent, place, &id) : -EINVAL;
		rc = note(&decoder->stacks, number, rc, id);
	}
	return rc;
}

/* A process or thread that is known is changed, one with a new number is added; of one that was lost nothing is known
 * by which its runs could be believed, so it stays lost. */
static int get_processes(struct file_decoder *decoder, struct file_input in)
{
	struct file_ids *ids = &decoder->processes;
	uint64_t number = 0;

	while (file_left(&in)) {
		struct dt_profile_process process = {0};
		uint32_t id;
		int64_t pid, ppid;
		int rc = 0;

		file_get_change(&in, &number);
		pid = file_get_signed(&in);
		ppid = file_get_signed(&in);
		process.command = text_or_none(decoder, file_get(&in));
		process.executable = text_or_none(decoder, file_get(&in));
		process.version = text_or_none(decoder, file_get(&in));
		process.container = text_or_none(decoder, file_get(&in));
		process.began_ns = file_get(&in);
		process.ended_ns = file_get(&in);
		if (in.bad || !number || number > DT_PROFILE_PROCESSES || pid != (int32_t)pid || ppid != (int32_t)ppid)
			return -EINVAL;
		process.pid = (int32_t)pid;
		process.ppid = (int32_t)ppid;
		if (file_ids_find(ids, number, &id))
			rc = dt_profile_set_process(decoder->profile, id, &process);
		else if (number >= ids->next)
			rc = dt_profile_add_process(decoder->profile, &process, &id);
		if (rc == 0 && number >= ids->next)
			rc = file_ids_add(ids, (uint32_t)number, id);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* From version 1.3 on, behind the records of these processes. What it tells of one that is lost is lost, too. */
static int get_origins(struct file_decoder *decoder, struct file_input in)
{
	uint64_t count = file_get(&in), number = 0;
	struct file_input numbers, starts, images;
	int rc = 0;

	if (in.bad || count > file_left(&in))
		return -EINVAL;
	numbers = file_get_column(&in, count);
	starts = file_get_column(&in, count);
	images = file_get_column(&in, count);
	if (in.bad)
		return -EINVAL;
	for (uint64_t i = 0; i < count && rc == 0; i++) {
		uint64_t start_ns = file_get(&starts), image = file_get(&images);
		struct dt_profile_process process;
		uint32_t id;

		if (!file_ids_find(&decoder->processes, file_get_change(&numbers, &number), &id))
			continue;
		process = *dt_profile_process_at(decoder->profile, id);
		process.start_ns = start_ns;
		process.image = image;
		rc = dt_profile_set_process(decoder->profile, id, &process);
	}
	return rc;
}

static int get_threads(struct file_decoder *decoder, struct file_input in)
{
	struct file_ids *ids = &decoder->threads;
	uint64_t number = 0;

	while (file_left(&in)) {
		struct dt_profile_thread thread = {0};
		uint64_t main;
		uint32_t id;
		bool whole;
		int rc = 0;

		file_get_change(&in, &number);
		whole = file_ids_find(&decoder->processes, file_get(&in), &thread.process);
		thread.name = text_or_none(decoder, file_get(&in));
		thread.tid = file_get(&in);
		thread.ident = file_get(&in);
		thread.interpreter = file_get_signed(&in);
		main = file_get(&in);
		if (in.bad || !number || number > DT_PROFILE_THREADS || main > 1)
			return -EINVAL;
		thread.main = main;
		if (!whole)
			continue;
		if (file_ids_find(ids, number, &id))
			rc = dt_profile_set_thread(decoder->profile, id, &thread);
		else if (number >= ids->next)
			rc = dt_profile_add_thread(decoder->profile, &thread, &id);
		if (rc == 0 && number >= ids->next)
			rc = file_ids_add(ids, (uint32_t)number, id);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int get_meta(struct file_decoder *decoder, struct file_input in)
{
	struct dt_profile_meta meta = {0};
	struct dt_profile_quality *quality = &meta.quality;
	uint64_t *const numbers[] = {
	    &quality->samples,    &quality->rounds,     &quality->late,    &quality->unseen,
	    &quality->settled,    &quality->torn,       &quality->lost,    &quality->stops,
	    &quality->stopped_ns, &quality->own_cpu_ns, &quality->own_rss,
	};
	uint64_t rate = file_get_fixed(&in, sizeof(rate));

	memcpy(&meta.rate, &rate, sizeof(meta.rate));
	meta.began_realtime_ns = file_get(&in);
	meta.duration_ns = file_get(&in);
	meta.mode = text_or_none(decoder, file_get(&in));
	meta.rung = text_or_none(decoder, file_get(&in));
	meta.rung_why = text_or_none(decoder, file_get(&in));
	meta.host = text_or_none(decoder, file_get(&in));
	meta.darter = text_or_none(decoder, file_get(&in));
	for (size_t i = 0; i < DT_COUNT(numbers); i++)
		*numbers[i] = file_get(&in);
	if (file_left(&in)) { /* from version 1.1 on */
		meta.boot = text_or_none(decoder, file_get(&in));
		meta.began_boot_ns = file_get(&in);
	}
	if (file_left(&in)) /* from version 1.2 on */
		quality->missed = file_get(&in);
	if (file_left(&in)) { /* from version 1.3 on */
		meta.damaged_ns = file_get(&in);
		meta.damaged_samples = file_get(&in);
		meta.looked_ns = file_get(&in);
	}
	if (in.bad || meta.duration_ns > DT_PROFILE_TIME)
		return -EINVAL;
	decoder->end_ns = DT_MAX(decoder->end_ns, meta.duration_ns);
	dt_profile_set_meta(decoder->profile, &meta);
	return 0;
}

int file_decode(struct file_decoder *decoder, const uint8_t *payload, size_t size)
{
	struct file_input in = {payload, payload + size, false};
	int rc = 0;

	while (file_left(&in) && rc == 0) {
		uint64_t kind = file_get(&in), bytes = file_get(&in);
		struct file_input section = in;

		if (in.bad || bytes > file_left(&in))
			return -EINVAL;
		in.at += bytes;
		section.end = in.at;
		switch (kind) {
		case FILE_STRINGS:
			rc = get_strings(decoder, section);
			break;
		case FILE_FUNCTIONS:
			rc = get_functions(decoder, section);
			break;
		case FILE_LOCATIONS:
			rc = get_locations(decoder, section);
			break;
		case FILE_STACKS:
			rc = get_stacks(decoder, section);
			break;
		case FILE_PROCESSES:
			rc = get_processes(decoder, section);
			break;
		case FILE_THREADS:
			rc = get_threads(decoder, section);
			break;
		case FILE_RUNS:
			rc = file_decode_runs(decoder, section);
			break;
		case FILE_META:
			rc = get_meta(decoder, section);
			break;
		case FILE_ORIGINS:
			rc = get_origins(decoder, section);
			break;
		default: /* of a later version */
			break;
		}
	}
	return rc;
}
