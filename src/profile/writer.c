/*
 * Writing a .darter file. A block is made in memory and goes out in one piece; what could not be written whole is cut
 * off again. The model is changed (runs forgotten, marks of change taken back) only when a block with them is safe.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_lock.h"
#include "base/hash.h"
#include "base/util.h"
#include "profile/encode.h"
#include "profile/file.h"
#include "profile/inside.h"
#include "profile/pack.h"

/* What belongs to one file, and is put back as it was if the move to another one fails. */
struct output {
	int fd;
	off_t end; /* where the next block goes; -1: nothing can be cut off there (a pipe) */
	uint64_t key, bytes;
	uint32_t number; /* of the next block */
	struct file_cursor cursor;
};

struct dt_writer {
	struct output output;
	struct dt_profile *profile;
	struct file_packer *packer; /* NULL: blocks are stored */
	struct file_encoder encoder;
	struct dt_buf payload, block;
};

static int out_of_memory(struct dt_error *err)
{
	errno = ENOMEM;
	return dt_fail(err, DT_EMEMORY, "the recording cannot be written: out of memory");
}

static int cannot_write(int why, struct dt_error *err)
{
	dt_fail(err, DT_ERUNTIME, "the recording cannot be written: %s", strerror(why));
	if (why == ENOSPC || why == EDQUOT)
		dt_hint(err, "make room there, or give a file on another disk with '-o FILE'");
	else if (why == EFBIG)
		dt_hint(err, "'ulimit -f' limits the size of files here, or the file system does");
	errno = why;
	return DT_ERUNTIME;
}

static off_t find_end(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat st;

	if (flags < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	return lseek(fd, 0, flags & O_APPEND ? SEEK_END : SEEK_CUR);
}

static bool cut_off(int fd, off_t end)
{
	return end >= 0 && ftruncate(fd, end) == 0 && lseek(fd, end, SEEK_SET) == end;
}

/* 0 or errno. */
static int write_all(struct output *output, const struct dt_buf *bytes)
{
	for (size_t done = 0; done < bytes->length;) {
		ssize_t put = write(output->fd, bytes->data + done, bytes->length - done);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0) {
			int why = put < 0 ? errno : EIO;

			/* Where it could not be cut off, it is not known any more where the end is. */
			if (!cut_off(output->fd, output->end))
				output->end = -1;
			return why;
		}
		done += (size_t)put;
	}
	if (output->end >= 0)
		output->end += (off_t)bytes->length;
	output->bytes += bytes->length;
	return 0;
}

static int begin_file(struct dt_writer *writer, int fd, struct dt_error *err)
{
	struct file_head head = {.major = FILE_MAJOR, .minor = FILE_MINOR, .key = dt_hash_seed()};
	int why;

	writer->output = (struct output){.fd = fd, .end = find_end(fd), .key = head.key};
	dt_file_lock(fd);
	dt_buf_clear(&writer->block);
	file_put_head(&writer->block, &head);
	if (writer->block.failed)
		return out_of_memory(err);
	why = write_all(&writer->output, &writer->block);
	return why ? cannot_write(why, err) : 0;
}

int dt_writer_new(int fd, struct dt_profile *profile, struct dt_writer **result, struct dt_error *err)
{
	struct dt_writer *writer = calloc(1, sizeof(*writer));
	int rc;

	if (!writer)
		return out_of_memory(err);
	writer->profile = profile;
	dt_buf_release(&writer->payload);
	dt_buf_release(&writer->block);
	file_encoder_init(&writer->encoder);
	writer->packer = file_packer_new();
	rc = file_can_pack() && !writer->packer ? out_of_memory(err) : begin_file(writer, fd, err);
	if (rc < 0) {
		int why = errno;

		dt_writer_free(writer);
		errno = why;
		return rc;
	}
	*result = writer;
	return 0;
}

void dt_writer_free(struct dt_writer *writer)
{
	if (!writer)
		return;
	file_packer_free(writer->packer);
	file_encoder_release(&writer->encoder);
	dt_buf_release(&writer->payload);
	dt_buf_release(&writer->block);
	free(writer);
}

uint64_t dt_writer_bytes(const struct dt_writer *writer)
{
	return writer->output.bytes;
}

/* The head is written over once the size of what is behind it is known. */
static void make_block(struct dt_writer *writer, enum file_block type)
{
	static const char space[FILE_BLOCK];
	const struct dt_buf *payload = &writer->payload;
	struct file_block_head head = {.type = type, .packing = FILE_ZSTD, .number = writer->output.number};
	struct dt_buf *block = &writer->block;

	dt_buf_clear(block);
	dt_buf_append(block, space, sizeof(space));
	if (!writer->packer || !file_pack(writer->packer, block, payload->data, payload->length) ||
	    (block->length - FILE_BLOCK) * FILE_RATIO < payload->length) {
		head.packing = FILE_STORED;
		block->length = FILE_BLOCK;
		dt_buf_append(block, payload->data, payload->length);
	}
	if (block->failed)
		return;
	head.stored = (uint32_t)(block->length - FILE_BLOCK);
	head.raw = (uint32_t)payload->length;
	head.sum = dt_hash64(block->data + FILE_BLOCK, head.stored, writer->output.key);
	file_put_block_head(block, &head, writer->output.key);
	if (block->failed)
		return;
	memcpy(block->data, block->data + block->length - FILE_BLOCK, FILE_BLOCK);
	block->length -= FILE_BLOCK;
}

static int write_block(struct dt_writer *writer, enum file_block type, struct dt_error *err)
{
	int why;

	if (!writer->payload.failed && !writer->encoder.failed)
		make_block(writer, type);
	if (writer->payload.failed || writer->encoder.failed || writer->block.failed) {
		writer->encoder.failed = false;
		dt_buf_clear(&writer->encoder.section);
		return out_of_memory(err);
	}
	why = write_all(&writer->output, &writer->block);
	if (why)
		return cannot_write(why, err);
	writer->output.number++;
	return 0;
}

/* All that is new, in as many blocks as it takes. The model stays as it is. */
static int write_new(struct dt_writer *writer, struct dt_error *err)
{
	struct file_cursor *cursor = &writer->output.cursor;
	const struct dt_profile *profile = writer->profile;

	cursor->meta = !profile->meta_set || (cursor->meta && !profile->meta_changed);
	cursor->looked_processes = profile->entries_changed ? 0 : cursor->processes;
	cursor->looked_threads = profile->entries_changed ? 0 : cursor->threads;
	for (;;) {
		struct file_cursor next = *cursor;
		int rc;

		dt_buf_clear(&writer->payload);
		file_encode(&writer->encoder, profile, &next, &writer->payload);
		if (!writer->payload.length && !writer->payload.failed && !writer->encoder.failed)
			return 0;
		rc = write_block(writer, FILE_DATA, err);
		if (rc < 0)
			return rc;
		*cursor = next;
	}
}

static void settle(struct dt_writer *writer, bool all)
{
	struct dt_profile *profile = writer->profile;

	/* A run that is in the file must not be joined with a later one any more. */
	profile_forget_first_runs(profile, writer->output.cursor.runs);
	writer->output.cursor.runs = 0;
	if (!all)
		return;
	if (profile->entries_changed) {
		for (uint32_t i = 1; i <= profile->processes.count; i++)
			profile_process_entry(profile, i)->changed = false;
		for (uint32_t i = 1; i <= profile->threads.count; i++)
			profile_thread_entry(profile, i)->changed = false;
	}
	profile->entries_changed = profile->meta_changed = false;
}

int dt_writer_flush(struct dt_writer *writer, struct dt_error *err)
{
	int rc = write_new(writer, err);
	int why = errno;

	settle(writer, rc == 0);
	errno = why;
	return rc;
}

int dt_writer_move(struct dt_writer *writer, int fd, struct dt_error *err)
{
	struct output before = writer->output;
	off_t start = find_end(fd);
	int rc = begin_file(writer, fd, err);

	if (rc == 0)
		rc = write_new(writer, err);
	if (rc < 0) {
		int why = errno;

		cut_off(fd, start);
		dt_file_unlock(fd);
		writer->output = before;
		errno = why;
		return rc;
	}
	dt_file_unlock(before.fd);
	settle(writer, true);
	return 0;
}

void dt_writer_resume(struct dt_writer *writer, int fd)
{
	dt_file_unlock(writer->output.fd);
	dt_file_lock(fd);
	writer->output.fd = fd;
	writer->output.end = find_end(fd);
}

int dt_writer_end(struct dt_writer *writer, struct dt_error *err)
{
	int rc = dt_writer_flush(writer, err);

	if (rc < 0)
		return rc;
	writer->output.cursor.meta = false;
	dt_buf_clear(&writer->payload);
	file_encode(&writer->encoder, writer->profile, &writer->output.cursor, &writer->payload);
	rc = write_block(writer, FILE_END, err);
	if (rc == 0)
		dt_file_unlock(writer->output.fd);
	return rc;
}
