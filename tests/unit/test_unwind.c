/* Stacks that were made up: a table, memory, registers, and what the walk must say. */
#include "unit.h"

#include <elf.h>

#include "base/util.h"
#include "native/unwind.h"

#define CODE  UINT64_C(0x7f0000000000)
#define BARE  UINT64_C(0x7f1000000000) /* a module without a table */
#define STACK UINT64_C(0x7ffc00000000)
#define WORDS 128

enum {
	FIRST = 0x100,
	FRAMED = 0x200,
	SMALL = 0x300,
	OUTERMOST = 0x400,
	SIGNAL = 0x500,
	PLT = 0x600,
	ALIGNED = 0x700,
	GAP = 0x800,
	LOST = 0x900
};

static struct dt_cfi_row rows[] = {
    {.start = FIRST, .cfa = DT_CFA_SP, .cfa_offset = 8, .ra = DT_SAVED_CFA, .ra_words = -1},
    {.start = FRAMED,
     .cfa = DT_CFA_FP,
     .cfa_offset = 16,
     .fp = DT_SAVED_CFA,
     .fp_words = -2,
     .ra = DT_SAVED_CFA,
     .ra_words = -1},
    {.start = SMALL,
     .cfa = DT_CFA_SP,
     .cfa_offset = 32,
     .fp = DT_SAVED_CFA,
     .fp_words = -4,
     .ra = DT_SAVED_CFA,
     .ra_words = -1},
    {.start = OUTERMOST, .ra = DT_SAVED_UNDEFINED},
    {.start = SIGNAL,
     .cfa = DT_CFA_AT_SP,
     .cfa_offset = 16,
     .fp = DT_SAVED_SP,
     .fp_words = 3,
     .ra = DT_SAVED_SP,
     .ra_words = 1,
     .marks = DT_CFI_SIGNAL},
    {.start = PLT, .cfa = DT_CFA_PLT, .cfa_offset = 11, .ra = DT_SAVED_CFA, .ra_words = -1},
    {.start = ALIGNED,
     .cfa = DT_CFA_AT_FP,
     .cfa_offset = -8,
     .fp = DT_SAVED_FP,
     .ra = DT_SAVED_CFA,
     .ra_words = -1,
     .marks = DT_CFI_PLUS_WORD},
    {.start = GAP},
    {.start = LOST, .cfa = DT_CFA_SP, .cfa_offset = 16, .fp = DT_SAVED_UNDEFINED, .ra = DT_SAVED_CFA, .ra_words = -1},
};
/* Linked to 0x1000, mapped to CODE. */
static struct dt_cfi table = {.machine = EM_X86_64, .base = 0x1000, .count = DT_COUNT(rows), .rows = rows};

static struct dt_cfi_row arm_rows[] = {
    {.start = FIRST, .cfa = DT_CFA_SP}, /* all in registers */
    {.start = FRAMED,
     .cfa = DT_CFA_SP,
     .cfa_offset = 32,
     .fp = DT_SAVED_CFA,
     .fp_words = -4,
     .ra = DT_SAVED_CFA,
     .ra_words = -3},
    {.start = OUTERMOST, .ra = DT_SAVED_UNDEFINED},
    {.start = SIGNAL, .cfa = DT_CFA_FP, .ra = DT_SAVED_CFA, .ra_words = 1, .marks = DT_CFI_SIGNAL},
};
static struct dt_cfi arm_table = {.machine = EM_AARCH64, .base = 0x1000, .count = DT_COUNT(arm_rows), .rows = arm_rows};

static uint64_t stack[WORDS];
static struct dt_unwind_frame frames[64];
static enum dt_unwind_end end;

static bool find(void *context, uint64_t address, struct dt_unwind_module *module)
{
	*module = (struct dt_unwind_module){
	    .start = CODE, .end = CODE + 0x1000, .bias = CODE - 0x1000, .table = context};
	if (address >= CODE && address < CODE + 0x1000)
		return true;
	*module = (struct dt_unwind_module){.start = BARE, .end = BARE + 0x1000, .bias = BARE};
	return address >= BARE && address < BARE + 0x1000;
}

static size_t walk(struct dt_cfi *with, struct dt_unwind_registers registers, size_t max)
{
	struct dt_recorded_range range = {STACK, stack, sizeof(stack)};
	struct dt_unwinder unwinder = {.machine = with->machine, .find = find, .context = with};
	size_t count;

	assert_int_equal(dt_mem_open_recorded(&range, 1, &unwinder.mem), 0);
	count = dt_unwind(&unwinder, &registers, frames, max, &end);
	dt_mem_free(unwinder.mem);
	memset(stack, 0, sizeof(stack));
	return count;
}

/* Walks, and compares where it came by: places in CODE or BARE. */
static void check(struct dt_cfi *with, struct dt_unwind_registers registers, const uint64_t *places, size_t count,
		  enum dt_unwind_end wanted)
{
	size_t got = walk(with, registers, DT_COUNT(frames));

	for (size_t i = 0; i < DT_MIN(got, count); i++)
		assert_int_equal(frames[i].ip, places[i]);
	assert_int_equal(got, count);
	assert_int_equal(end, wanted);
}

#define PLACES(...) (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)
#define AT(word)    (STACK + (word)*8)

/* A return address that is the first byte of the next function belongs to the one before. */
static void tables_lead_to_the_outermost_frame(void **state)
{
	(void)state;
	stack[0] = CODE + FRAMED + 9;
	stack[10] = 0xabcdef;
	stack[11] = CODE + OUTERMOST; /* the end of SMALL */
	stack[12] = 0x1234;
	stack[15] = CODE + OUTERMOST + 5;
	check(&table, (struct dt_unwind_registers){.ip = CODE + FIRST, .sp = AT(0), .fp = AT(10), .has_fp = true},
	      PLACES(CODE + FIRST, CODE + FRAMED + 8, CODE + OUTERMOST - 1, CODE + OUTERMOST + 4), DT_UNWIND_WHOLE);
	assert_int_equal(frames[0].sp, AT(0));
	assert_int_equal(frames[1].sp, AT(1));
	assert_int_equal(frames[2].sp, AT(12));
	assert_int_equal(frames[3].sp, AT(16));
}

static void an_unknown_frame_pointer_ends_it(void **state)
{
	(void)state;
	stack[3] = CODE + FRAMED + 9; /* SMALL has fp in word 0, which is 0: known, but not a stack */
	check(&table, (struct dt_unwind_registers){.ip = CODE + SMALL, .sp = AT(0)},
	      PLACES(CODE + SMALL, CODE + FRAMED + 8), DT_UNWIND_UNREADABLE);
	stack[0] = CODE + FRAMED + 9;
	check(&table, (struct dt_unwind_registers){.ip = CODE + FIRST, .sp = AT(0)},
	      PLACES(CODE + FIRST, CODE + FRAMED + 8), DT_UNWIND_NO_RULE);
	stack[1] = CODE + FRAMED + 9;
	check(&table, (struct dt_unwind_registers){.ip = CODE + LOST, .sp = AT(0), .fp = AT(4), .has_fp = true},
	      PLACES(CODE + LOST, CODE + FRAMED + 8), DT_UNWIND_NO_RULE);
}

static void plt_and_aligned_stacks(void **state)
{
	(void)state;
	stack[0] = CODE + ALIGNED + 1;
	stack[1] = CODE + ALIGNED + 2;
	stack[5] = AT(8);
	stack[6] = AT(20);
	stack[8] = CODE + OUTERMOST + 1;
	check(&table, (struct dt_unwind_registers){.ip = CODE + PLT + 10, .sp = AT(0), .fp = AT(6), .has_fp = true},
	      PLACES(CODE + PLT + 10, CODE + ALIGNED, CODE + OUTERMOST), DT_UNWIND_WHOLE);
	stack[0] = CODE + ALIGNED + 1;
	stack[1] = CODE + ALIGNED + 2;
	stack[5] = AT(8);
	stack[8] = CODE + OUTERMOST + 1;
	check(&table, (struct dt_unwind_registers){.ip = CODE + PLT + 11, .sp = AT(0), .fp = AT(6), .has_fp = true},
	      PLACES(CODE + PLT + 11, CODE + ALIGNED + 1, CODE + OUTERMOST), DT_UNWIND_WHOLE);
}

/* The handler ran on a stack above; who was interrupted is at its very first byte. */
static void a_signal_may_lead_to_a_lower_stack(void **state)
{
	(void)state;
	stack[100] = CODE + SIGNAL + 1; /* of FIRST */
	stack[102] = CODE + FIRST;      /* ip */
	stack[103] = AT(2);             /* sp */
	stack[104] = AT(9);             /* fp */
	stack[2] = CODE + FRAMED + 1;
	stack[10] = CODE + OUTERMOST + 1;
	check(&table, (struct dt_unwind_registers){.ip = CODE + FIRST + 4, .sp = AT(100)},
	      PLACES(CODE + FIRST + 4, CODE + SIGNAL, CODE + FIRST, CODE + FRAMED, CODE + OUTERMOST), DT_UNWIND_WHOLE);
}

static void signals_in_a_circle_end(void **state)
{
	(void)state;
	stack[1] = CODE + SIGNAL;
	stack[2] = AT(0);
	assert_int_equal(walk(&table, (struct dt_unwind_registers){.ip = CODE + SIGNAL, .sp = AT(0)}, 64),
			 DT_UNWIND_SIGNALS + 1);
	assert_int_equal(end, DT_UNWIND_NOT_RISING);
}

static void frames_must_rise(void **state)
{
	(void)state;
	stack[0] = CODE + FRAMED + 1;
	stack[10] = AT(10);
	stack[11] = CODE + FRAMED + 1;
	check(&table, (struct dt_unwind_registers){.ip = CODE + FIRST, .sp = AT(0), .fp = AT(10), .has_fp = true},
	      PLACES(CODE + FIRST, CODE + FRAMED, CODE + FRAMED), DT_UNWIND_NOT_RISING);
	stack[6] = AT(6);
	stack[7] = BARE + 1;
	check(&table, (struct dt_unwind_registers){.ip = BARE, .sp = AT(0), .fp = AT(6), .has_fp = true},
	      PLACES(BARE, BARE), DT_UNWIND_NO_RULE);
}

static void every_end_has_its_reason(void **state)
{
	struct dt_unwind_registers first = {.ip = CODE + FIRST, .sp = AT(0)};

	(void)state;
	check(&table, first, PLACES(CODE + FIRST), DT_UNWIND_WHOLE); /* a return address of 0 */
	stack[0] = CODE + GAP + 1;
	check(&table, first, PLACES(CODE + FIRST, CODE + GAP), DT_UNWIND_NO_RULE);
	stack[0] = 0x4141414141414141;
	check(&table, first, PLACES(CODE + FIRST), DT_UNWIND_NO_RULE);
	first.sp = AT(WORDS);
	check(&table, first, PLACES(CODE + FIRST), DT_UNWIND_UNREADABLE);
	first.sp = UINT64_MAX - 3;
	check(&table, first, PLACES(CODE + FIRST), DT_UNWIND_UNREADABLE);
	first.ip = 0;
	check(&table, first, PLACES(0), DT_UNWIND_NO_RULE);
	for (size_t i = 0; i < WORDS; i++)
		stack[i] = CODE + FIRST + 1;
	first = (struct dt_unwind_registers){.ip = CODE + FIRST, .sp = AT(0)};
	assert_int_equal(walk(&table, first, 10), 10);
	assert_int_equal(end, DT_UNWIND_LIMIT);
	assert_int_equal(walk(&table, first, 0), 0);
}

static void frame_pointers_where_there_is_no_table(void **state)
{
	struct dt_unwind_registers bare = {.ip = BARE, .sp = AT(0), .fp = AT(4), .has_fp = true};

	(void)state;
	stack[4] = AT(8);
	stack[5] = BARE + 17;
	stack[9] = BARE + 33; /* the frame pointer before is 0 */
	check(&table, bare, PLACES(BARE, BARE + 16, BARE + 32), DT_UNWIND_WHOLE);
	stack[4] = AT(8);
	stack[5] = CODE + FIRST + 1; /* back in a module with a table: sp is known */
	stack[6] = CODE + OUTERMOST + 1;
	check(&table, bare, PLACES(BARE, CODE + FIRST, CODE + OUTERMOST), DT_UNWIND_WHOLE);
	bare.fp = AT(4) + 1;
	check(&table, bare, PLACES(BARE), DT_UNWIND_NO_RULE);
	bare.fp = AT(0) - 8;
	check(&table, bare, PLACES(BARE), DT_UNWIND_NO_RULE);
	bare.fp = AT(0) + DT_UNWIND_FP_REACH + 8;
	check(&table, bare, PLACES(BARE), DT_UNWIND_NO_RULE);
	bare.fp = 0;
	check(&table, bare, PLACES(BARE), DT_UNWIND_NO_RULE);
	bare.has_fp = false;
	check(&table, bare, PLACES(BARE), DT_UNWIND_NO_RULE);
}

static void aarch64_uses_lr_once(void **state)
{
	struct dt_unwind_registers leaf = {.ip = CODE + FIRST, .sp = AT(0), .has_lr = true};

	(void)state;
	leaf.lr = (CODE + FRAMED + 4) | UINT64_C(0x5a) << 56; /* signed */
	stack[1] = CODE + OUTERMOST + 4;
	check(&arm_table, leaf, PLACES(CODE + FIRST, CODE + FRAMED + 3, CODE + OUTERMOST + 3), DT_UNWIND_WHOLE);
	/* A caller cannot have its own return address in lr: that has ours. */
	leaf.lr = CODE + FIRST + 4;
	check(&arm_table, leaf, PLACES(CODE + FIRST, CODE + FIRST + 3), DT_UNWIND_NO_RULE);
	leaf.has_lr = false;
	check(&arm_table, leaf, PLACES(CODE + FIRST), DT_UNWIND_NO_RULE);
}

static void aarch64_signal_frames_have_a_context(void **state)
{
	uint64_t *saved = stack + 312 / 8;

	(void)state;
	saved[29] = 0;
	saved[30] = CODE + OUTERMOST + 4;
	saved[31] = AT(1);
	saved[32] = CODE + FIRST;
	check(&arm_table, (struct dt_unwind_registers){.ip = CODE + SIGNAL, .sp = AT(0)},
	      PLACES(CODE + SIGNAL, CODE + FIRST, CODE + OUTERMOST + 3), DT_UNWIND_WHOLE);
	check(&arm_table, (struct dt_unwind_registers){.ip = CODE + SIGNAL, .sp = AT(WORDS - 40)},
	      PLACES(CODE + SIGNAL), DT_UNWIND_UNREADABLE);
}

/* Where a frame pointer led, sp is not known: a rule that counts from it is not followed, but the frame pointer is. */
static void aarch64_does_not_know_sp_behind_a_frame_pointer(void **state)
{
	struct dt_unwind_registers bare = {.ip = BARE, .sp = AT(0), .fp = AT(2), .has_fp = true};

	(void)state;
	stack[2] = AT(10);
	stack[3] = CODE + FRAMED + 4;
	stack[5] = CODE + FIRST + 4; /* where the rule would lead */
	stack[11] = CODE + OUTERMOST + 4;
	check(&arm_table, bare, PLACES(BARE, CODE + FRAMED + 3, CODE + OUTERMOST + 3), DT_UNWIND_WHOLE);
	stack[3] = CODE + SIGNAL + 4;
	check(&arm_table, bare, PLACES(BARE, CODE + SIGNAL + 3), DT_UNWIND_NO_RULE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(tables_lead_to_the_outermost_frame),
	    cmocka_unit_test(an_unknown_frame_pointer_ends_it),
	    cmocka_unit_test(plt_and_aligned_stacks),
	    cmocka_unit_test(a_signal_may_lead_to_a_lower_stack),
	    cmocka_unit_test(signals_in_a_circle_end),
	    cmocka_unit_test(frames_must_rise),
	    cmocka_unit_test(every_end_has_its_reason),
	    cmocka_unit_test(frame_pointers_where_there_is_no_table),
	    cmocka_unit_test(aarch64_uses_lr_once),
	    cmocka_unit_test(aarch64_signal_frames_have_a_context),
	    cmocka_unit_test(aarch64_does_not_know_sp_behind_a_frame_pointer),
	};

	return cmocka_run_group_tests_name("unwind", tests, NULL, NULL);
}
