/* Frame pointers that are found by how a function begins: src/native/unwind_frame.c. */
#include "unit.h"

#include <elf.h>
#include <string.h>

#include "base/util.h"
#include "native/unwind_frame.h"

#define CODE  UINT64_C(0x400000)
#define BACK  UINT64_C(0x400100) /* where the function returns to */
#define STACK UINT64_C(0x7ffc0000)
#define BIAS  UINT64_C(0x1000)

/* push rbp; mov rbp, rsp; push r15; push rbx; sub rsp, 0x28 */
static const uint8_t small[] = {0x55, 0x48, 0x89, 0xe5, 0x41, 0x57, 0x53, 0x48, 0x83, 0xec, 0x28};
/* push rbp; mov rbp, rsp; push r12; sub rsp, 0x1238 */
static const uint8_t large[] = {0x55, 0x48, 0x89, 0xe5, 0x41, 0x54, 0x48, 0x81, 0xec, 0x38, 0x12, 0, 0};
/* push rbp; mov rbp, rsp; and nothing else */
static const uint8_t bare[] = {0x55, 0x48, 0x89, 0xe5, 0x90};

struct made {
	uint8_t code[512];
	uint64_t stack[1024];
	struct dt_cfi_row rows[4];
	struct dt_cfi table;
	struct dt_mem *mem;
	struct dt_unwinder unwinder;
	struct dt_unwind_cursor cursor;
};

static bool find(void *context, uint64_t address, struct dt_unwind_module *module)
{
	const struct made *made = context;

	*module = (struct dt_unwind_module){
	    .start = CODE, .end = CODE + sizeof(made->code), .bias = BIAS, .table = &made->table};
	return address >= module->start && address < module->end;
}

/* A function at the beginning of the code, in a call at sp. */
static void make(struct made *made, const uint8_t *prologue, size_t size, uint64_t depth)
{
	static const uint8_t call[] = {0xe8, 1, 2, 3, 4};
	struct dt_recorded_range ranges[2];

	memset(made, 0, sizeof(*made));
	memcpy(made->code, prologue, size);
	memcpy(made->code + (BACK - CODE) - sizeof(call), call, sizeof(call));
	made->stack[depth / 8 + 1] = BACK;
	made->rows[0] = (struct dt_cfi_row){
	    .start = 0, .cfa = DT_CFA_SP, .cfa_offset = 8, .ra = DT_SAVED_CFA, .ra_words = -1};
	made->rows[1] = made->rows[0];
	made->rows[1].start = 1;
	made->rows[1].cfa_offset = 16;
	made->rows[1].fp = DT_SAVED_CFA;
	made->rows[1].fp_words = -2;
	made->rows[2] = made->rows[1];
	made->rows[2].start = 4;
	made->rows[2].cfa = DT_CFA_FP;
	made->rows[3] = (struct dt_cfi_row){.start = 0x80};
	made->table = (struct dt_cfi){.machine = EM_X86_64, .base = CODE - BIAS, .count = 4, .rows = made->rows};
	ranges[0] = (struct dt_recorded_range){CODE, made->code, sizeof(made->code)};
	ranges[1] = (struct dt_recorded_range){STACK, made->stack, sizeof(made->stack)};
	assert_int_equal(dt_mem_open_recorded(ranges, 2, &made->mem), 0);
	made->unwinder = (struct dt_unwinder){
	    .machine = EM_X86_64, .mem = made->mem, .code = made->mem, .find = find, .context = made};
	made->cursor.registers = (struct dt_unwind_registers){.ip = CODE + 0x40, .sp = STACK};
	made->cursor.called = true;
	assert_true(find(made, CODE, &made->cursor.module));
}

/* Where the frame pointer is above sp; SIZE_MAX: it was not found. */
static size_t depth_of(struct made *made)
{
	uint64_t fp = 0;

	return dt_unwind_frame_pointer(&made->unwinder, &made->cursor, &fp) ? (size_t)(fp - STACK) : SIZE_MAX;
}

static void check(const uint8_t *prologue, size_t size, uint64_t depth)
{
	struct made made;

	make(&made, prologue, size, depth);
	assert_int_equal(depth_of(&made), depth);
	dt_mem_free(made.mem);
}

static void test_beginnings(void **state)
{
	(void)state;
	check(small, sizeof(small), 0x38);
	check(large, sizeof(large), 0x1238 + 8);
	check(bare, sizeof(bare), 0);
}

/* What does not fit is not believed. */
static void test_what_is_refused(void **state)
{
	struct made made;

	(void)state;
	make(&made, small, sizeof(small), 0x38);
	made.cursor.called = false; /* it may be in the middle of its beginning */
	assert_int_equal(depth_of(&made), SIZE_MAX);
	made.cursor.called = true;
	made.unwinder.code = NULL;
	assert_int_equal(depth_of(&made), SIZE_MAX);
	made.unwinder.code = made.mem;
	made.unwinder.machine = EM_AARCH64;
	assert_int_equal(depth_of(&made), SIZE_MAX);
	made.unwinder.machine = EM_X86_64;
	made.stack[0x38 / 8 + 1] = BACK + 1; /* no call before it */
	assert_int_equal(depth_of(&made), SIZE_MAX);
	made.stack[0x38 / 8 + 1] = STACK; /* no code */
	assert_int_equal(depth_of(&made), SIZE_MAX);
	made.stack[0x38 / 8 + 1] = BACK;
	made.code[BACK - CODE - 5] = 0x90;
	assert_int_equal(depth_of(&made), SIZE_MAX);
	made.code[BACK - CODE - 2] = 0xff; /* call rax */
	made.code[BACK - CODE - 1] = 0xd0;
	assert_int_equal(depth_of(&made), 0x38);
	made.cursor.registers.sp = UINT64_MAX - 8;
	assert_int_equal(depth_of(&made), SIZE_MAX);
	made.cursor.registers.sp = STACK + 16; /* more room was made later: alloca */
	assert_int_equal(depth_of(&made), SIZE_MAX);
	made.cursor.registers.sp = STACK;
	made.rows[1].fp = DT_SAVED_SAME; /* not saved where it should be */
	assert_int_equal(depth_of(&made), SIZE_MAX);
	dt_mem_free(made.mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_beginnings),
	    cmocka_unit_test(test_what_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
