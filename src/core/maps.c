/*
 * The memory map, from the segments of the core and the list of mapped files; and the memory itself, as pieces of the
 * core and of those files.
 *
 *     segment   |----- in the core -----|-- left out: from the mapped file --|
 *     no segment (gcore)                 |-- left out: from the mapped file --|
 *
 * What must stay true: a page comes from a file only if it was left out because it is the same there. The kernel and
 * gcore write every private page that was changed; so of a mapping that may be written what is missing stays missing,
 * and so does what a core that was cut short should have held.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "core/inside.h"

struct builder {
	struct dt_core *core;
	struct dt_elf_segment *loads;
	size_t load_count;
	struct dt_piece *pieces;
	size_t piece_count;
};

/* ---- files ---- */

static int by_path(const void *a, const void *b)
{
	const struct core_row *const *x = a, *const *y = b;
	int order = strcmp((*x)->path, (*y)->path);

	return order ? order : (*x > *y) - (*x < *y);
}

static int name_files(struct dt_core *core)
{
	dt_auto_free struct core_row **sorted = calloc(core->row_count + 1, sizeof(struct core_row *));

	core->files = dt_arena_calloc(&core->arena, core->row_count + 1, sizeof(*core->files));
	if (!sorted || !core->files)
		return -ENOMEM;
	for (size_t i = 0; i < core->row_count; i++)
		sorted[i] = &core->rows[i];
	qsort(sorted, core->row_count, sizeof(*sorted), by_path);
	for (size_t i = 0; i < core->row_count; i++) {
		struct core_row *row = sorted[i];

		if (!i || strcmp(row->path, sorted[i - 1]->path) != 0)
			core->files[core->file_count++] = (struct core_file){.path = row->path, .fd = -1};
		row->file = core->file_count - 1;
		if (!row->offset && !core->files[row->file].start)
			core->files[row->file].start = row->start;
	}
	return 0;
}

static const struct core_row *row_at(const struct dt_core *core, uint64_t address)
{
	size_t low = 0, high = core->row_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct core_row *row = &core->rows[middle];

		if (address < row->start)
			high = middle;
		else if (address >= row->end)
			low = middle + 1;
		else
			return row;
	}
	return NULL;
}

/* The program is the file that has the headers which the kernel told it about. */
static void find_program(struct dt_core *core)
{
	const struct core_row *row = core->info.phdr ? row_at(core, core->info.phdr) : NULL;

	if (!row && core->row_count)
		row = &core->rows[0];
	core->program = row ? row->file : SIZE_MAX;
	core->info.program = row ? row->path : "";
}

/* ---- memory ---- */

static int by_address(const void *a, const void *b)
{
	const struct dt_elf_segment *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

/* The segments of memory, ascending; one that overlaps the one before it is left out. */
static int collect_loads(struct builder *b)
{
	size_t count = dt_elf_segment_count(b->core->elf), kept = 0;

	b->loads = calloc(count + 1, sizeof(*b->loads));
	if (!b->loads)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct dt_elf_segment segment = dt_elf_segment(b->core->elf, i);

		if (segment.type == PT_LOAD && segment.size)
			b->loads[b->load_count++] = segment;
	}
	qsort(b->loads, b->load_count, sizeof(*b->loads), by_address);
	for (size_t i = 0; i < b->load_count; i++)
		if (!kept || b->loads[i].address >= b->loads[kept - 1].address + b->loads[kept - 1].size)
			b->loads[kept++] = b->loads[i];
	b->load_count = kept;
	return 0;
}

static void add_piece(struct builder *b, uint64_t address, uint64_t size, size_t file, uint64_t offset)
{
	if (size)
		b->pieces[b->piece_count++] = (struct dt_piece){address, size, offset, file};
}

static void add_load(struct builder *b, const struct dt_elf_segment *load)
{
	const struct core_row *row = row_at(b->core, load->address);
	uint64_t told = DT_MIN(load->file_size, load->size), size = b->core->info.size;
	uint64_t there = load->offset < size ? DT_MIN(told, size - load->offset) : 0;
	struct dt_map *map = &b->core->maps.maps[b->core->maps.count++];

	*map = (struct dt_map){
	    .start = load->address,
	    .end = load->address + load->size,
	    .read = load->flags & PF_R,
	    .write = load->flags & PF_W,
	    .exec = load->flags & PF_X,
	    .path = "",
	};
	add_piece(b, load->address, there, 0, load->offset);
	if (!row)
		return;
	map->path = row->path;
	map->inode = row->file + 1;
	map->offset = row->offset + (load->address - row->start);
	if (!map->write && row->end >= map->end)
		add_piece(b, load->address + told, load->size - told, row->file + 1, map->offset + told);
}

/* Part of a mapped file for which there is no segment. */
static void add_gap(struct builder *b, const struct core_row *row, uint64_t end)
{
	struct dt_map *map = &b->core->maps.maps[b->core->maps.count++];

	*map = (struct dt_map){.start = row->start,
			       .end = end,
			       .offset = row->offset,
			       .inode = row->file + 1,
			       .read = true,
			       .path = row->path};
	add_piece(b, row->start, end - row->start, row->file + 1, row->offset);
}

static void merge(struct builder *b)
{
	const struct dt_core *core = b->core;
	uint64_t floor = 0;
	size_t load = 0;

	for (size_t row = 0; row < core->row_count; row++) {
		for (; load < b->load_count && b->loads[load].address <= core->rows[row].start; load++) {
			add_load(b, &b->loads[load]);
			floor = b->loads[load].address + b->loads[load].size;
		}
		if (core->rows[row].start >= floor)
			add_gap(b, &core->rows[row],
				load < b->load_count ? DT_MIN(core->rows[row].end, b->loads[load].address)
						     : core->rows[row].end);
	}
	for (; load < b->load_count; load++)
		add_load(b, &b->loads[load]);
}

static int open_piece(void *context, size_t file)
{
	struct dt_core *core = context;

	return file ? core_file_fd(core, file - 1) : core->fd;
}

int core_build_maps(struct dt_core *core)
{
	struct builder b = {.core = core};
	int rc = name_files(core);

	if (rc == 0)
		rc = collect_loads(&b);
	if (rc < 0)
		goto out;
	find_program(core);
	core->maps.maps = calloc(b.load_count + core->row_count + 1, sizeof(*core->maps.maps));
	b.pieces = calloc(2 * b.load_count + core->row_count + 1, sizeof(*b.pieces));
	rc = core->maps.maps && b.pieces ? 0 : -ENOMEM;
	if (rc < 0)
		goto out;
	merge(&b);
	rc = dt_mem_open_pieces(b.pieces, b.piece_count, open_piece, core, &core->mem);
out:
	free(b.loads);
	free(b.pieces);
	return rc;
}
