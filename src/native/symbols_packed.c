/* MiniDebugInfo: a whole ELF file with little more than .symtab, packed with xz into a section of another one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "native/symbols_inside.h"

#ifdef DT_LZMA
#include <lzma.h>
#endif

#define SECTION_LIMIT ((uint64_t)32 << 20)
#define MEMORY_LIMIT  ((uint64_t)96 << 20) /* of the decoder; 'xz -9' wants 65 MB */
#define FIRST_SIZE    ((size_t)256 << 10)

static ssize_t read_packed(void *context, uint64_t offset, void *buffer, size_t size)
{
	const struct symbols_packed *packed = context;

	if (offset >= packed->size)
		return 0;
	size = DT_MIN(size, packed->size - offset);
	memcpy(buffer, packed->bytes + offset, size);
	return (ssize_t)size;
}

#ifdef DT_LZMA
/* Makes room for more, up to the limit. */
static int widen(struct symbols_packed *packed, size_t *capacity)
{
	size_t more = DT_MIN(DT_MAX(*capacity * 2, FIRST_SIZE), DT_SYMBOLS_PACKED_LIMIT);
	uint8_t *grown;

	if (more == *capacity)
		return -EFBIG;
	grown = realloc(packed->bytes, more);
	if (!grown)
		return -ENOMEM;
	packed->bytes = grown;
	*capacity = more;
	return 0;
}

static int run(lzma_stream *stream, struct symbols_packed *packed)
{
	size_t capacity = 0;
	lzma_ret code = LZMA_OK;

	while (code == LZMA_OK) {
		if (packed->size == capacity) {
			int rc = widen(packed, &capacity);

			if (rc < 0)
				return rc;
		}
		stream->next_out = packed->bytes + packed->size;
		stream->avail_out = capacity - packed->size;
		code = lzma_code(stream, LZMA_FINISH);
		packed->size = capacity - stream->avail_out;
	}
	if (code == LZMA_MEM_ERROR)
		return -ENOMEM;
	return code == LZMA_STREAM_END ? 0 : code == LZMA_MEMLIMIT_ERROR ? -EFBIG : -ENOEXEC;
}

static int unpack(const uint8_t *bytes, size_t size, struct symbols_packed *packed)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	int rc;

	if (lzma_stream_decoder(&stream, MEMORY_LIMIT, 0) != LZMA_OK)
		return -ENOMEM;
	stream.next_in = bytes;
	stream.avail_in = size;
	rc = run(&stream, packed);
	lzma_end(&stream);
	return rc;
}
#else
static int unpack(const uint8_t *bytes, size_t size, struct symbols_packed *packed)
{
	(void)bytes;
	(void)size;
	(void)packed;
	return -ENOTSUP;
}
#endif

int symbols_unpack(struct dt_elf *elf, struct symbols_packed *packed)
{
	dt_auto_free uint8_t *bytes = NULL;
	struct dt_elf_range section;
	int rc = dt_elf_section(elf, ".gnu_debugdata", &section);

	*packed = (struct symbols_packed){0};
	if (rc < 0)
		return rc;
	if (!section.size || section.size > SECTION_LIMIT)
		return section.size ? -EFBIG : -ENOEXEC;
	bytes = malloc(section.size);
	if (!bytes)
		return -ENOMEM;
	rc = dt_elf_bytes(elf, section.offset, bytes, section.size);
	if (rc == 0)
		rc = unpack(bytes, section.size, packed);
	return rc < 0 ? rc : dt_elf_open_file(read_packed, packed, &packed->elf);
}

void symbols_packed_release(struct symbols_packed *packed)
{
	dt_elf_free(packed->elf);
	free(packed->bytes);
	*packed = (struct symbols_packed){0};
}
