/* str, bytes and int of a foreign interpreter. The type of an object is checked by the subclass bits of its type, so
 * that a pointer that went astray is noticed before its contents are taken for text. */
#include "python/text.h"

#include <errno.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "base/util.h"

#define HEAD 256 /* more than the fixed part of any of these objects */

/* Reads `size` bytes of an object into head and checks that its type has the flag (0: no check). */
static int read_head(struct dt_mem *mem, const struct dt_layout *layout, uint64_t object, uint64_t flag,
		     uint8_t head[HEAD], size_t size)
{
	uint64_t flags;
	int rc;

	if (size > HEAD || layout->object.ob_type > HEAD - 8 || layout->object.ob_type + 8 > size)
		return -EINVAL;
	rc = dt_mem_read(mem, object, head, size);
	if (rc < 0 || !flag)
		return rc;
	rc = dt_mem_read_u64(mem, dt_get64(head + layout->object.ob_type) + layout->type.flags, &flags);
	if (rc < 0)
		return rc;
	return flags & flag ? 0 : -EINVAL;
}

/* ---- UTF-8 ---- */

static uint32_t character(const uint8_t *data, size_t index, unsigned kind)
{
	uint32_t c = kind == 1 ? data[index] : kind == 2 ? dt_get16(data + index * 2) : dt_get32(data + index * 4);

	/* Lone surrogates and what is no character have no UTF-8; a NUL would end the text before its end. */
	if (c == 0 || (c >= 0xd800 && c <= 0xdfff) || c > 0x10ffff)
		return 0xfffd;
	return c;
}

static size_t put(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

char *dt_utf8(struct dt_arena *arena, const uint8_t *data, size_t count, unsigned kind)
{
	size_t size = 0, used = 0;
	char *text;

	for (size_t i = 0; i < count; i++) {
		uint32_t c = character(data, i, kind);

		size += c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	}
	text = dt_arena_alloc(arena, size + 1);
	if (!text)
		return NULL;
	for (size_t i = 0; i < count; i++)
		used += put(text + used, character(data, i, kind));
	text[used] = '\0';
	return text;
}

char *dt_utf8_of_bytes(struct dt_arena *arena, const uint8_t *data, size_t size)
{
	char *text = dt_arena_alloc(arena, size * 3 + 1); /* as if each of them had to be replaced */
	size_t used = 0, length;

	if (!text)
		return NULL;
	for (size_t at = 0; at < size; at += length) {
		uint32_t code;

		length = dt_utf8_next((const char *)data + at, size - at, &code);
		used += put(text + used, code && code != DT_UTF8_INVALID ? code : 0xfffd);
	}
	text[used] = '\0';
	return text;
}

/* ---- str ---- */

struct text_place {
	uint64_t data;
	size_t count;
	unsigned kind; /* bytes of a character */
	bool bytes;    /* not characters, but bytes that may be UTF-8 */
};

/* 2.7: bytes as a rule, else characters behind a pointer. */
static int find_old_text(struct dt_mem *mem, const struct dt_layout *layout, uint64_t object, struct text_place *place)
{
	uint8_t head[HEAD];
	uint64_t length;
	int rc = read_head(mem, layout, object, layout->type.bytes_flag, head, layout->bytes.ob_sval);

	place->bytes = rc == 0;
	if (rc == -EINVAL)
		rc = read_head(mem, layout, object, layout->type.unicode_flag, head, layout->unicode.data + 8);
	if (rc < 0)
		return rc;
	place->kind = place->bytes ? 1 : layout->unicode.width;
	length = dt_get64(head + (place->bytes ? layout->bytes.ob_size : layout->unicode.length));
	if (length > INT64_MAX)
		return -EINVAL;
	if (length > DT_TEXT_LIMIT)
		return -EFBIG;
	place->count = (size_t)length;
	place->data = place->bytes ? object + layout->bytes.ob_sval : dt_get64(head + layout->unicode.data);
	return 0;
}

/*
 * PyASCIIObject               ascii and compact: characters right behind it
 *   PyCompactUnicodeObject    compact: characters right behind it
 *     PyUnicodeObject         neither (subclasses of str, old C interfaces): a pointer to them right behind it
 */
static int find_text(struct dt_mem *mem, const struct dt_layout *layout, uint64_t object, struct text_place *place)
{
	uint8_t head[HEAD];
	uint64_t length;
	uint32_t state;
	bool compact, ascii;
	int rc;

	if (layout->unicode.data != DT_ABSENT)
		return find_old_text(mem, layout, object, place);
	place->bytes = false;
	rc = read_head(mem, layout, object, layout->type.unicode_flag, head, layout->unicode.ascii_size);
	if (rc < 0)
		return rc;
	if (layout->unicode.length > HEAD - 8 || layout->unicode.state > HEAD - 4)
		return -EINVAL;
	length = dt_get64(head + layout->unicode.length);
	state = dt_get32(head + layout->unicode.state);
	compact = state >> layout->unicode.compact_bit & 1;
	ascii = state >> layout->unicode.ascii_bit & 1;
	place->kind = state >> layout->unicode.kind_shift & 7;
	if ((place->kind != 1 && place->kind != 2 && place->kind != 4) || (ascii && place->kind != 1))
		return -EINVAL;
	if (length > INT64_MAX)
		return -EINVAL;
	if (length > DT_TEXT_LIMIT)
		return -EFBIG;
	place->count = (size_t)length;
	if (!compact)
		return dt_mem_read_u64(mem, object + layout->unicode.compact_size, &place->data);
	place->data = object + (ascii ? layout->unicode.ascii_size : layout->unicode.compact_size);
	return 0;
}

/* Eight bytes at a time; every step can be undone, so that what differs once stays different until it is mixed with
 * more. `data` holds a multiple of eight bytes, the last ones 0 where there is less. */
static uint64_t mix(uint64_t print, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size; i += 8) {
		print = (print ^ dt_get64(data + i)) * UINT64_C(0x9e3779b97f4a7c15);
		print ^= print >> 32;
	}
	return print;
}

int dt_text_size(struct dt_mem *mem, const struct dt_layout *layout, uint64_t object, size_t *size)
{
	struct text_place place = {0};
	int rc = find_text(mem, layout, object, &place);

	*size = place.count * place.kind;
	return rc;
}

int dt_text_print(struct dt_mem *mem, const struct dt_layout *layout, uint64_t object, uint64_t *print)
{
	struct text_place place = {0};
	uint8_t part[1024];
	size_t size;
	int rc = find_text(mem, layout, object, &place);

	*print = UINT64_C(0xcbf29ce484222325);
	if (rc == -EFBIG) /* shown without its text */
		return 0;
	if (rc < 0)
		return rc;
	size = place.count * place.kind;
	*print ^= (uint64_t)size << 8 | place.kind;
	for (size_t at = 0, length; at < size; at += length) {
		length = DT_MIN(size - at, sizeof(part));
		rc = dt_mem_read(mem, place.data + at, part, length);
		if (rc < 0)
			return rc;
		memset(part + length, 0, -length % 8);
		*print = mix(*print, part, length);
	}
	return 0;
}

int dt_text_read(struct dt_mem *mem, const struct dt_layout *layout, uint64_t object, struct dt_arena *arena,
		 const char **text)
{
	uint8_t small[1024];
	uint8_t *data = small;
	struct text_place place;
	char *result;
	size_t size;
	int rc = find_text(mem, layout, object, &place);

	if (rc < 0)
		return rc;
	size = place.count * place.kind;
	if (size > sizeof(small))
		data = malloc(size);
	if (!data)
		return -ENOMEM;
	rc = dt_mem_read(mem, place.data, data, size);
	if (rc == 0) {
		result = place.bytes ? dt_utf8_of_bytes(arena, data, size)
				     : dt_utf8(arena, data, place.count, place.kind);
		if (result)
			*text = result;
		else
			rc = -ENOMEM;
	}
	if (data != small)
		free(data);
	return rc;
}

/* ---- bytes and int ---- */

int dt_bytes_read(struct dt_mem *mem, const struct dt_layout *layout, uint64_t object, size_t limit,
		  struct dt_arena *arena, const uint8_t **data, size_t *size)
{
	uint8_t head[HEAD];
	uint8_t *copy;
	uint64_t length;
	int rc = read_head(mem, layout, object, layout->type.bytes_flag, head, layout->bytes.ob_sval);

	if (rc < 0)
		return rc;
	if (layout->bytes.ob_size > HEAD - 8)
		return -EINVAL;
	length = dt_get64(head + layout->bytes.ob_size);
	if (length > INT64_MAX)
		return -EINVAL;
	if (length > limit)
		return -EFBIG;
	copy = dt_arena_alloc(arena, (size_t)length + 1);
	if (!copy)
		return -ENOMEM;
	rc = dt_mem_read(mem, object + layout->bytes.ob_sval, copy, (size_t)length);
	if (rc < 0)
		return rc;
	copy[length] = 0;
	*data = copy;
	*size = (size_t)length;
	return 0;
}

/* The int of 2.7 that is no long. -EINVAL if it is something else. */
static int read_plain(struct dt_mem *mem, const struct dt_layout *layout, uint64_t object, int64_t *value)
{
	uint8_t head[HEAD];
	int rc;

	if (layout->integer.plain == DT_ABSENT || layout->integer.plain > HEAD - 8)
		return -EINVAL;
	rc = read_head(mem, layout, object, layout->type.plain_integer_flag, head, layout->integer.plain + 8);
	if (rc == 0)
		*value = (int64_t)dt_get64(head + layout->integer.plain);
	return rc;
}

/* Digits of 30 bits, lowest first. The sign is that of ob_size, or the two lowest bits of the tag: 0 positive, 1 zero,
 * 2 negative, with the number of digits above the third bit. */
int dt_int_read(struct dt_mem *mem, const struct dt_layout *layout, uint64_t object, int64_t *value)
{
	uint8_t head[HEAD], digits[12];
	unsigned __int128 sum = 0;
	uint64_t word, count;
	bool negative;
	int rc = read_plain(mem, layout, object, value);

	if (rc != -EINVAL)
		return rc;
	rc = read_head(mem, layout, object, layout->type.integer_flag, head, layout->integer.digits);
	if (rc < 0)
		return rc;
	if (layout->integer.size_or_tag > HEAD - 8)
		return -EINVAL;
	word = dt_get64(head + layout->integer.size_or_tag);
	if (layout->integer.tagged) {
		negative = (word & 3) == 2;
		count = (word & 3) == 1 ? 0 : word >> 3;
	} else {
		negative = word > INT64_MAX;
		count = negative ? 0 - word : word;
	}
	if (count > 3)
		return -ERANGE;
	rc = dt_mem_read(mem, object + layout->integer.digits, digits, (size_t)count * 4);
	if (rc < 0)
		return rc;
	for (size_t i = (size_t)count; i-- > 0;)
		sum = sum << 30 | (dt_get32(digits + i * 4) & 0x3fffffff);
	if (sum > (unsigned __int128)INT64_MAX + negative)
		return -ERANGE;
	*value = negative ? (int64_t)(0 - (uint64_t)sum) : (int64_t)sum;
	return 0;
}
