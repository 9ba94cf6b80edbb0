/*
 * The .darter file. The first byte of an input says what the rest is: a file as it is ('f'), or payloads ('p'), each
 * behind its length in two bytes, which are put into a file whose sums are right: no search finds those by chance.
 * Whatever comes out must be a model that can be trusted, and the same once more after it was written and read again.
 */
#include "fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/util.h"
#include "profile/file.h"
#include "profile/pack.h"

#define KEY 7

static void put_payloads(struct dt_buf *out, const uint8_t *data, size_t size)
{
	file_put_head(out, &(struct file_head){.major = FILE_MAJOR, .key = KEY});
	for (uint32_t number = 0; size >= 2; number++) {
		uint32_t length = (uint32_t)DT_MIN(dt_get16(data), size - 2);
		struct file_block_head head = {.type = FILE_DATA, .number = number, .stored = length, .raw = length};

		head.sum = dt_hash64(data + 2, length, KEY);
		file_put_block_head(out, &head, KEY);
		dt_buf_append(out, (const char *)data + 2, length);
		data += 2 + length;
		size -= 2 + length;
	}
}

/* Every number names something, as profile.h promises. */
static void check(const struct dt_profile *profile)
{
	struct dt_profile_counts counts = dt_profile_counts(profile);
	dt_auto_free uint64_t *ends = calloc((size_t)counts.threads + 1, sizeof(*ends));

	MUST(ends);
	for (uint32_t i = 1; i <= counts.strings; i++)
		MUST(*dt_profile_text(profile, i));
	for (uint32_t i = 1; i <= counts.functions; i++) {
		const struct dt_profile_function *function = dt_profile_function_at(profile, i);

		MUST(function->name <= counts.strings && function->file <= counts.strings);
	}
	for (uint32_t i = 1; i <= counts.locations; i++)
		MUST(dt_profile_location_at(profile, i)->function - 1 < counts.functions);
	for (uint32_t i = 1; i <= counts.stacks; i++) {
		const struct dt_profile_stack *stack = dt_profile_stack_at(profile, i);

		MUST(stack->parent < i && stack->location - 1 < counts.locations);
		MUST(stack->depth == dt_profile_stack_at(profile, stack->parent)->depth + 1);
	}
	for (uint32_t i = 1; i <= counts.threads; i++)
		MUST(dt_profile_thread_at(profile, i)->process - 1 < counts.processes);
	for (size_t i = 0; i < counts.runs; i++) {
		const struct dt_profile_run *run = &dt_profile_runs(profile)[i];

		MUST(run->thread - 1 < counts.threads && run->stack <= counts.stacks && run->call <= counts.strings);
		MUST(run->state <= DT_STATE_STOPPED && run->flags < 16);
		MUST(run->start_ns >= ends[run->thread] && run->wall_ns <= DT_PROFILE_TIME - run->start_ns);
		ends[run->thread] = run->start_ns + run->wall_ns;
	}
}

static void write_and_read(struct dt_profile *profile)
{
	dt_auto_close int fd = memfd_create("again", MFD_CLOEXEC);
	struct dt_profile_counts before = dt_profile_counts(profile), after;
	struct dt_file_state state;
	struct dt_profile *again;
	struct dt_writer *writer;
	struct dt_error err;

	MUST(dt_writer_new(fd, profile, &writer, &err) == 0);
	MUST(dt_writer_end(writer, &err) == 0);
	dt_writer_free(writer);
	MUST(lseek(fd, 0, SEEK_SET) == 0);
	MUST(dt_profile_read(fd, "again", &again, &state, &err) == 0);
	MUST(state.ended && !state.damaged && !state.lost_runs && state.read_bytes == state.file_bytes);
	after = dt_profile_counts(again);
	MUST(!memcmp(&before, &after, sizeof(before)));
	dt_profile_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	dt_auto_close int fd = memfd_create("input", MFD_CLOEXEC);
	struct dt_buf bytes = DT_BUF_INIT;
	struct dt_profile *profile = NULL;
	struct dt_file_state state;
	struct dt_error err;

	if (size && data[0] == 'p')
		put_payloads(&bytes, data + 1, size - 1);
	else if (size)
		dt_buf_append(&bytes, (const char *)data + 1, size - 1);
	MUST(fd >= 0 && pwrite(fd, bytes.data, bytes.length, 0) == (ssize_t)bytes.length);
	if (dt_profile_read(fd, "input", &profile, &state, &err) == 0) {
		check(profile);
		MUST(state.blocks && state.file_bytes == bytes.length && state.read_bytes <= state.file_bytes);
		write_and_read(profile);
		dt_profile_free(profile);
	} else {
		MUST(!profile && *err.message);
	}
	dt_buf_release(&bytes);
	return 0;
}
