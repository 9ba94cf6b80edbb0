/*
 * From a file to the table: .eh_frame is found by its section or, where there are no sections, by the segment that the
 * C++ runtime finds it by; its functions are sorted, and each is run once. Of two that overlap the later one is left
 * out, so starts always rise.
 */
#include "native/cfi.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/util.h"
#include "native/cfi_frames.h"

_Static_assert(sizeof(struct dt_cfi_row) == 16, "a row is what is kept on disk");

static bool machine_registers(uint16_t machine, struct cfi_registers *registers)
{
	static const struct cfi_registers x86_64 = {.sp = 7, .fp = 6, .ra = 16},
					  aarch64 = {.sp = 31, .fp = 29, .ra = 30, .linked = true};

	*registers = machine == EM_X86_64 ? x86_64 : aarch64;
	return machine == EM_X86_64 || machine == EM_AARCH64;
}

/* Where the module begins, and its size; 32 bits are enough for all that is linked. */
static int module_range(struct dt_elf *elf, struct cfi_section *section)
{
	uint64_t low = UINT64_MAX, high = 0;

	for (size_t i = 0; i < dt_elf_segment_count(elf); i++) {
		struct dt_elf_segment segment = dt_elf_segment(elf, i);

		if (segment.type != PT_LOAD)
			continue;
		low = DT_MIN(low, segment.address);
		high = DT_MAX(high, segment.address + segment.size);
	}
	if (low >= high)
		return -ENOENT;
	section->base = low;
	section->size = DT_MIN(high - low, (uint64_t)UINT32_MAX);
	return 0;
}

/* The bytes from an address to the end of what the file has of its segment. */
static uint64_t bytes_from(struct dt_elf *elf, uint64_t address)
{
	for (size_t i = 0; i < dt_elf_segment_count(elf); i++) {
		struct dt_elf_segment segment = dt_elf_segment(elf, i);

		if (segment.type == PT_LOAD && address >= segment.address &&
		    address - segment.address < segment.file_size)
			return segment.file_size - (address - segment.address);
	}
	return 0;
}

/* .eh_frame_hdr: version 1, three encodings, and the pointer that is wanted. */
static int address_by_segment(struct dt_elf *elf, uint64_t header, uint64_t *address)
{
	uint8_t bytes[12] = {0};
	struct cfi_reader reader = {.data = bytes, .at = 4, .end = sizeof(bytes), .address = header};
	int rc = dt_elf_content(elf, header, bytes, sizeof(bytes));

	if (rc < 0)
		return rc;
	*address = cfi_pointer(&reader, bytes[1]);
	return bytes[0] != 1 || reader.bad ? -ENOEXEC : 0;
}

static int find_by_segment(struct dt_elf *elf, struct dt_elf_range *range)
{
	for (size_t i = 0; i < dt_elf_segment_count(elf); i++) {
		struct dt_elf_segment segment = dt_elf_segment(elf, i);
		int rc;

		if (segment.type != PT_GNU_EH_FRAME)
			continue;
		rc = address_by_segment(elf, segment.address, &range->address);
		range->size = rc < 0 ? 0 : bytes_from(elf, range->address);
		return rc;
	}
	return -ENOENT;
}

static int read_section(struct dt_elf *elf, struct cfi_section *section, uint8_t **data)
{
	struct dt_elf_range range;
	int rc = dt_elf_section(elf, ".eh_frame", &range);

	section->exact = rc == 0;
	if (rc == -ENOENT)
		rc = find_by_segment(elf, &range);
	if (rc < 0)
		return rc;
	if (!range.size)
		return -ENOENT;
	if (range.size > DT_CFI_SECTION_LIMIT)
		return -EFBIG;
	*data = malloc(range.size);
	if (!*data)
		return -ENOMEM;
	section->bytes = (struct cfi_reader){.data = *data, .end = range.size, .address = range.address};
	return dt_elf_content(elf, range.address, *data, range.size);
}

static int compare_functions(const void *a, const void *b)
{
	const struct cfi_function *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return left->program < right->program ? -1 : left->program > right->program;
}

static int run_function(const struct cfi_section *section, const struct cfi_common *common,
			const struct cfi_function *function, struct cfi_rows *rows)
{
	struct cfi_reader program = cfi_part(&section->bytes, function->program, function->program_end);
	size_t before = rows->count;
	int rc = cfi_run_function(common, &program, section->base, function->start, function->end, rows);

	if (rc != -ENOEXEC)
		return rc;
	rows->count = before;
	return cfi_rows_add(rows, (struct dt_cfi_row){.start = function->start});
}

static int run_functions(const struct cfi_section *section, const struct cfi_functions *functions,
			 struct cfi_rows *rows)
{
	uint32_t known = UINT32_MAX, end = 0;
	struct cfi_common common;
	int rc = 0;

	for (size_t i = 0; i < functions->count && !rc; i++) {
		const struct cfi_function *function = &functions->list[i];

		if (function->start < end)
			continue;
		if (function->start > end)
			rc = cfi_rows_add(rows, (struct dt_cfi_row){.start = end});
		if (!rc && function->common != known)
			rc = cfi_read_common(section, function->common, &common);
		known = function->common;
		rc = rc ? rc : run_function(section, &common, function, rows);
		end = function->end;
	}
	return rc ? rc : cfi_rows_add(rows, (struct dt_cfi_row){.start = end});
}

static int compile(const struct cfi_section *section, struct dt_cfi *table)
{
	struct cfi_functions functions = {0};
	struct cfi_rows rows = {0};
	int rc = cfi_list_functions(section, &functions);

	if (!rc && !functions.count)
		rc = -ENOENT;
	if (!rc) {
		qsort(functions.list, functions.count, sizeof(*functions.list), compare_functions);
		rc = run_functions(section, &functions, &rows);
	}
	free(functions.list);
	if (rc < 0) {
		free(rows.rows);
		return rc;
	}
	table->base = section->base;
	table->rows = rows.rows;
	table->count = rows.count;
	return 0;
}

int dt_cfi_compile(struct dt_elf *elf, struct dt_cfi *table)
{
	struct cfi_section section = {0};
	dt_auto_free uint8_t *data = NULL;
	int rc;

	*table = (struct dt_cfi){.machine = dt_elf_machine(elf)};
	if (!machine_registers(table->machine, &section.registers))
		return -ENOTSUP;
	rc = module_range(elf, &section);
	if (rc < 0)
		return rc;
	rc = read_section(elf, &section, &data);
	return rc < 0 ? rc : compile(&section, table);
}

void dt_cfi_release(struct dt_cfi *table)
{
	free(table->rows);
	*table = (struct dt_cfi){0};
}

const struct dt_cfi_row *dt_cfi_find(const struct dt_cfi *table, uint64_t address)
{
	size_t low = 0, high = table->count;
	uint64_t wanted = address - table->base;

	if (address < table->base)
		return NULL;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->rows[middle].start <= wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &table->rows[low - 1] : NULL;
}
