/* Reading UTF-8 and escaping it for terminals: see utf8.h. */
#include "base/utf8.h"

#include <string.h>

#include "base/util.h"

struct range {
	uint32_t first, last;
};

/* Invisible, or with a will of their own: controls, bidirectional marks, zero width, separators, tags, private signs of
 * annotation. Sorted. */
static const struct range unsafe[] = {
    {0x0000, 0x001f},   {0x007f, 0x009f},     {0x00ad, 0x00ad},   {0x034f, 0x034f},   {0x061c, 0x061c},
    {0x115f, 0x1160},   {0x17b4, 0x17b5},     {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e},
    {0x2060, 0x206f},   {0x3164, 0x3164},     {0xfdd0, 0xfdef},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
    {0xfff0, 0xfffb},   {0xfffe, 0xffff},     {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0x1fffe, 0x1ffff},
    {0xe0000, 0xe0fff}, {0x10fffe, 0x10ffff},
};

/* Two columns wide. Sorted. */
static const struct range wide[] = {
    {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xa960, 0xa97f},   {0xac00, 0xd7a3},
    {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x1f300, 0x1f64f},
    {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x1fa70, 0x1faff}, {0x20000, 0x3fffd},
};

/* Drawn over the character before. Sorted. */
static const struct range combining[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x064b, 0x065f},
    {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x20d0, 0x20ff}, {0xfe20, 0xfe2f},
};

static bool in_ranges(const struct range *ranges, size_t count, uint32_t code)
{
	for (size_t i = 0; i < count && code >= ranges[i].first; i++)
		if (code <= ranges[i].last)
			return true;
	return false;
}

bool dt_utf8_unsafe(uint32_t code)
{
	return in_ranges(unsafe, DT_COUNT(unsafe), code);
}

size_t dt_utf8_next(const char *text, size_t length, uint32_t *code)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned char lead = (unsigned char)text[0];
	uint32_t value;
	size_t size;

	*code = lead;
	if (lead < 0x80)
		return 1;
	*code = DT_UTF8_INVALID;
	if (lead >= 0xc2 && lead <= 0xdf) {
		size = 2;
		value = lead & 0x1f;
	} else if ((lead & 0xf0) == 0xe0) {
		size = 3;
		value = lead & 0x0f;
	} else if (lead >= 0xf0 && lead <= 0xf4) {
		size = 4;
		value = lead & 0x07;
	} else {
		return 1;
	}
	if (size > length)
		return 1;
	for (size_t i = 1; i < size; i++) {
		unsigned char byte = (unsigned char)text[i];

		if ((byte & 0xc0) != 0x80)
			return 1;
		value = value << 6 | (byte & 0x3f);
	}
	if (value < smallest[size] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
		return 1;
	*code = value;
	return size;
}

/* One character as it is shown, in at most 11 bytes with the NUL. */
static void escape_one(char out[16], const char *text, size_t size, uint32_t code)
{
	static const char hex[] = "0123456789abcdef";
	size_t digits, at = 0;
	char sign;

	if (code != DT_UTF8_INVALID && !dt_utf8_unsafe(code)) {
		memcpy(out, text, size);
		out[size] = '\0';
		return;
	}
	out[at++] = '\\';
	if (code == '\n' || code == '\t' || code == '\r') {
		out[at++] = code == '\n' ? 'n' : code == '\t' ? 't' : 'r';
		out[at] = '\0';
		return;
	}
	if (code == DT_UTF8_INVALID)
		code = (unsigned char)text[0], sign = 'x', digits = 2;
	else if (code < 0x80)
		sign = 'x', digits = 2;
	else if (code < 0x10000)
		sign = 'u', digits = 4;
	else
		sign = 'U', digits = 8;
	out[at++] = sign;
	while (digits--)
		out[at++] = hex[code >> (4 * digits) & 15];
	out[at] = '\0';
}

void dt_escape(struct dt_buf *buf, const char *text)
{
	if (text)
		dt_escape_part(buf, text, strlen(text));
}

void dt_escape_part(struct dt_buf *buf, const char *text, size_t length)
{
	while (length) {
		char shown[16];
		uint32_t code;
		size_t size, plain = 0;

		while (plain < length && text[plain] >= ' ' && text[plain] < 0x7f)
			plain++;
		dt_buf_append(buf, text, plain);
		text += plain;
		length -= plain;
		if (!length)
			return;
		size = dt_utf8_next(text, length, &code);
		escape_one(shown, text, size, code);
		dt_buf_puts(buf, shown);
		text += size;
		length -= size;
	}
}

static size_t columns_of(uint32_t code)
{
	if (code < 0x300)
		return 1;
	if (in_ranges(combining, DT_COUNT(combining), code))
		return 0;
	return in_ranges(wide, DT_COUNT(wide), code) ? 2 : 1;
}

size_t dt_columns_part(const char *text, size_t length)
{
	size_t columns = 0;

	while (length) {
		uint32_t code;
		size_t size = dt_utf8_next(text, length, &code);

		columns += columns_of(code);
		text += size;
		length -= size;
	}
	return columns;
}

size_t dt_columns(const char *text)
{
	return dt_columns_part(text, strlen(text));
}

void dt_escape_cut(struct dt_buf *buf, const char *text, size_t columns)
{
	size_t left = text ? strlen(text) : 0, used = 0;
	size_t fits = buf->length; /* end of what leaves a column for the ellipsis */

	while (left) {
		char shown[16];
		uint32_t code;
		size_t size = dt_utf8_next(text, left, &code);

		escape_one(shown, text, size, code);
		used += dt_columns(shown);
		if (used > columns) {
			if (buf->capacity)
				buf->data[buf->length = fits] = '\0';
			if (columns)
				dt_buf_puts(buf, "…");
			return;
		}
		dt_buf_puts(buf, shown);
		if (used < columns)
			fits = buf->length;
		text += size;
		left -= size;
	}
}

/* Of all that text takes, the columns before `head` and those from `tail` on, with an ellipsis between them. */
static void put_ends(struct dt_buf *buf, const char *text, size_t head, size_t tail)
{
	size_t left = strlen(text), at = 0;
	bool cut = false, ending = false;

	while (left) {
		char shown[16];
		uint32_t code;
		size_t size = dt_utf8_next(text, left, &code), width;

		escape_one(shown, text, size, code);
		width = dt_columns(shown);
		ending |= at >= tail && width; /* what is drawn over a character that is cut goes with it */
		if (!cut && at + width > head) {
			cut = true;
			dt_buf_puts(buf, "…");
		}
		if (!cut || ending)
			dt_buf_puts(buf, shown);
		at += width;
		text += size;
		left -= size;
	}
}

void dt_escape_cut_middle(struct dt_buf *buf, const char *text, size_t columns)
{
	struct dt_buf whole = DT_BUF_INIT;
	size_t taken;

	dt_escape(&whole, text);
	taken = dt_columns_part(whole.data, whole.length);
	if (taken <= columns)
		dt_buf_append(buf, whole.data, whole.length);
	else if (columns)
		put_ends(buf, text, columns / 2, taken - (columns - 1 - columns / 2));
	buf->failed |= whole.failed;
	dt_buf_release(&whole);
}

void dt_cut(struct dt_buf *buf, const char *text, size_t most)
{
	static const char ellipsis[] = "…";
	size_t length = strnlen(text, most + 1), end = most - strlen(ellipsis), back = 0;

	if (length <= most) {
		dt_buf_append(buf, text, length);
		return;
	}
	while (back < 3 && back < end && (text[end - back] & 0xc0) == 0x80)
		back++;
	/* What has no beginning within four bytes is no character anyway. */
	dt_buf_append(buf, text, (text[end - back] & 0xc0) == 0x80 ? end : end - back);
	dt_buf_puts(buf, ellipsis);
}
