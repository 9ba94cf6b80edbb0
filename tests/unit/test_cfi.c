#include "unit.h"

#include <errno.h>
#include <fcntl.h>

#include "native/cfi.h"

#include "../eh_frame.h"

#define PROGRAM(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})
#define X86_FIRST    PROGRAM(0x0c, 7, 8, 0x90, 1) /* CFA is sp + 8, the return address at CFA - 8 */
#define ARM_FIRST    PROGRAM(0x0c, 31, 0)

static int compile(const struct dt_buf *frames, uint16_t machine, struct dt_cfi *table)
{
	dt_auto_close int fd = eh_frame_file(frames, machine);
	struct dt_elf *elf;
	int rc;

	assert_int_equal(dt_elf_open(fd, &elf), 0);
	rc = dt_cfi_compile(elf, table);
	dt_elf_free(elf);
	return rc;
}

/* The table of one function from 0x1000 to 0x1100. */
static struct dt_cfi table_of(uint16_t machine, const char *letters, const uint8_t *program, size_t size)
{
	struct dt_buf frames = DT_BUF_INIT;
	struct dt_cfi table;
	size_t common = machine == EM_X86_64 ? put_common(&frames, letters, 16, X86_FIRST)
					     : put_common(&frames, letters, 30, ARM_FIRST);

	put_function(&frames, common, 0x1000, 0x100, program, size);
	put32(&frames, 0);
	assert_int_equal(compile(&frames, machine, &table), 0);
	assert_int_equal(table.machine, machine);
	dt_buf_release(&frames);
	return table;
}

static void check_row(const struct dt_cfi *table, uint64_t address, struct dt_cfi_row wanted)
{
	const struct dt_cfi_row *row = dt_cfi_find(table, address);

	assert_non_null(row);
	wanted.start = row->start;
	assert_memory_equal(row, &wanted, sizeof(wanted));
}

static const struct dt_cfi_row no_rule,
    first_rule = {.cfa = DT_CFA_SP, .cfa_offset = 8, .ra = DT_SAVED_CFA, .ra_words = -1};

static void rows_of_a_function(void **state)
{
	/* push rbp; mov rbp, rsp; ... remember; leave; restore */
	struct dt_cfi table = table_of(
	    EM_X86_64, "zR",
	    PROGRAM(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x0a, 0x02, 0x20, 0x0c, 7, 8, 0xc6, 0x41, 0x0b));
	struct dt_cfi_row pushed = {
	    .cfa = DT_CFA_SP, .cfa_offset = 16, .fp = DT_SAVED_CFA, .fp_words = -2, .ra = DT_SAVED_CFA, .ra_words = -1};
	struct dt_cfi_row framed = pushed;

	(void)state;
	framed.cfa = DT_CFA_FP;
	check_row(&table, 0xfff, no_rule);
	check_row(&table, 0x1000, first_rule);
	check_row(&table, 0x1001, pushed);
	check_row(&table, 0x1003, pushed);
	check_row(&table, 0x1004, framed);
	check_row(&table, 0x1023, framed);
	check_row(&table, 0x1024, first_rule);
	check_row(&table, 0x1025, framed);
	check_row(&table, 0x10ff, framed);
	check_row(&table, 0x1100, no_rule);
	assert_int_equal(table.count, 7);
	dt_cfi_release(&table);
}

static void functions_are_sorted(void **state)
{
	struct dt_buf frames = DT_BUF_INIT;
	size_t common = put_common(&frames, "zR", 16, X86_FIRST);
	struct dt_cfi table;

	(void)state;
	put_function(&frames, common, 0x3000, 0x10, PROGRAM(0));
	put_function(&frames, common, 0x2000, 0x10, PROGRAM(0x0e, 32));
	put_function(&frames, common, 0x2010, 0x10, PROGRAM(0x0e, 32));
	put_function(&frames, common, 0x2008, 0x2000, PROGRAM(0x0e, 64));       /* overlaps */
	put_function(&frames, common, EH_FRAME_HIGH - 8, 9, PROGRAM(0x0e, 64)); /* not in the module */
	put_function(&frames, common, 0x5000, 0, PROGRAM(0x0e, 64));            /* empty */
	assert_int_equal(compile(&frames, EM_X86_64, &table), 0);
	assert_int_equal(table.count, 5);
	assert_int_equal(dt_cfi_find(&table, 0x201f)->cfa_offset, 32);
	check_row(&table, 0x2020, no_rule);
	check_row(&table, 0x3000, first_rule);
	check_row(&table, 0x3010, no_rule);
	dt_cfi_release(&table);
	dt_buf_release(&frames);
}

static void check_cfa(const uint8_t *program, size_t size, enum dt_cfi_cfa cfa, int offset, unsigned marks)
{
	struct dt_cfi table = table_of(EM_X86_64, "zR", program, size);
	const struct dt_cfi_row *row = dt_cfi_find(&table, 0x1010);

	assert_int_equal(row->cfa, cfa);
	assert_int_equal(row->cfa_offset, offset);
	assert_int_equal(row->marks, marks);
	dt_cfi_release(&table);
}

static void known_expressions_become_rules(void **state)
{
	(void)state;
	check_cfa(PROGRAM(0x0f, 3, 0x76, 0x78, 0x06), DT_CFA_AT_FP, -8, 0);
	check_cfa(PROGRAM(0x0f, 4, 0x77, 0xa0, 0x01, 0x06), DT_CFA_AT_SP, 160, 0);
	check_cfa(PROGRAM(0x0f, 5, 0x77, 0x28, 0x06, 0x23, 8), DT_CFA_AT_SP, 40, DT_CFI_PLUS_WORD);
	check_cfa(PROGRAM(0x0f, 2, 0x77, 0x18), DT_CFA_SP, 24, 0);
	check_cfa(PROGRAM(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22), DT_CFA_PLT, 11, 0);
	/* not known: another sum, another register, an operation that is cut off, one more */
	check_cfa(PROGRAM(0x0f, 5, 0x77, 0x28, 0x06, 0x23, 16), DT_CFA_NONE, 0, 0);
	check_cfa(PROGRAM(0x0f, 3, 0x7a, 0x78, 0x06), DT_CFA_NONE, 0, 0);
	check_cfa(PROGRAM(0x0f, 4, 0x77, 0x28, 0x06, 0x23), DT_CFA_NONE, 0, 0);
	check_cfa(PROGRAM(0x0f, 4, 0x77, 0x28, 0x06, 0x06), DT_CFA_NONE, 0, 0);
	check_cfa(PROGRAM(0x0f, 0), DT_CFA_NONE, 0, 0);
	/* an offset alone cannot mend it */
	check_cfa(PROGRAM(0x0f, 3, 0x76, 0x78, 0x06, 0x0e, 16), DT_CFA_NONE, 0, 0);
}

static void a_signal_frame_is_marked(void **state)
{
	/* As glibc has it: the word at sp + 160; rbp at sp + 120, rip at sp + 168. */
	struct dt_cfi table = table_of(
	    EM_X86_64, "zRS",
	    PROGRAM(0x0f, 4, 0x77, 0xa0, 0x01, 0x06, 0x10, 6, 3, 0x77, 0xf8, 0x00, 0x10, 16, 3, 0x77, 0xa8, 0x01));

	(void)state;
	check_row(&table, 0x1000,
		  (struct dt_cfi_row){.cfa = DT_CFA_AT_SP,
				      .cfa_offset = 160,
				      .fp = DT_SAVED_SP,
				      .fp_words = 15,
				      .ra = DT_SAVED_SP,
				      .ra_words = 21,
				      .marks = DT_CFI_SIGNAL});
	dt_cfi_release(&table);
}

static void check_saved(const uint8_t *program, size_t size, enum dt_cfi_saved fp, enum dt_cfi_saved ra)
{
	struct dt_cfi table = table_of(EM_X86_64, "zR", program, size);

	assert_int_equal(dt_cfi_find(&table, 0x1010)->fp, fp);
	assert_int_equal(dt_cfi_find(&table, 0x1010)->ra, ra);
	dt_cfi_release(&table);
}

static void registers_are_saved_in_places(void **state)
{
	(void)state;
	check_saved(PROGRAM(0x07, 16), DT_SAVED_SAME, DT_SAVED_UNDEFINED);
	check_saved(PROGRAM(0x0c, 10, 0, 0x07, 16), DT_SAVED_SAME, DT_SAVED_UNDEFINED); /* without a CFA, too */
	check_saved(PROGRAM(0x07, 6), DT_SAVED_UNDEFINED, DT_SAVED_CFA);
	check_saved(PROGRAM(0x10, 6, 2, 0x76, 0), DT_SAVED_FP, DT_SAVED_CFA);
	check_saved(PROGRAM(0x09, 6, 9), DT_SAVED_UNKNOWN, DT_SAVED_CFA);
	check_saved(PROGRAM(0x16, 6, 2, 0x76, 0), DT_SAVED_UNKNOWN, DT_SAVED_CFA);
	check_saved(PROGRAM(0x11, 6, 0x7e), DT_SAVED_CFA, DT_SAVED_CFA);
	check_saved(PROGRAM(0x05, 6, 0x80, 0x80, 0x10), DT_SAVED_UNKNOWN, DT_SAVED_CFA);      /* too far away */
	check_saved(PROGRAM(0x09, 3, 9, 0x05, 12, 5, 0x2e, 16), DT_SAVED_SAME, DT_SAVED_CFA); /* of others */
}

static void aarch64_has_its_own_registers(void **state)
{
	/* paciasp; stp x29, x30, [sp, -48]! */
	struct dt_cfi table = table_of(EM_AARCH64, "zR", PROGRAM(0x44, 0x2d, 0x44, 0x0e, 48, 0x9d, 6, 0x9e, 5));

	(void)state;
	check_row(&table, 0x1007, (struct dt_cfi_row){.cfa = DT_CFA_SP});
	check_row(&table, 0x1008,
		  (struct dt_cfi_row){.cfa = DT_CFA_SP,
				      .cfa_offset = 48,
				      .fp = DT_SAVED_CFA,
				      .fp_words = -6,
				      .ra = DT_SAVED_CFA,
				      .ra_words = -5});
	dt_cfi_release(&table);
}

/* What is not understood has no rule, from its first byte to its last. */
static void nonsense_has_no_rule(void **state)
{
	static const struct {
		uint8_t bytes[24];
		size_t size;
	} programs[] = {
	    {{0x41, 0x0e, 16, 0x3f}, 4},         /* no such instruction */
	    {{0x41, 0x0b}, 2},                   /* nothing was remembered */
	    {{0x41, 0x86, 0x80, 0x80}, 4},       /* a number without an end */
	    {{0x41, 0x0f, 0x7f, 0x77}, 4},       /* an expression longer than all */
	    {{0x42, 0x01, 0x01, 0x10, 0, 0}, 6}, /* back */
	    {{0x41, 0x04, 0xff}, 3},             /* half of an advance */
	    {{0x41, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a,
	      0x0a},
	     18}, /* remembered too often */
	};

	(void)state;
	for (size_t i = 0; i < DT_COUNT(programs); i++) {
		struct dt_cfi table = table_of(EM_X86_64, "zR", programs[i].bytes, programs[i].size);

		for (uint64_t at = 0x1000; at < 0x1100; at++)
			check_row(&table, at, no_rule);
		dt_cfi_release(&table);
	}
}

static void without_functions_there_is_no_table(void **state)
{
	struct dt_buf frames = DT_BUF_INIT;
	struct dt_cfi table;
	size_t common;

	(void)state;
	put32(&frames, 0);
	assert_int_equal(compile(&frames, EM_X86_64, &table), -ENOENT);
	assert_int_equal(compile(&frames, EM_S390, &table), -ENOTSUP);
	dt_buf_clear(&frames);
	common = put_common(&frames, "zQ", 16, X86_FIRST);
	put_function(&frames, common, 0x1000, 0x100, PROGRAM(0));
	put_function(&frames, common + 4, 0x2000, 0x100, PROGRAM(0));    /* not where an entry begins */
	put_function(&frames, frames.length, 0x3000, 0x100, PROGRAM(0)); /* itself */
	assert_int_equal(compile(&frames, EM_X86_64, &table), -ENOENT);
	assert_null(table.rows);
	assert_null(dt_cfi_find(&table, 0x1000));
	dt_buf_release(&frames);
}

static void check_order(const struct dt_cfi *table)
{
	for (size_t i = 1; i < table->count; i++)
		assert_true(table->rows[i - 1].start < table->rows[i].start);
}

static void put_some(struct dt_buf *frames)
{
	size_t common = put_common(frames, "zR", 16, X86_FIRST);

	put_function(frames, common, 0x1000, 0x100, PROGRAM(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6));
	common = put_common(frames, "zRS", 16, X86_FIRST);
	put_function(frames, common, 0x2000, 0x100, PROGRAM(0x0f, 4, 0x77, 0xa0, 0x01, 0x06));
	put32(frames, 0);
}

static void damage_is_survived(void **state)
{
	struct dt_buf frames = DT_BUF_INIT;

	(void)state;
	put_some(&frames);
	for (size_t bit = 0; bit < frames.length * 8; bit++) {
		struct dt_cfi table;

		frames.data[bit / 8] ^= (char)(1 << bit % 8);
		if (compile(&frames, EM_X86_64, &table) == 0)
			check_order(&table);
		dt_cfi_release(&table);
		frames.data[bit / 8] ^= (char)(1 << bit % 8);
	}
	dt_buf_release(&frames);
}

static void make_kept(struct dt_buf *kept)
{
	struct dt_buf frames = DT_BUF_INIT;
	struct dt_cfi table;

	put_some(&frames);
	assert_int_equal(compile(&frames, EM_X86_64, &table), 0);
	dt_cfi_encode(&table, kept);
	dt_cfi_release(&table);
	dt_buf_release(&frames);
}

static void a_kept_table_is_the_same(void **state)
{
	struct dt_buf kept = DT_BUF_INIT, again = DT_BUF_INIT;
	struct dt_cfi table;

	(void)state;
	make_kept(&kept);
	assert_int_equal(kept.length, 32 + 7 * 16);
	assert_memory_equal(kept.data, "dcfi\1\0\x3e", 8);
	assert_int_equal(dt_cfi_decode(kept.data, kept.length, &table), 0);
	assert_int_equal(dt_cfi_find(&table, 0x2050)->marks, DT_CFI_SIGNAL);
	dt_cfi_encode(&table, &again);
	assert_int_equal(again.length, kept.length);
	assert_memory_equal(again.data, kept.data, kept.length);
	dt_cfi_release(&table);
	dt_buf_release(&again);
	dt_buf_release(&kept);
}

static void damage_to_a_kept_table_is_seen(void **state)
{
	struct dt_buf kept = DT_BUF_INIT;
	struct dt_cfi table;

	(void)state;
	make_kept(&kept);
	for (size_t bit = 0; bit < kept.length * 8; bit++) {
		kept.data[bit / 8] ^= (char)(1 << bit % 8);
		assert_int_equal(dt_cfi_decode(kept.data, kept.length, &table), bit / 16 == 2 ? -ENOTSUP : -EBADMSG);
		assert_null(table.rows);
		kept.data[bit / 8] ^= (char)(1 << bit % 8);
	}
	for (size_t size = 0; size < kept.length; size++)
		assert_int_equal(dt_cfi_decode(kept.data, size, &table), -EBADMSG);
	dt_buf_release(&kept);
}

/* Whoever can write the checksum can write anything: ways that do not exist, rows out of order. */
static void a_forged_table_is_refused(void **state)
{
	struct dt_cfi_row rows[] = {{.start = 1}, {.start = 2}};
	static const struct dt_cfi_row bad[] = {{.start = 1},
						{.start = 0},
						{.start = 2, .cfa = DT_CFA_COUNT},
						{.start = 2, .fp = DT_SAVED_COUNT},
						{.start = 2, .ra = DT_SAVED_COUNT},
						{.start = 2, .marks = 4}};
	struct dt_cfi table = {.machine = EM_X86_64, .count = 2, .rows = rows}, read;
	struct dt_buf kept = DT_BUF_INIT;

	(void)state;
	dt_cfi_encode(&table, &kept);
	assert_int_equal(dt_cfi_decode(kept.data, kept.length, &read), 0);
	dt_cfi_release(&read);
	for (size_t i = 0; i < DT_COUNT(bad); i++) {
		rows[1] = bad[i];
		dt_buf_clear(&kept);
		dt_cfi_encode(&table, &kept);
		assert_int_equal(dt_cfi_decode(kept.data, kept.length, &read), -EBADMSG);
	}
	dt_buf_release(&kept);
}

static void compile_fd(int fd, struct dt_cfi *table)
{
	struct dt_elf *elf;

	assert_int_equal(dt_elf_open(fd, &elf), 0);
	assert_int_equal(dt_cfi_compile(elf, table), 0);
	dt_elf_free(elf);
}

/* This program, and a copy that has lost its section headers. */
static void sections_are_not_needed(void **state)
{
	dt_auto_close int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	dt_auto_close int copy = memfd_create("copy", MFD_CLOEXEC);
	struct dt_cfi with, without;
	Elf64_Ehdr header;
	char chunk[4096];
	ssize_t got;

	(void)state;
	while ((got = read(fd, chunk, sizeof(chunk))) > 0)
		assert_int_equal(write(copy, chunk, (size_t)got), got);
	assert_int_equal(pread(copy, &header, sizeof(header), 0), sizeof(header));
	header.e_shoff = 0;
	header.e_shnum = header.e_shstrndx = 0;
	assert_int_equal(pwrite(copy, &header, sizeof(header), 0), sizeof(header));
	compile_fd(fd, &with);
	compile_fd(copy, &without);
	assert_true(with.count > 100);
	check_order(&with);
	assert_int_equal(with.count, without.count);
	assert_memory_equal(with.rows, without.rows, with.count * sizeof(*with.rows));
	dt_cfi_release(&with);
	dt_cfi_release(&without);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rows_of_a_function),
	    cmocka_unit_test(functions_are_sorted),
	    cmocka_unit_test(known_expressions_become_rules),
	    cmocka_unit_test(a_signal_frame_is_marked),
	    cmocka_unit_test(registers_are_saved_in_places),
	    cmocka_unit_test(aarch64_has_its_own_registers),
	    cmocka_unit_test(nonsense_has_no_rule),
	    cmocka_unit_test(without_functions_there_is_no_table),
	    cmocka_unit_test(damage_is_survived),
	    cmocka_unit_test(a_kept_table_is_the_same),
	    cmocka_unit_test(damage_to_a_kept_table_is_seen),
	    cmocka_unit_test(a_forged_table_is_refused),
	    cmocka_unit_test(sections_are_not_needed),
	};

	return cmocka_run_group_tests_name("cfi", tests, NULL, NULL);
}
