/* Breaking lines: see wrap.h. */
#include "base/wrap.h"

#include <string.h>

#include "base/utf8.h"

static size_t spaces_of(const char *text, size_t length)
{
	size_t spaces = 0;

	while (spaces < length && text[spaces] == ' ')
		spaces++;
	return spaces;
}

/* Up to the next space that is not in quotes. */
static size_t word_of(const char *text, size_t length)
{
	const char *quote = text[0] == '\'' ? memchr(text + 1, '\'', length - 1) : NULL;
	size_t word = quote ? (size_t)(quote - text) + 1 : 0;

	while (word < length && text[word] != ' ')
		word++;
	return word;
}

void dt_wrap(struct dt_buf *out, const char *text, size_t length, size_t at, size_t indent, size_t columns)
{
	bool first = true; /* in its line: it stands there however long it is */

	while (length) {
		size_t spaces = spaces_of(text, length);
		size_t word = spaces < length ? word_of(text + spaces, length - spaces) : 0;
		size_t wide = dt_columns_part(text + spaces, word);

		if (columns && !first && at + spaces + wide > columns) {
			dt_buf_printf(out, "\n%*s", (int)indent, "");
			at = indent;
		} else {
			dt_buf_append(out, text, spaces);
			at += spaces;
		}
		dt_buf_append(out, text + spaces, word);
		at += wide;
		first = false;
		text += spaces + word;
		length -= spaces + word;
	}
}
