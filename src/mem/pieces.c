/*
 * Memory that lies in pieces of files. What must stay true: the pieces are ascending and without overlaps, so that an
 * address has one place or none. Files are read, never mapped: one that is cut short meanwhile is an error, no SIGBUS.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/util.h"
#include "mem/reader.h"

struct pieces {
	struct dt_mem mem;
	dt_piece_open_fn *open;
	void *context;
	size_t count;
	struct dt_piece list[];
};

static const struct dt_piece *find(const struct pieces *pieces, uint64_t address)
{
	size_t low = 0, high = pieces->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct dt_piece *piece = &pieces->list[middle];

		if (address < piece->address)
			high = middle;
		else if (address - piece->address >= piece->size)
			low = middle + 1;
		else
			return piece;
	}
	return NULL;
}

static int read_at(struct pieces *pieces, int fd, uint64_t offset, char *to, size_t size)
{
	while (size) {
		ssize_t got = offset > INT64_MAX ? 0 : pread(fd, to, size, (off_t)offset);

		pieces->mem.stats.calls++;
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -EFAULT;
		to += got;
		size -= (size_t)got;
		offset += (uint64_t)got;
		pieces->mem.stats.bytes += (uint64_t)got;
	}
	return 0;
}

static int read_range(struct pieces *pieces, const struct dt_range *wanted)
{
	uint64_t address = wanted->address;
	char *to = wanted->buffer;
	size_t left = wanted->size;

	while (left) {
		const struct dt_piece *piece = find(pieces, address);
		uint64_t skip;
		size_t part;
		int fd;

		if (!piece)
			return -EFAULT;
		skip = address - piece->address;
		part = (size_t)DT_MIN(piece->size - skip, left);
		fd = pieces->open(pieces->context, piece->file);
		if (fd < 0 || read_at(pieces, fd, piece->offset + skip, to, part) < 0)
			return -EFAULT;
		to += part;
		left -= part;
		address += part; /* a wrap to 0 finds the piece at 0 or none: harmless */
	}
	return 0;
}

static ssize_t gather(struct dt_mem *mem, const struct dt_range *ranges, size_t count)
{
	struct pieces *pieces = (struct pieces *)mem;

	for (size_t i = 0; i < count; i++) {
		int rc = read_range(pieces, &ranges[i]);

		if (rc < 0)
			return i ? (ssize_t)i : rc;
	}
	return (ssize_t)count;
}

static void pieces_free(struct dt_mem *mem)
{
	free(mem);
}

static const struct dt_mem_ops pieces_ops = {gather, pieces_free};

static int by_address(const void *a, const void *b)
{
	const struct dt_piece *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

int dt_mem_open_pieces(const struct dt_piece *list, size_t count, dt_piece_open_fn *open, void *context,
		       struct dt_mem **mem)
{
	struct pieces *pieces = calloc(1, sizeof(*pieces) + count * sizeof(*list));
	uint64_t last = 0; /* the last address taken */
	size_t kept = 0;

	if (!pieces)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		pieces->list[i] = list[i];
	qsort(pieces->list, count, sizeof(*list), by_address);
	for (size_t i = 0; i < count; i++) {
		struct dt_piece piece = pieces->list[i];

		if (!piece.size || piece.address > UINT64_MAX - (piece.size - 1) ||
		    piece.offset > UINT64_MAX - piece.size || (kept && piece.address <= last))
			continue;
		last = piece.address + (piece.size - 1);
		pieces->list[kept++] = piece;
	}
	pieces->mem = (struct dt_mem){.ops = &pieces_ops, .stats = {.way = "pieces"}};
	pieces->open = open;
	pieces->context = context;
	pieces->count = kept;
	*mem = &pieces->mem;
	return 0;
}
