/* Numbers and blocks of the .darter file: see pack.h. */
#include "profile/pack.h"

#include <string.h>

#ifdef DT_ZSTD
#include <zstd.h>
#endif

#include "base/hash.h"
#include "base/util.h"

#define LEVEL 6 /* a block a second is small; more costs time and gains nothing */

/* The first byte is no text, the last one is changed by whoever changes ends of lines. */
const uint8_t file_magic[8] = {0x89, 'd', 'a', 'r', 't', 'e', 'r', '\n'};
const uint8_t file_block_magic[4] = {0xd7, 'D', 'B', 'K'};

/* ---- numbers ---- */

void file_put_fixed(struct dt_buf *out, uint64_t value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		dt_buf_putc(out, (char)(value >> 8 * i));
}

void file_put(struct dt_buf *out, uint64_t value)
{
	char bytes[10];
	size_t length = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[length++] = (char)(value | 0x80);
	bytes[length++] = (char)value;
	dt_buf_append(out, bytes, length);
}

void file_put_signed(struct dt_buf *out, int64_t value)
{
	file_put(out, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

void file_put_change(struct dt_buf *out, uint64_t *before, uint64_t value)
{
	file_put_signed(out, (int64_t)(value - *before));
	*before = value;
}

uint64_t file_get_fixed(struct file_input *in, size_t bytes)
{
	uint64_t value = 0;

	if (file_left(in) < bytes) {
		in->at = in->end;
		in->bad = true;
		return 0;
	}
	for (size_t i = 0; i < bytes; i++)
		value |= (uint64_t)in->at[i] << 8 * i;
	in->at += bytes;
	return value;
}

uint64_t file_get(struct file_input *in)
{
	uint64_t value = 0;

	for (unsigned shift = 0; in->at < in->end && shift < 64; shift += 7) {
		uint8_t byte = *in->at++;

		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	in->at = in->end;
	in->bad = true;
	return 0;
}

int64_t file_get_signed(struct file_input *in)
{
	uint64_t value = file_get(in);

	return (int64_t)(value >> 1 ^ (value & 1 ? UINT64_MAX : 0));
}

uint64_t file_get_change(struct file_input *in, uint64_t *before)
{
	return *before += (uint64_t)file_get_signed(in);
}

struct file_input file_get_column(struct file_input *in, size_t count)
{
	struct file_input column = *in;

	for (size_t i = 0; i < count && !in->bad; i++)
		file_get(in);
	column.end = in->at;
	return column;
}

/* ---- heads ---- */

void file_put_head(struct dt_buf *out, const struct file_head *head)
{
	size_t start = out->length;

	dt_buf_append(out, (const char *)file_magic, sizeof(file_magic));
	file_put_fixed(out, head->major, 2);
	file_put_fixed(out, head->minor, 2);
	file_put_fixed(out, 0, 4);
	file_put_fixed(out, head->key, 8);
	if (!out->failed)
		file_put_fixed(out, dt_hash64(out->data + start, FILE_HEAD - 8, 0), 8);
}

void file_put_block_head(struct dt_buf *out, const struct file_block_head *head, uint64_t key)
{
	size_t start = out->length;

	dt_buf_append(out, (const char *)file_block_magic, sizeof(file_block_magic));
	file_put_fixed(out, head->type, 1);
	file_put_fixed(out, head->packing, 1);
	file_put_fixed(out, 0, 2);
	file_put_fixed(out, head->number, 4);
	file_put_fixed(out, head->stored, 4);
	file_put_fixed(out, head->raw, 4);
	file_put_fixed(out, head->sum, 8);
	if (!out->failed)
		file_put_fixed(out, dt_hash64(out->data + start, FILE_BLOCK - 4, key), 4);
}

bool file_get_head(const uint8_t bytes[FILE_HEAD], struct file_head *head)
{
	struct file_input in = {bytes + sizeof(file_magic), bytes + FILE_HEAD, false};

	head->major = (uint16_t)file_get_fixed(&in, 2);
	head->minor = (uint16_t)file_get_fixed(&in, 2);
	file_get_fixed(&in, 4);
	head->key = file_get_fixed(&in, 8);
	return !memcmp(bytes, file_magic, sizeof(file_magic)) &&
	       file_get_fixed(&in, 8) == dt_hash64(bytes, FILE_HEAD - 8, 0);
}

bool file_get_block_head(const uint8_t bytes[FILE_BLOCK], uint64_t key, struct file_block_head *head)
{
	struct file_input in = {bytes + sizeof(file_block_magic), bytes + FILE_BLOCK, false};

	head->type = (uint8_t)file_get_fixed(&in, 1);
	head->packing = (uint8_t)file_get_fixed(&in, 1);
	file_get_fixed(&in, 2);
	head->number = (uint32_t)file_get_fixed(&in, 4);
	head->stored = (uint32_t)file_get_fixed(&in, 4);
	head->raw = (uint32_t)file_get_fixed(&in, 4);
	head->sum = file_get_fixed(&in, 8);
	return !memcmp(bytes, file_block_magic, sizeof(file_block_magic)) &&
	       file_get_fixed(&in, 4) == (uint32_t)dt_hash64(bytes, FILE_BLOCK - 4, key) &&
	       head->stored <= FILE_PAYLOAD;
}

/* ---- payloads ---- */

#ifdef DT_ZSTD
bool file_can_pack(void)
{
	return true;
}

struct file_packer *file_packer_new(void)
{
	return (struct file_packer *)ZSTD_createCCtx();
}

void file_packer_free(struct file_packer *packer)
{
	ZSTD_freeCCtx((ZSTD_CCtx *)packer);
}

bool file_pack(struct file_packer *packer, struct dt_buf *out, const void *bytes, size_t size)
{
	size_t start = out->length;
	size_t packed;

	/* Room for as much as it is now: what needs more is better stored. */
	dt_buf_append(out, bytes, size);
	if (out->failed || !size)
		return false;
	packed = ZSTD_compressCCtx((ZSTD_CCtx *)packer, out->data + start, size, bytes, size, LEVEL);
	out->length = start;
	if (ZSTD_isError(packed) || packed >= size)
		return false;
	out->length += packed;
	return true;
}

bool file_unpack(const void *bytes, size_t size, void *out, size_t raw)
{
	return ZSTD_decompress(out, raw, bytes, size) == raw;
}
#else
bool file_can_pack(void)
{
	return false;
}

struct file_packer *file_packer_new(void)
{
	return NULL;
}

void file_packer_free(struct file_packer *packer)
{
	(void)packer;
}

bool file_pack(struct file_packer *packer, struct dt_buf *out, const void *bytes, size_t size)
{
	(void)packer, (void)out, (void)bytes, (void)size;
	return false;
}

bool file_unpack(const void *bytes, size_t size, void *out, size_t raw)
{
	(void)bytes, (void)size, (void)out, (void)raw;
	return false;
}
#endif
