/*
 * The .darter file: a profile on disk, append-only. It begins with a head {magic, version}; then blocks follow, each
 * with its size, a checksum and a payload that is compressed on its own (zstd, or stored where there is none). A block
 * holds what was added to the profile since the block before it, so everything up to the last whole block can be read
 * whatever happened to the writer. docs/darter-file.md describes every byte.
 */
#ifndef DT_PROFILE_FILE_H
#define DT_PROFILE_FILE_H

#include "base/error.h"
#include "profile/profile.h"

struct dt_writer;

/* Writes to a descriptor, which stays the caller's, from its current place on; until the end, or until it is closed,
 * the file is locked for those who read it (dt_file_state.growing). The profile is borrowed; it must be new, or all
 * that is in it goes into the first block. 0, DT_EMEMORY, or DT_ERUNTIME with errno and the reason in *err. */
int dt_writer_new(int fd, struct dt_profile *profile, struct dt_writer **writer, struct dt_error *err);

/* Writes a block with what was added since the last one, and forgets the runs of the profile. Nothing is written if
 * there is nothing new. A block that could not be written whole is cut off again where that is possible, and its
 * content is kept: the next call tries again, also with another descriptor (dt_writer_move). */
int dt_writer_flush(struct dt_writer *writer, struct dt_error *err);

/* Goes on in another file (rotation; a disk that is full): that one gets a head, and a first block with everything that
 * is still needed to understand later ones, and with what the old file did not take. If that fails the new file is as
 * it was, and the writer stays with the old one. */
int dt_writer_move(struct dt_writer *writer, int fd, struct dt_error *err);

/* Goes on in another file that begins with a copy of all that is in the old one, and whose offset is at its end. */
void dt_writer_resume(struct dt_writer *writer, int fd);

/* The last block: meta and quality. */
int dt_writer_end(struct dt_writer *writer, struct dt_error *err);

uint64_t dt_writer_bytes(const struct dt_writer *writer);
void dt_writer_free(struct dt_writer *writer);

/* What is the matter with a file that could be read in part. */
struct dt_file_state {
	bool ended;          /* the last block is there: the recording was finished */
	bool trailed;        /* by bytes that are no part of it: nothing is lost */
	bool growing;        /* somebody else was still writing it when reading began */
	bool cut;            /* it ends within a block */
	uint64_t read_bytes; /* of whole blocks */
	uint64_t file_bytes;
	uint64_t blocks, damaged; /* blocks that were read, and that had to be left out but for the one cut */
	uint64_t lost_runs;       /* in blocks that were read, but what they speak of was in one that was left out */
};

/* Reads a file. A file that was cut short or is damaged gives what can be read, and says so in *state; only one that
 * holds nothing readable fails: with DT_EAGAIN if nothing was lost, because nothing has been written yet. The name is
 * for words. */
int dt_profile_read(int fd, const char *name, struct dt_profile **profile, struct dt_file_state *state,
		    struct dt_error *err);

#endif
