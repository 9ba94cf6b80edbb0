/*
 * A core without the list of mapped files, as qemu writes it and Linux did before 3.7. Where the program was loaded is
 * known all the same: the kernel tells a program where its headers are. With those of --exe that makes a row for each
 * of its segments.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/util.h"
#include "core/inside.h"

#define PAGE     UINT64_C(4096)
#define SEGMENTS 64

static bool bias_of(const struct dt_core *core, const struct dt_elf *elf, uint64_t *bias)
{
	for (size_t i = 0; i < dt_elf_segment_count(elf); i++) {
		struct dt_elf_segment segment = dt_elf_segment(elf, i);

		if (segment.type == PT_PHDR) {
			*bias = core->info.phdr - segment.address;
			return *bias % PAGE == 0;
		}
	}
	return false;
}

static void add_rows(struct dt_core *core, const struct dt_elf *elf, uint64_t bias)
{
	for (size_t i = 0; i < dt_elf_segment_count(elf) && core->row_count < SEGMENTS; i++) {
		struct dt_elf_segment segment = dt_elf_segment(elf, i);
		uint64_t before = segment.address % PAGE, start = bias + segment.address - before;
		uint64_t size = (segment.file_size + before + PAGE - 1) & ~(PAGE - 1);

		/* Ascending and apart from each other, as they are in a program that could be started. */
		if (segment.type != PT_LOAD || !segment.file_size || segment.offset < before ||
		    size < segment.file_size || start + size < start ||
		    (core->row_count && start < core->rows[core->row_count - 1].end))
			continue;
		core->rows[core->row_count++] = (struct core_row){
		    .start = start, .end = start + size, .offset = segment.offset - before, .path = core->exe};
	}
}

int core_guess_rows(struct dt_core *core)
{
	dt_auto_close int fd = -1;
	struct dt_elf *elf;
	uint64_t bias;

	if (core->rows || !core->exe || !core->info.phdr)
		return 0;
	fd = core_open_given(core->exe);
	if (fd < 0 || dt_elf_open(fd, &elf) < 0)
		return 0;
	core->rows = calloc(SEGMENTS, sizeof(*core->rows));
	if (core->rows && bias_of(core, elf, &bias))
		add_rows(core, elf, bias);
	dt_elf_free(elf);
	return core->rows ? 0 : -ENOMEM;
}
