/*
 * Reading a .darter file from its beginning to its end, block by block. Where a block is damaged the next one is looked
 * for: heads of blocks are known by their magic and a checksum with the key of this file, so bytes that only look like
 * one (a name that the target has chosen) are none. Memory is bounded: a block by FILE_PAYLOAD, all of them by how
 * much of the file has been read (FILE_RATIO).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file_lock.h"
#include "base/hash.h"
#include "base/util.h"
#include "profile/damage.h"
#include "profile/decode.h"
#include "profile/file.h"
#include "profile/pack.h"

#define FIRST_WINDOW ((size_t)64 << 10)
#define FREE_RAW     ((uint64_t)16 << 20) /* unpacked bytes that any file may have beyond FILE_RATIO */
/* Bytes that may be checked in vain: the inside of a block that is damaged is looked through for others, and a file
 * made of nothing but such heads would be read again for each of them. */
#define IN_VAIN ((uint64_t)256 << 20)

struct reader {
	int fd;
	const char *name;
	struct dt_file_state *state;
	struct file_decoder decoder;
	struct file_damage damage;
	uint8_t *bytes, *window; /* what was allocated, and in it the bytes of the file from `offset` on */
	size_t size, capacity;
	uint64_t offset;
	uint64_t good; /* where the last whole block ends */
	bool cut;      /* there begins another one, which goes on behind the end of the file */
	bool at_end;   /* nothing follows the window */
	uint8_t *raw;
	size_t raw_capacity;
	uint64_t key, raw_bytes, in_vain, next_number;
};

static int fail_memory(const struct reader *reader, struct dt_error *err)
{
	return dt_fail(err, DT_EMEMORY, "%s cannot be read: out of memory, or it holds more than a recording may",
		       reader->name);
}

static int fail_read(const struct reader *reader, int why, struct dt_error *err)
{
	dt_fail(err, DT_ERUNTIME, "%s cannot be read: %s", reader->name, strerror(why));
	errno = why;
	return DT_ERUNTIME;
}

/* Room behind the window: what was dropped before it is moved over, else it grows. */
static bool make_room(struct reader *reader)
{
	size_t capacity = reader->capacity ? reader->capacity * 2 : FIRST_WINDOW;
	uint8_t *bytes;

	if (reader->capacity && reader->window + reader->size < reader->bytes + reader->capacity)
		return true;
	if (reader->window != reader->bytes) {
		memmove(reader->bytes, reader->window, reader->size);
	} else {
		bytes = realloc(reader->bytes, capacity);
		if (!bytes)
			return false;
		reader->bytes = bytes;
		reader->capacity = capacity;
	}
	reader->window = reader->bytes;
	return true;
}

/* Reads on until the window has `size` bytes, or the file ends. It grows as bytes come, not as a head promises. */
static int fill(struct reader *reader, size_t size, struct dt_error *err)
{
	while (reader->size < size && !reader->at_end) {
		ssize_t got;

		if (!make_room(reader))
			return fail_memory(reader, err);
		got = read(reader->fd, reader->window + reader->size,
			   (size_t)(reader->bytes + reader->capacity - (reader->window + reader->size)));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fail_read(reader, errno, err);
		reader->at_end = !got;
		reader->size += (size_t)got;
		reader->state->file_bytes += (uint64_t)got;
	}
	return 0;
}

static void drop(struct reader *reader, size_t size)
{
	reader->window += size;
	reader->size -= size;
	reader->offset += size;
}

static int read_head(struct reader *reader, struct dt_error *err)
{
	struct file_head head;
	int rc = fill(reader, FILE_HEAD, err);
	size_t known = DT_MIN(reader->size, sizeof(file_magic));

	if (rc < 0)
		return rc;
	if (!known || memcmp(reader->window, file_magic, known) != 0) {
		dt_fail(err, DT_ERUNTIME, "%s is not a recording of darter%s", reader->name,
			known ? "" : ": it is empty");
		dt_hint(err, "'darter record -o FILE.darter' makes one");
		return DT_ERUNTIME;
	}
	if (reader->size < FILE_HEAD)
		return dt_fail(err, DT_ERUNTIME, "%s is cut off: there is nothing in it but the beginning of its head",
			       reader->name);
	if (!file_get_head(reader->window, &head))
		return dt_fail(err, DT_ERUNTIME, "%s is damaged: without its head nothing in it can be trusted",
			       reader->name);
	if (head.major != FILE_MAJOR) {
		dt_fail(err, DT_EUNSUPPORTED,
			"%s was written by a newer darter: its format is version %u.%u, this one reads %u.%u",
			reader->name, head.major, head.minor, FILE_MAJOR, FILE_MINOR);
		dt_hint(err, "read it with the darter that wrote it, or a later one");
		return DT_EUNSUPPORTED;
	}
	reader->key = head.key;
	drop(reader, FILE_HEAD);
	reader->state->read_bytes = FILE_HEAD;
	return 0;
}

/* Too few bytes for a head: of one they are the beginning. */
static void note_cut_head(struct reader *reader)
{
	size_t known = DT_MIN(reader->size, sizeof(file_block_magic));

	if (reader->offset == reader->good && known)
		reader->cut = !memcmp(reader->window, file_block_magic, known);
}

/* Brings the next thing that may be a block to the beginning of the window. False: there is none. */
static int find_block(struct reader *reader, struct file_block_head *head, bool *found, struct dt_error *err)
{
	for (;;) {
		const uint8_t *place;
		int rc = fill(reader, FILE_BLOCK, err);

		*found = false;
		if (rc == 0 && reader->size < FILE_BLOCK)
			note_cut_head(reader);
		if (rc < 0 || reader->size < FILE_BLOCK)
			return rc;
		place = memmem(reader->window, reader->size, file_block_magic, sizeof(file_block_magic));
		if (place != reader->window) {
			/* The magic may begin in the last bytes. */
			drop(reader,
			     place ? (size_t)(place - reader->window) : reader->size - sizeof(file_block_magic) + 1);
			continue;
		}
		*found = file_get_block_head(reader->window, reader->key, head) && head->number >= reader->next_number;
		if (*found)
			return 0;
		drop(reader, 1);
	}
}

static int get_payload(struct reader *reader, const struct file_block_head *head, const uint8_t **payload,
		       struct dt_error *err)
{
	*payload = NULL;
	if (head->packing == FILE_STORED) {
		if (head->raw == head->stored)
			*payload = reader->window + FILE_BLOCK;
		return 0;
	}
	if (head->packing != FILE_ZSTD || head->raw > FILE_PAYLOAD)
		return 0;
	if (!file_can_pack()) {
		dt_fail(err, DT_EUNSUPPORTED, "%s is compressed with zstd, which this darter does not read",
			reader->name);
		dt_hint(err, "a darter that was built with libzstd reads it");
		return DT_EUNSUPPORTED;
	}
	if (head->raw > reader->raw_capacity) {
		free(reader->raw);
		reader->raw_capacity = 0;
		reader->raw = malloc(head->raw);
		if (!reader->raw)
			return fail_memory(reader, err);
		reader->raw_capacity = head->raw;
	}
	if (file_unpack(reader->window + FILE_BLOCK, head->stored, reader->raw, head->raw))
		*payload = reader->raw;
	return 0;
}

/* A block whose bytes are as they were written. */
static int take_block(struct reader *reader, const struct file_block_head *head, struct dt_error *err)
{
	uint64_t may = FREE_RAW + FILE_RATIO * (reader->offset + FILE_BLOCK + head->stored);
	const uint8_t *payload;
	int rc;

	if (head->type != FILE_DATA && head->type != FILE_END)
		return 0;
	if (head->raw > may || reader->raw_bytes > may - head->raw) {
		reader->state->damaged++;
		return 0;
	}
	reader->raw_bytes += head->raw;
	rc = get_payload(reader, head, &payload, err);
	if (rc < 0)
		return rc;
	rc = payload ? file_decode(&reader->decoder, payload, head->raw) : -EINVAL;
	if (rc == -ENOMEM)
		return fail_memory(reader, err);
	if (rc < 0) {
		reader->state->damaged++;
		return 0;
	}
	reader->state->blocks++;
	reader->state->ended |= head->type == FILE_END;
	return 0;
}

static int read_block(struct reader *reader, const struct file_block_head *head, struct dt_error *err)
{
	uint64_t hurt = reader->state->damaged + reader->decoder.lost_runs;
	size_t size = FILE_BLOCK + head->stored;
	int rc = fill(reader, size, err);

	if (rc < 0)
		return rc;
	if (reader->offset == reader->good)
		reader->cut = reader->size < size && head->number == reader->next_number;
	if (reader->size < size || dt_hash64(reader->window + FILE_BLOCK, head->stored, reader->key) != head->sum) {
		reader->in_vain += DT_MIN(size, reader->size);
		drop(reader, reader->in_vain < IN_VAIN ? 1 : DT_MIN(size, reader->size));
		return 0;
	}
	rc = take_block(reader, head, err);
	if (rc < 0)
		return rc;
	reader->state->damaged += head->number - reader->next_number;
	reader->next_number = (uint64_t)head->number + 1;
	reader->state->read_bytes += size;
	drop(reader, size);
	hurt = reader->state->damaged + reader->decoder.lost_runs - hurt;
	rc = file_damage_note(&reader->damage, reader->decoder.end_ns, hurt);
	return rc < 0 ? fail_memory(reader, err) : 0;
}

static int read_blocks(struct reader *reader, struct dt_error *err)
{
	struct file_block_head head;
	bool found;
	int rc;

	reader->good = reader->offset;
	while ((rc = find_block(reader, &head, &found, err)) == 0 && found) {
		uint64_t before = reader->state->read_bytes;

		rc = read_block(reader, &head, err);
		if (rc < 0)
			return rc;
		if (reader->state->read_bytes != before)
			reader->good = reader->offset;
	}
	if (rc < 0)
		return rc;
	/* Behind the last whole one there was another, or what is left of it; behind the end there is none. */
	if (reader->offset + reader->size > reader->good) {
		reader->state->trailed = reader->state->ended;
		reader->state->cut = reader->cut && !reader->state->ended;
		reader->state->damaged += !reader->state->cut && !reader->state->ended;
	}
	return 0;
}

static int fail_empty(const struct reader *reader, struct dt_error *err)
{
	const struct dt_file_state *state = reader->state;

	if (state->growing && !state->damaged) {
		dt_fail(err, DT_EAGAIN, "%s is being written, and there is nothing in it yet", reader->name);
		dt_hint(err, "something is added each second: look again in a moment");
		return DT_EAGAIN;
	}
	if (state->damaged || state->cut) {
		dt_fail(err, DT_ERUNTIME, "%s is %s: no part of it can be read", reader->name,
			state->damaged ? "damaged" : "cut off in its first block");
		dt_hint(err, "if it was copied or sent, the file that it was made from may be whole");
		return DT_ERUNTIME;
	}
	return dt_fail(err, DT_EAGAIN, "%s is empty: the recording ended before anything was written to it",
		       reader->name);
}

int dt_profile_read(int fd, const char *name, struct dt_profile **profile, struct dt_file_state *state,
		    struct dt_error *err)
{
	struct reader reader = {.fd = fd, .name = name, .state = state};
	int rc;

	*state = (struct dt_file_state){.growing = dt_file_locked(fd)};
	reader.decoder.profile = dt_profile_new();
	if (!reader.decoder.profile)
		return fail_memory(&reader, err);
	rc = read_head(&reader, err);
	if (rc == 0)
		rc = read_blocks(&reader, err);
	if (rc == 0 && !state->blocks)
		rc = fail_empty(&reader, err);
	if (rc == 0 && file_damage_settle(&reader.damage, reader.decoder.profile) < 0)
		rc = fail_memory(&reader, err);
	state->lost_runs = reader.decoder.lost_runs;
	if (rc == 0)
		*profile = reader.decoder.profile;
	else
		dt_profile_free(reader.decoder.profile);
	file_decoder_release(&reader.decoder);
	file_damage_release(&reader.damage);
	free(reader.bytes);
	free(reader.raw);
	return rc;
}
