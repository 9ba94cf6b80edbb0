/*
 * Numbers and blocks of the .darter file, as bytes: docs/darter-file.md describes them. What is read is hostile; what
 * is got behind the end is 0 and sets `bad`, so a caller asks once at the end.
 */
#ifndef DT_PROFILE_PACK_H
#define DT_PROFILE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

#define FILE_MAJOR   1
#define FILE_MINOR   3
#define FILE_HEAD    32                 /* bytes of the head of a file */
#define FILE_BLOCK   32                 /* bytes of the head of a block */
#define FILE_PAYLOAD ((size_t)16 << 20) /* bytes of a payload at most, packed or not */

/* A payload is packed to no less than this part of it, and of a file that says otherwise not everything is unpacked: no
 * recording comes near, only what was made to fill memory. */
#define FILE_RATIO 64

enum file_block {
	FILE_DATA = 1,
	FILE_END = 2, /* the same, and the last one */
};

enum file_packing {
	FILE_STORED = 0,
	FILE_ZSTD = 1,
};

enum file_section {
	FILE_STRINGS = 1,
	FILE_FUNCTIONS,
	FILE_LOCATIONS,
	FILE_STACKS,
	FILE_PROCESSES,
	FILE_THREADS,
	FILE_RUNS,
	FILE_META,
};

struct file_head {
	uint16_t major, minor;
	uint64_t key; /* chosen at random: the seed of all checksums of the file */
};

struct file_block_head {
	uint8_t type, packing;
	uint32_t number;      /* of the block: counts from 0 */
	uint32_t stored, raw; /* bytes of the payload: as it is there, and unpacked */
	uint64_t sum;         /* of the payload as it is there */
};

extern const uint8_t file_magic[8], file_block_magic[4];

void file_put_head(struct dt_buf *out, const struct file_head *head);
void file_put_block_head(struct dt_buf *out, const struct file_block_head *head, uint64_t key);

/* False: it is none, or damaged. */
bool file_get_head(const uint8_t bytes[FILE_HEAD], struct file_head *head);
bool file_get_block_head(const uint8_t bytes[FILE_BLOCK], uint64_t key, struct file_block_head *head);

/* ---- numbers ---- */

void file_put_fixed(struct dt_buf *out, uint64_t value, size_t bytes);
void file_put(struct dt_buf *out, uint64_t value);
void file_put_signed(struct dt_buf *out, int64_t value);
void file_put_change(struct dt_buf *out, uint64_t *before, uint64_t value);

struct file_input {
	const uint8_t *at, *end;
	bool bad;
};

uint64_t file_get_fixed(struct file_input *in, size_t bytes);
uint64_t file_get(struct file_input *in);
int64_t file_get_signed(struct file_input *in);
uint64_t file_get_change(struct file_input *in, uint64_t *before);

/* As many numbers; *in goes on behind them. */
struct file_input file_get_column(struct file_input *in, size_t count);

static inline size_t file_left(const struct file_input *in)
{
	return (size_t)(in->end - in->at);
}

/* ---- payloads ---- */

struct file_packer;

/* NULL: memory is out, or this build cannot pack (see file_can_pack()). */
struct file_packer *file_packer_new(void);
void file_packer_free(struct file_packer *packer);
bool file_can_pack(void);

/* Appends the bytes packed, if that makes them fewer. False: nothing was appended. */
bool file_pack(struct file_packer *packer, struct dt_buf *out, const void *bytes, size_t size);

/* False: damaged, or not exactly `raw` bytes come out. */
bool file_unpack(const void *bytes, size_t size, void *out, size_t raw);

#endif
