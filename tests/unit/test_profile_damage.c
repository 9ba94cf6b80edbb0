/* Damaged .darter files: cut at every length, with bytes flipped, with blocks taken out, made to do harm. What is read
 * is always part of what was written. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/buf.h"
#include "base/hash.h"
#include "profile/file.h"
#include "profile/pack.h"
#include "profile_example.h"
#include "profile_same.h"

#define MS      EXAMPLE_MS
#define SECONDS 12

struct recording {
	struct dt_profile *whole;
	char *bytes;
	size_t size;
	size_t ends[SECONDS + 3]; /* of the head, and of each block */
	size_t blocks;
};

/* The example and then a second each: a run of a thread of its own, on a stack that grows from block to block. */
static void add_second(struct dt_profile *profile, uint32_t second)
{
	struct dt_profile_thread thread = {.process = 1, .ident = 1000 + second};
	struct dt_profile_run run = {.wall_ns = 10 * MS, .cpu_ns = second, .samples = 1, .state = DT_STATE_RUNNING};
	char name[32];

	snprintf(name, sizeof(name), "second_%u", second);
	run.start_ns = (1000 + 1000 * (uint64_t)second) * MS;
	run.call = example_string(profile, name);
	run.stack = example_frame(profile, second % 4 ? dt_profile_counts(profile).stacks : 0, name, "<string>",
				  second);
	assert_int_equal(dt_profile_add_thread(profile, &thread, &run.thread), 0);
	assert_int_equal(dt_profile_add_run(profile, &run), 0);
	run.thread = 1;
	run.start_ns += 20 * MS;
	run.stack = 3;
	run.call = 0;
	assert_int_equal(dt_profile_add_run(profile, &run), 0);
}

static int set_up(void **state)
{
	struct recording *recording = calloc(1, sizeof(*recording));
	struct dt_profile *profile = example_profile();
	struct dt_writer *writer;
	struct dt_error err;
	int fd = example_file();

	recording->whole = example_profile();
	assert_int_equal(dt_writer_new(fd, profile, &writer, &err), 0);
	recording->ends[0] = dt_writer_bytes(writer);
	assert_int_equal(dt_writer_flush(writer, &err), 0);
	recording->ends[++recording->blocks] = dt_writer_bytes(writer);
	for (uint32_t i = 0; i < SECONDS; i++) {
		add_second(profile, i);
		add_second(recording->whole, i);
		assert_int_equal(dt_writer_flush(writer, &err), 0);
		recording->ends[++recording->blocks] = dt_writer_bytes(writer);
	}
	assert_int_equal(dt_writer_end(writer, &err), 0);
	recording->ends[++recording->blocks] = dt_writer_bytes(writer);
	recording->bytes = bytes_of(fd, &recording->size);
	dt_writer_free(writer);
	dt_profile_free(profile);
	close(fd);
	*state = recording;
	return 0;
}

static int tear_down(void **state)
{
	struct recording *recording = *state;

	dt_profile_free(recording->whole);
	free(recording->bytes);
	free(recording);
	return 0;
}

static int read_bytes(const void *bytes, size_t size, struct dt_profile **profile, struct dt_file_state *file,
		      struct dt_error *err)
{
	int fd = file_of(bytes, size);
	int rc = dt_profile_read(fd, "bad.darter", profile, file, err);

	close(fd);
	return rc;
}

/* Every run is one that was written, with the stack that it was written with. */
static void assert_part(const struct recording *recording, const struct dt_profile *profile)
{
	for (size_t i = 0; i < dt_profile_counts(profile).runs; i++)
		assert_true(has_run(recording->whole, profile, &dt_profile_runs(profile)[i]));
}

/* 22 runs of the example, then 2 of each second. */
static size_t runs_in(size_t blocks)
{
	return !blocks ? 0 : 22 + 2 * DT_MIN(blocks - 1, SECONDS);
}

static void test_cut_at_every_length(void **state)
{
	const struct recording *recording = *state;
	size_t whole = 0;

	for (size_t size = 0; size <= recording->size; size++) {
		struct dt_profile *profile = NULL;
		struct dt_file_state file;
		struct dt_error err;
		int rc = read_bytes(recording->bytes, size, &profile, &file, &err);

		while (whole < recording->blocks && recording->ends[whole + 1] <= size)
			whole++;
		if (!whole) {
			assert_int_equal(rc, size == FILE_HEAD ? DT_EAGAIN : DT_ERUNTIME);
			assert_null(profile);
			assert_non_null(strstr(err.message, "bad.darter is "));
			continue;
		}
		assert_int_equal(rc, 0);
		assert_int_equal(file.blocks, whole);
		assert_int_equal(file.damaged, 0);
		assert_int_equal(file.cut, size != recording->ends[whole]);
		assert_int_equal(file.read_bytes, recording->ends[whole]);
		assert_int_equal(file.file_bytes, size);
		assert_int_equal(file.ended, size == recording->size);
		assert_int_equal(dt_profile_counts(profile).runs, runs_in(whole));
		assert_part(recording, profile);
		dt_profile_free(profile);
	}
	assert_int_equal(whole, recording->blocks);
}

/* The end may be missing, and something else be wrong before it; or there is something behind the end. */
static void test_damaged_at_its_end(void **state)
{
	const struct recording *recording = *state;
	dt_auto_free char *bytes = malloc(2 * recording->size);
	struct dt_profile *profile;
	struct dt_file_state file;
	struct dt_error err;

	memcpy(bytes, recording->bytes, recording->size);
	memcpy(bytes + recording->size, recording->bytes + recording->ends[1], recording->size - recording->ends[1]);
	bytes[recording->ends[3] + 50] ^= 1;
	assert_int_equal(read_bytes(bytes, recording->ends[7] + 40, &profile, &file, &err), 0);
	assert_true(file.cut && file.damaged == 1 && !file.ended);
	dt_profile_free(profile);
	bytes[recording->ends[7]] ^= 1; /* the head of the one that is cut */
	assert_int_equal(read_bytes(bytes, recording->ends[7] + 40, &profile, &file, &err), 0);
	assert_true(!file.cut && file.damaged == 2);
	dt_profile_free(profile);
	assert_int_equal(read_bytes(bytes, recording->ends[7] + 20, &profile, &file, &err), 0);
	assert_true(!file.cut && file.damaged == 2);
	dt_profile_free(profile);
	assert_int_equal(read_bytes(bytes, recording->size + 3, &profile, &file, &err), 0);
	assert_true(!file.cut && file.ended && file.trailed && file.damaged == 2);
	dt_profile_free(profile);
	assert_int_equal(read_bytes(bytes, recording->size, &profile, &file, &err), 0);
	assert_true(!file.trailed && file.damaged == 2);
	dt_profile_free(profile);
}

/* A file is locked as long as it is written, and the lock is not noticed by who writes. */
static void test_still_being_written(void **state)
{
	char path[] = "/tmp/darter-growing-XXXXXX";
	int fd = mkstemp(path), other = open(path, O_RDONLY | O_CLOEXEC), next = example_file();
	struct dt_profile *profile = example_profile(), *read = NULL;
	struct dt_file_state file;
	struct dt_writer *writer;
	struct dt_error err;

	(void)state;
	assert_int_equal(dt_writer_new(fd, profile, &writer, &err), 0);
	assert_int_equal(dt_profile_read(other, "new", &read, &file, &err), DT_EAGAIN);
	assert_string_equal(err.message, "new is being written, and there is nothing in it yet");
	assert_int_equal(dt_writer_flush(writer, &err), 0);
	assert_int_equal(lseek(other, 0, SEEK_SET), 0);
	assert_int_equal(dt_profile_read(other, "more", &read, &file, &err), 0);
	assert_true(file.growing && !file.ended && !file.cut && !file.damaged);
	dt_profile_free(read);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(dt_profile_read(fd, "own", &read, &file, &err), 0);
	assert_false(file.growing);
	dt_profile_free(read);
	/* It goes on elsewhere: this one is cut off. */
	assert_int_equal(dt_writer_move(writer, next, &err), 0);
	assert_int_equal(lseek(other, 0, SEEK_SET), 0);
	assert_int_equal(dt_profile_read(other, "left", &read, &file, &err), 0);
	assert_true(!file.growing && !file.ended);
	dt_profile_free(read);
	dt_writer_resume(writer, fd);
	assert_int_equal(lseek(other, 0, SEEK_SET), 0);
	assert_int_equal(dt_profile_read(other, "again", &read, &file, &err), 0);
	assert_true(file.growing);
	dt_profile_free(read);
	assert_int_equal(dt_writer_end(writer, &err), 0);
	assert_int_equal(lseek(other, 0, SEEK_SET), 0);
	assert_int_equal(dt_profile_read(other, "ended", &read, &file, &err), 0);
	assert_true(!file.growing);
	dt_profile_free(read);
	dt_writer_free(writer);
	dt_profile_free(profile);
	close(fd);
	close(other);
	close(next);
	unlink(path);
}

/* Every byte once, in one of its bits. All blocks but the one that it lies in are read. */
static void test_flip_every_byte(void **state)
{
	const struct recording *recording = *state;
	dt_auto_free char *bytes = malloc(recording->size);
	size_t block = 0;

	memcpy(bytes, recording->bytes, recording->size);
	for (size_t at = 0; at < recording->size; at++) {
		struct dt_profile *profile = NULL;
		struct dt_file_state file;
		struct dt_error err;
		int rc;

		bytes[at] = (char)(bytes[at] ^ 1 << at % 8);
		rc = read_bytes(bytes, recording->size, &profile, &file, &err);
		bytes[at] = recording->bytes[at];
		while (at >= recording->ends[block])
			block++;
		if (!block) {
			assert_int_equal(rc, DT_ERUNTIME);
			continue;
		}
		assert_int_equal(rc, 0);
		assert_int_equal(file.blocks, recording->blocks - 1);
		assert_int_equal(file.damaged, 1);
		assert_int_equal(file.ended, block != recording->blocks);
		assert_int_equal(file.read_bytes,
				 recording->size - (recording->ends[block] - recording->ends[block - 1]));
		assert_part(recording, profile);
		assert_true(dt_profile_counts(profile).runs + file.lost_runs + 2 >= runs_in(recording->blocks) ||
			    block == 1);
		dt_profile_free(profile);
	}
}

/* One block after the other is taken out whole: what needs it is left out, all else is there. */
static void test_take_a_block_out(void **state)
{
	const struct recording *recording = *state;

	for (size_t block = 1; block <= recording->blocks; block++) {
		size_t from = recording->ends[block - 1], to = recording->ends[block];
		dt_auto_free char *bytes = malloc(recording->size);
		struct dt_profile *profile;
		struct dt_file_state file;
		struct dt_error err;

		memcpy(bytes, recording->bytes, from);
		memcpy(bytes + from, recording->bytes + to, recording->size - to);
		assert_int_equal(read_bytes(bytes, recording->size - (to - from), &profile, &file, &err), 0);
		assert_int_equal(file.damaged, block < recording->blocks);
		assert_part(recording, profile);
		if (block > 1 && block < recording->blocks) {
			/* Seconds on the stack of this one, up to the next stack of its own. */
			size_t dependent = 3 - (block - 2) % 4;

			assert_int_equal(file.lost_runs, dependent);
			assert_int_equal(dt_profile_counts(profile).runs, runs_in(recording->blocks) - 2 - dependent);
		} else if (block == 1) {
			assert_int_equal(dt_profile_counts(profile).runs, 0);
			assert_int_equal(file.lost_runs, 2 * SECONDS);
		}
		dt_profile_free(profile);
	}
}

/* What a writer leaves behind that could not cut off a block that was not written whole (a pipe). */
static void test_rest_of_a_block_between(void **state)
{
	const struct recording *recording = *state;
	size_t at = recording->ends[4];

	for (size_t rest = 1; rest < recording->ends[5] - at; rest += 7) {
		dt_auto_free char *bytes = malloc(recording->size + rest);
		struct dt_profile *profile;
		struct dt_file_state file;
		struct dt_error err;

		memcpy(bytes, recording->bytes, at);
		memcpy(bytes + at, recording->bytes + at, rest);
		memcpy(bytes + at + rest, recording->bytes + at, recording->size - at);
		assert_int_equal(read_bytes(bytes, recording->size + rest, &profile, &file, &err), 0);
		assert_same_profile(profile, recording->whole);
		assert_int_equal(file.blocks, recording->blocks);
		dt_profile_free(profile);
	}
}

/* A damaged file that is read and written again is a whole one. */
static void test_repair(void **state)
{
	const struct recording *recording = *state;
	struct dt_profile *profile, *again;
	struct dt_file_state file;
	struct dt_writer *writer;
	struct dt_error err;
	int fd = example_file();
	size_t runs;

	assert_int_equal(read_bytes(recording->bytes, recording->ends[7] + 9, &profile, &file, &err), 0);
	assert_false(file.ended);
	runs = dt_profile_counts(profile).runs;
	assert_int_equal(runs, runs_in(7));
	assert_int_equal(dt_writer_new(fd, profile, &writer, &err), 0);
	assert_int_equal(dt_writer_end(writer, &err), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(dt_profile_read(fd, "repaired.darter", &again, &file, &err), 0);
	assert_true(file.ended);
	assert_int_equal(file.damaged, 0);
	assert_int_equal(dt_profile_counts(again).runs, runs);
	assert_part(recording, again);
	dt_profile_free(again);
	dt_writer_free(writer);
	dt_profile_free(profile);
	close(fd);
}

/* ---- files that were made by somebody ---- */

#define KEY UINT64_C(0x0123456789abcdef)

static void put_head(struct dt_buf *out, uint16_t major)
{
	file_put_head(out, &(struct file_head){.major = major, .key = KEY});
}

static void put_block(struct dt_buf *out, uint8_t type, uint8_t packing, uint32_t number, uint32_t raw,
		      const struct dt_buf *payload)
{
	struct file_block_head head = {.type = type, .packing = packing, .number = number, .raw = raw};

	head.stored = (uint32_t)payload->length;
	head.sum = dt_hash64(payload->data, payload->length, KEY);
	file_put_block_head(out, &head, KEY);
	dt_buf_append(out, payload->data, payload->length);
}

static void put_section(struct dt_buf *out, uint64_t kind, const struct dt_buf *content)
{
	file_put(out, kind);
	file_put(out, content->length);
	dt_buf_append(out, content->data, content->length);
}

static void put_strings(struct dt_buf *out, uint64_t first, const char *const *texts, size_t count)
{
	struct dt_buf content = DT_BUF_INIT;

	file_put(&content, first);
	file_put(&content, count);
	for (size_t i = 0; i < count; i++)
		file_put(&content, strlen(texts[i]));
	for (size_t i = 0; i < count; i++)
		dt_buf_puts(&content, texts[i]);
	put_section(out, FILE_STRINGS, &content);
	dt_buf_release(&content);
}

static void test_versions(void **state)
{
	struct dt_buf bytes = DT_BUF_INIT;
	struct dt_profile *profile;
	struct dt_file_state file;
	struct dt_error err;

	(void)state;
	put_head(&bytes, 2);
	assert_int_equal(read_bytes(bytes.data, bytes.length, &profile, &file, &err), DT_EUNSUPPORTED);
	assert_string_equal(err.message,
			    "bad.darter was written by a newer darter: its format is version 2.0, this one "
			    "reads 1.3");
	assert_string_equal(err.hint, "read it with the darter that wrote it, or a later one");
	assert_int_equal(read_bytes("{\"$schema\": 1}", 14, &profile, &file, &err), DT_ERUNTIME);
	assert_string_equal(err.message, "bad.darter is not a recording of darter");
	assert_int_equal(read_bytes("", 0, &profile, &file, &err), DT_ERUNTIME);
	assert_string_equal(err.message, "bad.darter is not a recording of darter: it is empty");
	dt_buf_release(&bytes);
}

/* A later version adds kinds of blocks, kinds of sections, and words behind what a section has now. */
static void test_unknown_is_skipped(void **state)
{
	static const char *const texts[] = {"one", "two"};
	struct dt_buf bytes = DT_BUF_INIT, payload = DT_BUF_INIT, other = DT_BUF_INIT;
	struct dt_profile *profile;
	struct dt_file_state file;
	struct dt_error err;

	(void)state;
	dt_buf_puts(&other, "anything at all");
	put_section(&payload, 99, &other);
	put_strings(&payload, 1, texts, 2);
	put_head(&bytes, 1);
	put_block(&bytes, 77, 5, 0, 1, &other);
	put_block(&bytes, FILE_DATA, FILE_STORED, 1, (uint32_t)payload.length, &payload);
	assert_int_equal(read_bytes(bytes.data, bytes.length, &profile, &file, &err), 0);
	assert_int_equal(file.blocks, 1);
	assert_int_equal(file.damaged, 0);
	assert_int_equal(file.read_bytes, bytes.length);
	assert_int_equal(dt_profile_counts(profile).strings, 2);
	assert_string_equal(dt_profile_text(profile, 2), "two");
	dt_profile_free(profile);
	dt_buf_release(&bytes);
	dt_buf_release(&payload);
	dt_buf_release(&other);
}

/* A target that has a block of a .darter file as the name of a function does not get it in, wherever the damage is. */
static void test_a_block_in_a_name(void **state)
{
	static const char *const texts[] = {"planted"};
	struct dt_buf planted = DT_BUF_INIT, payload = DT_BUF_INIT;
	struct dt_profile *profile = example_profile(), *again;
	struct dt_file_state file;
	struct dt_writer *writer;
	struct dt_error err;
	int fd = example_file();
	char *bytes, *place;
	size_t size;

	(void)state;
	put_strings(&payload, 500, texts, 1);
	put_block(&planted, FILE_DATA, FILE_STORED, 50, (uint32_t)payload.length, &payload);
	for (size_t i = 0; i < planted.length; i++)
		if (!planted.data[i])
			planted.data[i] = 1; /* a name has no NUL, and this shows that a checksum decides */
	example_string(profile, planted.data);
	assert_int_equal(dt_writer_new(fd, profile, &writer, &err), 0);
	assert_int_equal(dt_writer_flush(writer, &err), 0);
	add_second(profile, 0);
	assert_int_equal(dt_writer_end(writer, &err), 0);
	bytes = bytes_of(fd, &size);
	place = bytes + FILE_HEAD + FILE_BLOCK + 1;
	*place = (char)(*place ^ 1);
	assert_int_equal(read_bytes(bytes, size, &again, &file, &err), 0);
	for (uint32_t i = 1; i <= dt_profile_counts(again).strings; i++)
		assert_string_not_equal(dt_profile_text(again, i), "planted");
	free(bytes);
	dt_profile_free(again);
	dt_writer_free(writer);
	dt_profile_free(profile);
	dt_buf_release(&planted);
	dt_buf_release(&payload);
	close(fd);
}

/* Payloads with the right checksum that make no sense. */
static void test_senseless(void **state)
{
	static const struct {
		uint8_t bytes[24];
		size_t size;
	} cases[] = {
	    {{FILE_STRINGS}, 1},                    /* no size */
	    {{FILE_STRINGS, 200}, 2},               /* a number that goes on */
	    {{FILE_STRINGS, 5, 1, 1, 1}, 5},        /* longer than the payload */
	    {{FILE_STRINGS, 4, 1, 1, 2, 'x'}, 6},   /* a text behind the end */
	    {{FILE_STRINGS, 4, 0, 1, 1, 'x'}, 6},   /* number 0 */
	    {{FILE_STRINGS, 4, 1, 100, 1, 'x'}, 6}, /* more than there are */
	    {{FILE_STRINGS, 2, 1, 200}, 4},         /* the count goes on */
	    {{FILE_STRINGS, 12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1, 1}, 14}, /* a huge number */
	    {{FILE_STRINGS, 12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 1, 1}, 14}, /* of 65 bits */
	    {{FILE_FUNCTIONS, 6, 1, 1, 0, 0, 0, 3}, 8},             /* a kind that is none */
	    {{FILE_FUNCTIONS, 5, 1, 1, 0, 0, 0}, 7},                /* a column is missing */
	    {{FILE_STACKS, 4, 1, 1, 2, 2}, 6},                      /* a parent below 0 */
	    {{FILE_STACKS, 4, 1, 1, 0, 2}, 6},                      /* its own parent */
	    {{FILE_PROCESSES, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 11},   /* number 0 */
	    {{FILE_PROCESSES, 9, 2, 0, 0, 0, 0, 0, 0, 5, 2}, 11},   /* it ends before it begins */
	    {{FILE_THREADS, 7, 2, 1, 0, 0, 0, 0, 2}, 9},            /* neither true nor false */
	    {{FILE_RUNS, 1, 1}, 3},                                 /* nothing follows */
	    {{FILE_RUNS, 11, 1, 1, 0, 0, 0, 3, 1, 1, 1, 0, 0}, 13}, /* more times than runs have */
	    {{FILE_META, 3, 0, 0, 0}, 5},                           /* cut short */
	    {{FILE_ORIGINS, 3, 2, 2, 2}, 5},                        /* a column is missing */
	    {{FILE_ORIGINS, 4, 100, 2, 2, 2}, 6},                   /* more than there are */
	};
	struct dt_profile *profile = NULL;
	struct dt_file_state file;
	struct dt_error err;

	(void)state;
	for (size_t i = 0; i < DT_COUNT(cases); i++) {
		struct dt_buf bytes = DT_BUF_INIT, payload = DT_BUF_INIT;

		dt_buf_append(&payload, (const char *)cases[i].bytes, cases[i].size);
		put_head(&bytes, 1);
		put_block(&bytes, FILE_DATA, FILE_STORED, 0, (uint32_t)payload.length, &payload);
		assert_int_equal(read_bytes(bytes.data, bytes.length, &profile, &file, &err), DT_ERUNTIME);
		assert_string_equal(err.message, "bad.darter is damaged: no part of it can be read");
		assert_int_equal(file.damaged, 1);
		dt_buf_release(&bytes);
		dt_buf_release(&payload);
	}
}

/* A file of version 1.0 does not tell of the boot, one of 1.1 not of processes that were missed, and one of
 * 1.2 not of what was damaged or looked at beside each other; one of a later
 * version has more behind it. */
static void test_meta_of_other_versions(void **state)
{
	static const char *const texts[] = {"ae3a6ebc"};
	static const struct {
		size_t numbers;
		uint32_t boot;
		uint64_t began_ns, missed, damaged_ns, damaged_samples, looked_ns;
	} cases[] = {{18, 0, 0, 0, 0, 0, 0},
		     {20, 1, 7, 0, 0, 0, 0},
		     {21, 1, 7, 9, 0, 0, 0},
		     {24, 1, 7, 9, 10, 11, 12},
		     {28, 1, 7, 9, 10, 11, 12}};

	(void)state;
	for (size_t i = 0; i < DT_COUNT(cases); i++) {
		struct dt_buf bytes = DT_BUF_INIT, payload = DT_BUF_INIT, meta = DT_BUF_INIT;
		struct dt_profile *profile;
		struct dt_file_state file;
		struct dt_error err;

		put_strings(&payload, 1, texts, 1);
		file_put_fixed(&meta, 0, 8);
		for (size_t k = 0; k < cases[i].numbers; k++)
			file_put(&meta, k == 0 ? 5 : k == 18 ? 1 : k == 19 ? 7 : k >= 20 ? k - 11 : 0);
		put_section(&payload, FILE_META, &meta);
		put_head(&bytes, 1);
		put_block(&bytes, FILE_END, FILE_STORED, 0, (uint32_t)payload.length, &payload);
		assert_int_equal(read_bytes(bytes.data, bytes.length, &profile, &file, &err), 0);
		assert_true(file.ended && !file.damaged);
		assert_int_equal(dt_profile_meta(profile)->began_realtime_ns, 5);
		assert_int_equal(dt_profile_meta(profile)->boot, cases[i].boot);
		assert_int_equal(dt_profile_meta(profile)->began_boot_ns, cases[i].began_ns);
		assert_int_equal(dt_profile_meta(profile)->quality.missed, cases[i].missed);
		assert_int_equal(dt_profile_meta(profile)->damaged_ns, cases[i].damaged_ns);
		assert_int_equal(dt_profile_meta(profile)->damaged_samples, cases[i].damaged_samples);
		assert_int_equal(dt_profile_meta(profile)->looked_ns, cases[i].looked_ns);
		dt_profile_free(profile);
		dt_buf_release(&bytes);
		dt_buf_release(&payload);
		dt_buf_release(&meta);
	}
}

/* Of a process that is not there nothing is told, and a later version has more columns. A process whose record comes
 * again has the origin that comes with that. */
static void test_origins(void **state)
{
	static const uint8_t payloads[][32] = {
	    {FILE_PROCESSES, 9, 2, 2, 0, 0, 0, 0, 0, 0, 0, FILE_ORIGINS, 9, 2, 2, 2, 7, 8, 9, 10, 1, 1},
	    {FILE_PROCESSES, 9, 2, 2, 0, 0, 0, 0, 0, 0, 0, FILE_ORIGINS, 4, 1, 2, 17, 19},
	};
	static const size_t sizes[] = {22, 17};
	static const uint64_t truths[][2] = {{7, 9}, {17, 19}};
	struct dt_profile *profile;
	struct dt_file_state file;
	struct dt_error err;

	(void)state;
	for (size_t i = 0; i < DT_COUNT(payloads); i++) {
		struct dt_buf bytes = DT_BUF_INIT;

		put_head(&bytes, 1);
		for (uint32_t k = 0; k <= i; k++) {
			struct dt_buf payload = DT_BUF_INIT;

			dt_buf_append(&payload, (const char *)payloads[k], sizes[k]);
			put_block(&bytes, k < i ? FILE_DATA : FILE_END, FILE_STORED, k, (uint32_t)payload.length,
				  &payload);
			dt_buf_release(&payload);
		}
		assert_int_equal(read_bytes(bytes.data, bytes.length, &profile, &file, &err), 0);
		assert_true(file.ended && !file.damaged);
		assert_int_equal(dt_profile_counts(profile).processes, 1);
		assert_int_equal(dt_profile_process_at(profile, 1)->start_ns, truths[i][0]);
		assert_int_equal(dt_profile_process_at(profile, 1)->image, truths[i][1]);
		dt_profile_free(profile);
		dt_buf_release(&bytes);
	}
}

/* A run of a thread, on stacks and at times that are not there. */
static void test_runs_that_point_nowhere(void **state)
{
	static const uint8_t thread[] = {FILE_PROCESSES, 9, 2, 0, 0, 0, 0, 0, 0, 0, 0,
					 FILE_THREADS,   7, 2, 1, 0, 0, 0, 0, 1};
	/* count, thread, stack, kind, call, two times: 0 and 5, start, length, cpu, samples */
	static const uint8_t good[] = {FILE_RUNS, 12, 1, 1, 0, 1, 0, 2, 0, 5, 0, 1, 3, 1};
	static const struct {
		size_t at;
		uint8_t value;
		bool lost; /* the run alone; else the block */
	} cases[] = {{3, 2, true},   {4, 1, true},   {5, 6, true},  {6, 1, true},
		     {10, 1, false}, {10, 4, false}, {11, 2, false}};
	struct dt_profile *profile = NULL;
	struct dt_file_state file;
	struct dt_error err;

	(void)state;
	for (size_t i = 0; i <= DT_COUNT(cases); i++) {
		struct dt_buf bytes = DT_BUF_INIT, payload = DT_BUF_INIT;

		dt_buf_append(&payload, (const char *)thread, sizeof(thread));
		dt_buf_append(&payload, (const char *)good, sizeof(good));
		if (i < DT_COUNT(cases))
			payload.data[sizeof(thread) + cases[i].at] = (char)cases[i].value;
		put_head(&bytes, 1);
		put_block(&bytes, FILE_DATA, FILE_STORED, 0, (uint32_t)payload.length, &payload);
		if (i < DT_COUNT(cases) && !cases[i].lost) {
			assert_int_equal(read_bytes(bytes.data, bytes.length, &profile, &file, &err), DT_ERUNTIME);
		} else {
			assert_int_equal(read_bytes(bytes.data, bytes.length, &profile, &file, &err), 0);
			assert_int_equal(file.lost_runs, i < DT_COUNT(cases));
			assert_int_equal(dt_profile_counts(profile).runs, i == DT_COUNT(cases));
			dt_profile_free(profile);
		}
		dt_buf_release(&bytes);
		dt_buf_release(&payload);
	}
}

/* Much in a few bytes: such a file is not unpacked beyond what a recording of its size could have. */
static void test_bomb(void **state)
{
	struct dt_buf bytes = DT_BUF_INIT, payload = DT_BUF_INIT, packed = DT_BUF_INIT, other = DT_BUF_INIT;
	struct file_packer *packer = file_packer_new();
	struct dt_profile *profile;
	struct dt_file_state file;
	struct dt_error err;

	(void)state;
	if (!file_can_pack())
		skip();
	for (size_t i = 0; i < FILE_PAYLOAD - 16; i++)
		dt_buf_putc(&other, 0);
	put_section(&payload, 99, &other);
	assert_true(payload.length <= FILE_PAYLOAD);
	assert_true(file_pack(packer, &packed, payload.data, payload.length));
	assert_true(packed.length < 20000);
	put_head(&bytes, 1);
	for (uint32_t i = 0; i < 1000; i++)
		put_block(&bytes, FILE_DATA, FILE_ZSTD, i, (uint32_t)payload.length, &packed);
	assert_int_equal(read_bytes(bytes.data, bytes.length, &profile, &file, &err), 0);
	assert_true(file.damaged > 900);
	assert_int_equal(file.blocks + file.damaged, 1000);
	dt_profile_free(profile);

	/* A size that is not the true one, and one that is beyond all bounds. */
	dt_buf_clear(&bytes);
	put_head(&bytes, 1);
	put_block(&bytes, FILE_DATA, FILE_ZSTD, 0, (uint32_t)payload.length - 1, &packed);
	put_block(&bytes, FILE_DATA, FILE_ZSTD, 1, (uint32_t)payload.length + 1, &packed);
	put_block(&bytes, FILE_DATA, FILE_ZSTD, 2, UINT32_MAX, &packed);
	put_block(&bytes, FILE_DATA, FILE_STORED, 3, 5, &packed);
	assert_int_equal(read_bytes(bytes.data, bytes.length, &profile, &file, &err), DT_ERUNTIME);
	assert_int_equal(file.damaged, 4);
	file_packer_free(packer);
	dt_buf_release(&bytes);
	dt_buf_release(&payload);
	dt_buf_release(&packed);
	dt_buf_release(&other);
}

/* A build without zstd says so; one with it sees that this is none. */
static void test_packed(void **state)
{
	struct dt_buf bytes = DT_BUF_INIT, payload = DT_BUF_INIT;
	struct dt_profile *profile = NULL;
	struct dt_file_state file;
	struct dt_error err;
	int rc;

	(void)state;
	dt_buf_puts(&payload, "not packed");
	put_head(&bytes, 1);
	put_block(&bytes, FILE_DATA, FILE_ZSTD, 0, 100, &payload);
	rc = read_bytes(bytes.data, bytes.length, &profile, &file, &err);
	if (file_can_pack()) {
		assert_int_equal(rc, DT_ERUNTIME);
		assert_string_equal(err.message, "bad.darter is damaged: no part of it can be read");
	} else {
		assert_int_equal(rc, DT_EUNSUPPORTED);
		assert_string_equal(err.message, "bad.darter is compressed with zstd, which this darter does not read");
		assert_string_equal(err.hint, "a darter that was built with libzstd reads it");
	}
	assert_null(profile);
	dt_buf_release(&bytes);
	dt_buf_release(&payload);
}

/* Heads without end, each of which promises a large block: that is not read again for every one of them. */
static void test_heads_without_end(void **state)
{
	struct dt_buf bytes = DT_BUF_INIT;
	struct dt_profile *profile;
	struct dt_file_state file;
	struct dt_error err;

	(void)state;
	put_head(&bytes, 1);
	for (uint32_t i = 0; i < 300000; i++)
		file_put_block_head(
		    &bytes, &(struct file_block_head){FILE_DATA, FILE_STORED, i, FILE_PAYLOAD, FILE_PAYLOAD, 0}, KEY);
	assert_int_equal(read_bytes(bytes.data, bytes.length, &profile, &file, &err), DT_ERUNTIME);
	assert_string_equal(err.message, "bad.darter is cut off in its first block: no part of it can be read");
	assert_int_equal(file.file_bytes, bytes.length);
	dt_buf_release(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_cut_at_every_length, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_flip_every_byte, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_damaged_at_its_end, set_up, tear_down),
	    cmocka_unit_test(test_still_being_written),
	    cmocka_unit_test_setup_teardown(test_take_a_block_out, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_rest_of_a_block_between, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_repair, set_up, tear_down),
	    cmocka_unit_test(test_versions),
	    cmocka_unit_test(test_meta_of_other_versions),
	    cmocka_unit_test(test_unknown_is_skipped),
	    cmocka_unit_test(test_a_block_in_a_name),
	    cmocka_unit_test(test_senseless),
	    cmocka_unit_test(test_origins),
	    cmocka_unit_test(test_runs_that_point_nowhere),
	    cmocka_unit_test(test_packed),
	    cmocka_unit_test(test_bomb),
	    cmocka_unit_test(test_heads_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
