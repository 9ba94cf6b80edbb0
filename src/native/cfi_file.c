/* The table as bytes, and back. */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/util.h"
#include "native/cfi.h"

struct header {
	char magic[4];
	uint16_t version, machine;
	uint64_t base, count;
	uint64_t checksum;
};

static const char magic[4] = {'d', 'c', 'f', 'i'};

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are written as they lie in memory");
_Static_assert(sizeof(struct header) == 32, "no holes");

static uint64_t checksum_of(const struct header *header, const struct dt_cfi_row *rows)
{
	uint64_t sum = dt_hash64(header, offsetof(struct header, checksum), 0);

	return dt_hash64(rows, header->count * sizeof(*rows), sum);
}

void dt_cfi_encode(const struct dt_cfi *table, struct dt_buf *buf)
{
	struct header header = {
	    .version = DT_CFI_VERSION, .machine = table->machine, .base = table->base, .count = table->count};

	memcpy(header.magic, magic, sizeof(magic));
	header.checksum = checksum_of(&header, table->rows);
	dt_buf_append(buf, (const char *)&header, sizeof(header));
	dt_buf_append(buf, (const char *)table->rows, table->count * sizeof(*table->rows));
}

static bool rows_sound(const struct dt_cfi_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if ((i && rows[i].start <= rows[i - 1].start) || rows[i].cfa >= DT_CFA_COUNT ||
		    rows[i].fp >= DT_SAVED_COUNT || rows[i].ra >= DT_SAVED_COUNT ||
		    rows[i].marks > (DT_CFI_SIGNAL | DT_CFI_PLUS_WORD))
			return false;
	return true;
}

static int check_header(const struct header *header, size_t rows_size)
{
	if (memcmp(header->magic, magic, sizeof(magic)) != 0)
		return -EBADMSG;
	if (header->version != DT_CFI_VERSION)
		return -ENOTSUP;
	if ((header->machine != EM_X86_64 && header->machine != EM_AARCH64) || !header->count ||
	    header->count > DT_CFI_ROWS_LIMIT || rows_size != header->count * sizeof(struct dt_cfi_row))
		return -EBADMSG;
	return 0;
}

int dt_cfi_decode(const void *bytes, size_t size, struct dt_cfi *table)
{
	struct header header;
	dt_auto_free struct dt_cfi_row *rows = NULL;
	int rc;

	*table = (struct dt_cfi){0};
	if (size < sizeof(header))
		return -EBADMSG;
	memcpy(&header, bytes, sizeof(header));
	size -= sizeof(header);
	rc = check_header(&header, size);
	if (rc < 0)
		return rc;
	rows = malloc(size);
	if (!rows)
		return -ENOMEM;
	memcpy(rows, (const char *)bytes + sizeof(header), size);
	if (checksum_of(&header, rows) != header.checksum || !rows_sound(rows, header.count))
		return -EBADMSG;
	*table = (struct dt_cfi){.machine = header.machine, .base = header.base, .count = header.count, .rows = rows};
	rows = NULL;
	return 0;
}
