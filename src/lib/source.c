/* Source lines: see source.h. */
#include "lib/source.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/util.h"

#define FILE_LIMIT  ((size_t)8 << 20)
#define LINE_LIMIT  400
#define FILES_LIMIT 64
#define BYTES_LIMIT ((size_t)48 << 20) /* of all files together */
#define NS_PER_S    1000000000u
#define SLACK_NS    100000000u /* the kernel counts the time of starting in hundredths of a second */

struct dt_source_file {
	struct dt_source_file *next;
	char *path;
	char *text; /* NULL: cannot be read, or is not what the program runs */
	size_t size;
};

int dt_source_begin(struct dt_source *source, const struct dt_look *look)
{
	dt_source_clear(source);
	return dt_source_users_init(&source->users, look);
}

void dt_source_clear(struct dt_source *source)
{
	dt_source_users_release(&source->users);
	while (source->files) {
		struct dt_source_file *file = source->files;

		source->files = file->next;
		free(file->path);
		free(file->text);
		free(file);
	}
	source->bytes = 0;
}

/* The time of the last change of anything: that of the contents may be set to what it was elsewhere. */
static bool changed_since(const struct stat *st, uint64_t began)
{
	return (uint64_t)st->st_ctim.tv_sec * NS_PER_S + (uint64_t)st->st_ctim.tv_nsec > began + SLACK_NS;
}

static bool named_like_source(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && (!strcmp(dot, ".py") || !strcmp(dot, ".pyw") || !strcmp(dot, ".pyx"));
}

/* We may be root, and the target names whatever it likes. */
static bool may_show(const struct dt_source *source, const char *path, const struct stat *st)
{
	return (st->st_mode & S_IROTH) || named_like_source(path) || st->st_uid == source->owner(source->context);
}

static void load(struct dt_source_file *file, struct dt_source *source)
{
	/* "<string>" and the like are no files. */
	dt_auto_close int fd = file->path[0] == '<' ? -ENOENT : source->open(source->context, file->path);
	struct stat st;
	size_t done = 0;
	char *text;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
	    (uint64_t)st.st_size > DT_MIN(FILE_LIMIT, BYTES_LIMIT - source->bytes) ||
	    !may_show(source, file->path, &st))
		return;
	if (!source->began_ns)
		source->began_ns = source->began(source->context);
	if (changed_since(&st, source->began_ns))
		return;
	text = malloc((size_t)st.st_size);
	if (!text)
		return;
	while (done < (size_t)st.st_size) {
		ssize_t got = read(fd, text + done, (size_t)st.st_size - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	if (!dt_source_fits(&source->users, file->path, text, done)) {
		free(text);
		return;
	}
	file->text = text;
	file->size = done;
	source->bytes += (size_t)st.st_size;
}

static struct dt_source_file *find(struct dt_source *source, const char *path)
{
	struct dt_source_file *file;
	size_t count = 0;

	for (file = source->files; file; file = file->next, count++)
		if (strcmp(file->path, path) == 0)
			return file;
	if (count >= FILES_LIMIT)
		return NULL;
	file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	file->path = strdup(path);
	if (!file->path) {
		free(file);
		return NULL;
	}
	load(file, source);
	file->next = source->files;
	source->files = file;
	return file;
}

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f';
}

const char *dt_source_line(struct dt_source *source, const char *path, uint32_t line, struct dt_arena *arena)
{
	const struct dt_source_file *file = line ? find(source, path) : NULL;
	const char *start;
	const char *end;
	const char *stop;

	if (!file || !file->text)
		return NULL;
	start = file->text;
	stop = file->text + file->size;
	for (uint32_t at = 1; at < line; at++) {
		start = memchr(start, '\n', (size_t)(stop - start));
		if (!start)
			return NULL;
		start++;
	}
	end = memchr(start, '\n', (size_t)(stop - start));
	if (!end)
		end = stop;
	while (start < end && blank(*start))
		start++;
	while (end > start && blank(end[-1]))
		end--;
	if (start == end)
		return NULL;
	/* Not in the middle of a character. */
	if (end - start > LINE_LIMIT)
		for (end = start + LINE_LIMIT; end > start && ((unsigned char)*end & 0xc0) == 0x80; end--)
			;
	return dt_arena_strndup(arena, start, (size_t)(end - start));
}
