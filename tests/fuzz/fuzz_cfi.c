/*
 * .eh_frame, and what is kept of it. The first byte of an input says what the rest is: the section of a file for x86-64
 * ('x') or aarch64 ('a'), a whole ELF file ('e'), a kept table ('k'), or the rows of one whose checksum is right ('r').
 * A table that comes out must be in order, stay what it is when it is kept, and lead to an end in any stack: the input
 * is one.
 */
#include "fuzz.h"

#include <elf.h>

#include "base/util.h"
#include "native/unwind.h"

#include "../eh_frame.h"

#define LOAD   UINT64_C(0x10000)
#define STACK  UINT64_C(0x7ffc00000000)
#define FRAMES 256

static bool find(void *context, uint64_t address, struct dt_unwind_module *module)
{
	const struct dt_cfi *table = context;

	/* Half of it has no table. */
	*module = (struct dt_unwind_module){.start = LOAD, .end = LOAD + EH_FRAME_HIGH, .bias = LOAD - table->base};
	if (address < LOAD + EH_FRAME_HIGH / 2) {
		module->end = LOAD + EH_FRAME_HIGH / 2;
		module->table = table;
	} else {
		module->start = LOAD + EH_FRAME_HIGH / 2;
	}
	return address >= module->start && address < module->end;
}

static void walk(struct dt_cfi *table, const uint8_t *data, size_t size, uint64_t start)
{
	struct dt_recorded_range range = {STACK, data, size};
	struct dt_unwinder unwinder = {.machine = table->machine, .find = find, .context = table};
	struct dt_unwind_registers registers = {
	    .ip = LOAD + start, .sp = STACK, .fp = STACK + 16, .lr = LOAD + start / 2, .has_fp = true, .has_lr = true};
	struct dt_unwind_frame frames[FRAMES];
	enum dt_unwind_end end;
	size_t count, falls = 0;

	MUST(dt_mem_open_recorded(&range, 1, &unwinder.mem) == 0);
	count = dt_unwind(&unwinder, &registers, frames, FRAMES, &end);
	MUST(count >= 1 && count <= FRAMES && end != DT_UNWIND_ON && (end != DT_UNWIND_LIMIT || count == FRAMES));
	for (size_t i = 1; i < count; i++)
		falls += frames[i].sp <= frames[i - 1].sp;
	/* One for each signal, and for the function after it that has used no stack. */
	MUST(falls <= 2 * DT_UNWIND_SIGNALS + 1);
	dt_mem_free(unwinder.mem);
}

static void check(struct dt_cfi *table, const uint8_t *data, size_t size)
{
	struct dt_buf kept = DT_BUF_INIT;
	struct dt_cfi again;

	for (size_t i = 0; i < table->count; i++) {
		MUST(!i || table->rows[i - 1].start < table->rows[i].start);
		MUST(dt_cfi_find(table, table->base + table->rows[i].start) == &table->rows[i] ||
		     table->base > UINT64_MAX - UINT32_MAX);
	}
	dt_cfi_encode(table, &kept);
	MUST(!kept.failed && dt_cfi_decode(kept.data, kept.length, &again) == 0);
	MUST(again.count == table->count && !memcmp(again.rows, table->rows, table->count * sizeof(*table->rows)));
	dt_cfi_release(&again);
	dt_buf_release(&kept);
	for (size_t i = 0; i < DT_MIN(table->count, 16); i++)
		walk(table, data, size, table->rows[i].start);
}

static int compile(int fd, struct dt_cfi *table)
{
	struct dt_elf *elf;
	int rc = dt_elf_open(fd, &elf);

	if (rc < 0)
		return rc;
	rc = dt_cfi_compile(elf, table);
	dt_elf_free(elf);
	return rc;
}

static int from_section(const uint8_t *data, size_t size, uint16_t machine, struct dt_cfi *table)
{
	struct dt_buf frames = DT_BUF_INIT;
	dt_auto_close int fd = -1;

	dt_buf_append(&frames, (const char *)data, size);
	fd = eh_frame_file(&frames, machine);
	dt_buf_release(&frames);
	return compile(fd, table);
}

static int from_file(const uint8_t *data, size_t size, struct dt_cfi *table)
{
	dt_auto_close int fd = memfd_create("input", MFD_CLOEXEC);

	MUST(fd >= 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
	return compile(fd, table);
}

static int from_rows(const uint8_t *data, size_t size, struct dt_cfi *table)
{
	struct dt_cfi forged = {.machine = EM_AARCH64, .count = size / sizeof(struct dt_cfi_row)};
	struct dt_buf kept = DT_BUF_INIT;
	int rc;

	forged.rows = malloc(size + 1);
	MUST(forged.rows);
	memcpy(forged.rows, data, size);
	dt_cfi_encode(&forged, &kept);
	rc = dt_cfi_decode(kept.data, kept.length, table);
	dt_buf_release(&kept);
	dt_cfi_release(&forged);
	return rc;
}

static int make(uint8_t kind, const uint8_t *data, size_t size, struct dt_cfi *table)
{
	switch (kind) {
	case 'x':
		return from_section(data, size, EM_X86_64, table);
	case 'a':
		return from_section(data, size, EM_AARCH64, table);
	case 'e':
		return from_file(data, size, table);
	case 'k':
		return dt_cfi_decode(data, size, table);
	case 'r':
		return from_rows(data, size, table);
	default:
		return -1;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dt_cfi table = {0};
	int rc;

	if (!size)
		return 0;
	rc = make(data[0], data + 1, size - 1, &table);
	if (rc == 0)
		check(&table, data + 1, size - 1);
	else
		MUST(!table.rows);
	dt_cfi_release(&table);
	return 0;
}
