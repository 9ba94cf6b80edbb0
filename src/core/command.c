/*
 * The arguments of the process. A note has their first 80 bytes (gcore: the program's name alone); all of them are
 * where the kernel put them, at the bottom of the main thread's stack:
 *
 *     argc  argv[0] ... argv[argc - 1]  0  environment ...  0  auxiliary vector ...  texts
 *
 * The vector's place is found by its content, which a note repeats. What is found is believed only if argc fits.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/util.h"
#include "core/inside.h"

#define SEARCHED  ((size_t)1 << 20) /* bytes of the stack, counted from the program's name, which lies above */
#define ARGUMENTS 4096
#define TEXT      ((size_t)64 << 10) /* of all arguments */

/* Where in the words the vector begins; 0 if it is not there. */
static size_t find_vector(const struct dt_core *core, const uint64_t *words, size_t count)
{
	for (size_t i = count - core->auxv_words; i > 0; i--)
		if (words[i] == core->auxv[0] && !memcmp(words + i, core->auxv, core->auxv_words * 8))
			return i;
	return 0;
}

/* The index of argv[0], and how many there are; 0 if this is not what lies before the vector. */
static size_t find_arguments(const uint64_t *words, size_t vector, size_t *argc)
{
	size_t end = vector - 1; /* the 0 behind the environment */

	if (vector < 4 || words[end])
		return 0;
	for (end--; end && words[end]; end--)
		;
	for (*argc = 0; *argc < end && *argc < ARGUMENTS; ++*argc)
		if (words[end - 1 - *argc] == *argc)
			return *argc ? end - *argc : 0;
	return 0;
}

static bool put_argument(struct dt_core *core, uint64_t address, struct dt_buf *text)
{
	char part[256];

	while (text->length < TEXT) {
		size_t size = sizeof(part) - (size_t)(address % sizeof(part)), length;

		if (dt_mem_read(core->mem, address, part, size) < 0)
			return false;
		length = strnlen(part, size);
		dt_buf_append(text, part, length);
		if (length < size)
			return true;
		address += size;
	}
	return true;
}

static int join(struct dt_core *core, const uint64_t *arguments, size_t count)
{
	struct dt_buf text = DT_BUF_INIT;
	bool whole = true;
	int rc = 0;

	for (size_t i = 0; i < count && whole && text.length < TEXT; i++) {
		if (i)
			dt_buf_putc(&text, ' ');
		whole = put_argument(core, arguments[i], &text);
	}
	if (text.failed) {
		rc = -ENOMEM;
	} else if (whole && text.length) {
		core->info.command = dt_arena_strndup(&core->arena, text.data, text.length);
		rc = core->info.command ? 0 : -ENOMEM;
	}
	dt_buf_release(&text);
	return rc;
}

int core_read_command(struct dt_core *core)
{
	const struct dt_map *stack = core->info.execfn ? dt_maps_at(&core->maps, core->info.execfn) : NULL;
	dt_auto_free uint64_t *words = NULL;
	size_t size, first, argc, vector;
	uint64_t top;

	/* What was decompressed behind a damage may lie elsewhere than it did: pointers lead to other texts. */
	if (!stack || core->info.damaged || core->auxv_words < AUXV_WORDS)
		return 0;
	top = core->info.execfn & ~UINT64_C(7);
	size = (size_t)DT_MIN(top - DT_MIN(top, (stack->start + 7) & ~UINT64_C(7)), SEARCHED);
	if (size <= core->auxv_words * 8)
		return 0;
	words = malloc(size);
	if (!words)
		return -ENOMEM;
	if (dt_mem_read(core->mem, top - size, words, size) < 0)
		return 0;
	vector = find_vector(core, words, size / 8);
	first = vector ? find_arguments(words, vector, &argc) : 0;
	return first ? join(core, words + first, argc) : 0;
}
