/* See source_fit.h. All codes are sorted once, and each file is gone through once, whatever is in it. */
#include "lib/source_fit.h"

#include <errno.h>
#include <stdlib.h>

#include "base/util.h"

#define LINE_LOOKED 4096 /* bytes; a longer line is not looked into, and fits */

/* ---- who uses the files ---- */

static int by_code(const void *a, const void *b)
{
	const struct dt_source_user *x = a, *y = b;

	return (x->code > y->code) - (x->code < y->code);
}

static int by_place(const void *a, const void *b)
{
	const struct dt_code *x = ((const struct dt_source_user *)a)->code;
	const struct dt_code *y = ((const struct dt_source_user *)b)->code;
	int order = x->file == y->file ? 0 : strcmp(x->file, y->file);

	return order ? order : (x->first_line > y->first_line) - (x->first_line < y->first_line);
}

static size_t add_thread(struct dt_source_user *users, size_t count, const struct dt_walk_thread *thread)
{
	for (size_t i = 0; i < thread->frame_count; i++) {
		const struct dt_walk_frame *frame = &thread->frames[i];

		if (frame->code->native)
			continue;
		if (!count || users[count - 1].code != frame->code) /* recursion makes long runs of one */
			users[count++] = (struct dt_source_user){.code = frame->code};
		users[count - 1].line = DT_MAX(users[count - 1].line, frame->line);
	}
	return count;
}

int dt_source_users_init(struct dt_source_users *users, const struct dt_look *look)
{
	size_t all = 0, count = 0, kept = 0;
	struct dt_source_user *list;

	for (size_t i = 0; i < look->thread_count; i++)
		all += look->threads[i].walk->frame_count;
	list = calloc(all + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < look->thread_count; i++)
		count = add_thread(list, count, look->threads[i].walk);
	qsort(list, count, sizeof(*list), by_code);
	for (size_t i = 0; i < count; i++) {
		if (!kept || list[kept - 1].code != list[i].code)
			list[kept++] = list[i];
		list[kept - 1].line = DT_MAX(list[kept - 1].line, list[i].line);
	}
	qsort(list, kept, sizeof(*list), by_place);
	*users = (struct dt_source_users){list, kept};
	return 0;
}

void dt_source_users_release(struct dt_source_users *users)
{
	free(users->users);
	*users = (struct dt_source_users){0};
}

/* The first one of a file. */
static size_t find_first(const struct dt_source_users *users, const char *path)
{
	size_t low = 0, high = users->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(users->users[middle].code->file, path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- one line ---- */

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\f';
}

static bool in_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || (c & 0x80);
}

static bool ends_with_word(const char *start, const char *end, const char *word)
{
	size_t length = strlen(word);

	return (size_t)(end - start) >= length && !memcmp(end - length, word, length) &&
	       ((size_t)(end - start) == length || !in_word(end[-(ptrdiff_t)length - 1]));
}

/* "def NAME", "class NAME" or "type NAME" in the line. */
static bool defines(const char *line, const char *end, const char *name)
{
	size_t length = strlen(name);
	const char *at = line, *before;

	while ((at = memmem(at, (size_t)(end - at), name, length))) {
		const char *after = at + length;

		for (before = at; before > line && blank(before[-1]); before--)
			;
		if (before < at && (after == end || !in_word(*after)) &&
		    (ends_with_word(line, before, "def") || ends_with_word(line, before, "class") ||
		     ends_with_word(line, before, "type")))
			return true;
		at = after;
	}
	return false;
}

/* The name as it stands in the source; NULL if it need not stand there: "<lambda>", what Python makes by itself (3.14),
 * and what may be spelt in several ways. */
static const char *defined_name(const char *qualified)
{
	const char *dot = strrchr(qualified, '.'), *name = dot ? dot + 1 : qualified;

	for (const char *c = name; *c; c++)
		if (!in_word(*c) || (*c & 0x80))
			return NULL;
	return *name && strcmp(name, "__annotate__") != 0 ? name : NULL;
}

static bool line_fits(const char *line, const char *end, const char *qualified)
{
	const char *name = defined_name(qualified);

	if (!name || end - line > LINE_LOOKED)
		return true;
	if (end - line >= 3 && !memcmp(line, "\xef\xbb\xbf", 3)) /* the file's byte order mark */
		line += 3;
	while (line < end && blank(*line))
		line++;
	return (line < end && *line == '@') || defines(line, end, name);
}

/* ---- all lines ---- */

bool dt_source_fits(const struct dt_source_users *users, const char *path, const char *text, size_t size)
{
	const char *line = text, *stop = text + size, *end = memchr(text, '\n', size);
	uint32_t number = 1, last = 1;

	for (size_t i = find_first(users, path); i < users->count; i++) {
		const struct dt_source_user *user = &users->users[i];

		if (strcmp(user->code->file, path) != 0)
			break;
		for (; end && number < user->code->first_line; number++) {
			line = end + 1;
			end = memchr(line, '\n', (size_t)(stop - line));
		}
		if (number < user->code->first_line || line == stop)
			return false;
		if (user->code->first_line && !line_fits(line, end ? end : stop, user->code->name))
			return false;
		last = DT_MAX(last, user->line);
	}
	for (; end && number < last; number++) {
		line = end + 1;
		end = memchr(line, '\n', (size_t)(stop - line));
	}
	return number >= last && line < stop;
}
