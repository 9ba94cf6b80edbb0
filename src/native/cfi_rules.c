#include "native/cfi_rules.h"

#include <errno.h>

#include "native/cfi_expression.h"

enum {
	ADVANCE = 0x40,
	OFFSET = 0x80,
	RESTORE = 0xc0,
	NOP = 0x00,
	SET_LOCATION = 0x01,
	ADVANCE_1 = 0x02,
	ADVANCE_2 = 0x03,
	ADVANCE_4 = 0x04,
	OFFSET_EXTENDED = 0x05,
	RESTORE_EXTENDED = 0x06,
	UNDEFINED = 0x07,
	SAME_VALUE = 0x08,
	IN_REGISTER = 0x09,
	REMEMBER_STATE = 0x0a,
	RESTORE_STATE = 0x0b,
	DEF_CFA = 0x0c,
	DEF_CFA_REGISTER = 0x0d,
	DEF_CFA_OFFSET = 0x0e,
	DEF_CFA_EXPRESSION = 0x0f,
	EXPRESSION = 0x10,
	OFFSET_EXTENDED_SF = 0x11,
	DEF_CFA_SF = 0x12,
	DEF_CFA_OFFSET_SF = 0x13,
	VAL_OFFSET = 0x14,
	VAL_OFFSET_SF = 0x15,
	VAL_EXPRESSION = 0x16,
	NEGATE_RA_STATE_WITH_PC = 0x2c, /* aarch64: the return address is signed from here on, or no longer */
	NEGATE_RA_STATE = 0x2d,
	ARGS_SIZE = 0x2e,
	NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

struct machine {
	const struct cfi_common *common;
	struct cfi_reader *program;
	struct cfi_rules rules;
	struct cfi_rules remembered[CFI_REMEMBERED_LIMIT];
	size_t remembered_count;
	uint64_t base, location; /* the second one counted from the first */
	struct cfi_rows *rows;   /* NULL: what is common has no locations */
};

/* A product that does not fit is as good as any other wrong number: it is no offset of a frame. */
static int64_t scaled(const struct machine *machine, uint64_t factor)
{
	int64_t product;

	if (__builtin_mul_overflow((int64_t)factor, machine->common->data_align, &product))
		return INT64_MAX;
	return product;
}

static int advance_to(struct machine *machine, uint64_t location)
{
	int rc;

	if (!machine->rows || location < machine->location)
		return -ENOEXEC;
	if (location == machine->location)
		return 0;
	rc = cfi_rows_add(machine->rows, cfi_row(&machine->rules, machine->common, (uint32_t)machine->location));
	machine->location = location;
	return rc;
}

static int advance(struct machine *machine, uint64_t delta)
{
	uint64_t bytes, location;

	if (__builtin_mul_overflow(delta, machine->common->code_align, &bytes) ||
	    __builtin_add_overflow(machine->location, bytes, &location))
		return -ENOEXEC;
	return advance_to(machine, location);
}

static struct cfi_saved *saved_of(struct cfi_rules *rules, const struct cfi_registers *registers, uint64_t number)
{
	if (number == registers->fp)
		return &rules->fp;
	return number == registers->ra ? &rules->ra : NULL;
}

static void set_saved(struct machine *machine, uint64_t number, enum dt_cfi_saved way, int64_t offset)
{
	struct cfi_saved *saved = saved_of(&machine->rules, &machine->common->registers, number);

	if (saved)
		*saved = (struct cfi_saved){way, offset};
}

static void restore(struct machine *machine, uint64_t number)
{
	struct cfi_rules first = machine->common->rules;
	const struct cfi_saved *saved = saved_of(&first, &machine->common->registers, number);

	if (saved)
		set_saved(machine, number, saved->way, saved->offset);
}

static void saved_expression(struct machine *machine, uint64_t number)
{
	struct cfi_expression place = cfi_read_expression(machine->program);
	enum dt_cfi_saved way = DT_SAVED_UNKNOWN;

	if (place.kind == CFI_SUM && place.number == machine->common->registers.sp)
		way = DT_SAVED_SP;
	else if (place.kind == CFI_SUM && place.number == machine->common->registers.fp)
		way = DT_SAVED_FP;
	set_saved(machine, number, way, place.offset);
}

static void cfa_expression(struct machine *machine)
{
	struct cfi_expression value = cfi_read_expression(machine->program);
	struct cfi_rules *rules = &machine->rules;

	rules->cfa_register = value.number;
	rules->cfa_offset = value.offset;
	rules->cfa = CFI_CFA_UNKNOWN;
	if (value.kind == CFI_SUM)
		rules->cfa = CFI_CFA_REGISTER;
	else if (value.kind == CFI_PLT && value.number == machine->common->registers.sp)
		rules->cfa = CFI_CFA_PLT;
	else if (value.kind == CFI_WORD || value.kind == CFI_WORD_PLUS_WORD)
		rules->cfa = CFI_CFA_AT;
	rules->plus_word = value.kind == CFI_WORD_PLUS_WORD;
}

static void define_cfa(struct machine *machine, uint64_t number, int64_t offset)
{
	machine->rules.cfa = CFI_CFA_REGISTER;
	machine->rules.cfa_register = number;
	machine->rules.cfa_offset = offset;
	machine->rules.plus_word = false;
}

/* Half of a rule changes nothing that is not made of register and offset. */
static int change_cfa(struct machine *machine, uint64_t number, int64_t offset)
{
	if (machine->rules.cfa != CFI_CFA_REGISTER)
		return -ENOEXEC;
	define_cfa(machine, number, offset);
	return 0;
}

static int remember(struct machine *machine)
{
	if (machine->remembered_count == CFI_REMEMBERED_LIMIT)
		return -ENOEXEC;
	machine->remembered[machine->remembered_count++] = machine->rules;
	return 0;
}

static int recall(struct machine *machine)
{
	if (!machine->remembered_count)
		return -ENOEXEC;
	machine->rules = machine->remembered[--machine->remembered_count];
	return 0;
}

/* Instructions that say how a register was saved; false: it is another one. */
static bool run_saved(struct machine *machine, uint8_t op)
{
	struct cfi_reader *program = machine->program;
	uint64_t number;

	switch (op) {
	case OFFSET_EXTENDED:
		number = cfi_uleb(program);
		set_saved(machine, number, DT_SAVED_CFA, scaled(machine, cfi_uleb(program)));
		return true;
	case OFFSET_EXTENDED_SF:
		number = cfi_uleb(program);
		set_saved(machine, number, DT_SAVED_CFA, scaled(machine, (uint64_t)cfi_sleb(program)));
		return true;
	case NEGATIVE_OFFSET_EXTENDED:
		number = cfi_uleb(program);
		set_saved(machine, number, DT_SAVED_CFA, scaled(machine, 0 - cfi_uleb(program)));
		return true;
	case RESTORE_EXTENDED:
		restore(machine, cfi_uleb(program));
		return true;
	case UNDEFINED:
		set_saved(machine, cfi_uleb(program), DT_SAVED_UNDEFINED, 0);
		return true;
	case SAME_VALUE:
		set_saved(machine, cfi_uleb(program), DT_SAVED_SAME, 0);
		return true;
	case IN_REGISTER:
	case VAL_OFFSET:
	case VAL_OFFSET_SF:
		set_saved(machine, cfi_uleb(program), DT_SAVED_UNKNOWN, 0);
		cfi_uleb(program);
		return true;
	case EXPRESSION:
		saved_expression(machine, cfi_uleb(program));
		return true;
	case VAL_EXPRESSION:
		set_saved(machine, cfi_uleb(program), DT_SAVED_UNKNOWN, 0);
		cfi_skip(program, cfi_uleb(program));
		return true;
	}
	return false;
}

/* Instructions that say what the CFA is. 1: it is another one. */
static int run_cfa(struct machine *machine, uint8_t op)
{
	struct cfi_reader *program = machine->program;
	uint64_t number;

	switch (op) {
	case DEF_CFA:
		number = cfi_uleb(program);
		define_cfa(machine, number, (int64_t)cfi_uleb(program));
		return 0;
	case DEF_CFA_SF:
		number = cfi_uleb(program);
		define_cfa(machine, number, scaled(machine, (uint64_t)cfi_sleb(program)));
		return 0;
	case DEF_CFA_REGISTER:
		return change_cfa(machine, cfi_uleb(program), machine->rules.cfa_offset);
	case DEF_CFA_OFFSET:
		return change_cfa(machine, machine->rules.cfa_register, (int64_t)cfi_uleb(program));
	case DEF_CFA_OFFSET_SF:
		return change_cfa(machine, machine->rules.cfa_register, scaled(machine, (uint64_t)cfi_sleb(program)));
	case DEF_CFA_EXPRESSION:
		cfa_expression(machine);
		return 0;
	}
	return 1;
}

static int run_rest(struct machine *machine, uint8_t op)
{
	struct cfi_reader *program = machine->program;

	switch (op) {
	case NOP:
	case NEGATE_RA_STATE_WITH_PC:
	case NEGATE_RA_STATE:
		return 0;
	case ARGS_SIZE:
		cfi_uleb(program);
		return 0;
	case SET_LOCATION:
		return advance_to(machine, cfi_pointer(program, machine->common->encoding) - machine->base);
	case ADVANCE_1:
		return advance(machine, cfi_fixed(program, 1));
	case ADVANCE_2:
		return advance(machine, cfi_fixed(program, 2));
	case ADVANCE_4:
		return advance(machine, cfi_fixed(program, 4));
	case REMEMBER_STATE:
		return remember(machine);
	case RESTORE_STATE:
		return recall(machine);
	}
	return -ENOEXEC;
}

static int run_one(struct machine *machine)
{
	uint8_t op = cfi_u8(machine->program), low = op & 0x3f;
	int rc;

	switch (op & 0xc0) {
	case ADVANCE:
		return advance(machine, low);
	case OFFSET:
		set_saved(machine, low, DT_SAVED_CFA, scaled(machine, cfi_uleb(machine->program)));
		return 0;
	case RESTORE:
		restore(machine, low);
		return 0;
	}
	if (run_saved(machine, op))
		return 0;
	rc = run_cfa(machine, op);
	return rc == 1 ? run_rest(machine, op) : rc;
}

int cfi_run_common(struct cfi_common *common, struct cfi_reader *program)
{
	struct machine machine = {.common = common, .program = program, .rules = common->rules};
	int rc = 0;

	while (program->at < program->end && !rc)
		rc = run_one(&machine);
	common->rules = machine.rules;
	return program->bad ? -ENOEXEC : rc;
}

int cfi_run_function(const struct cfi_common *common, struct cfi_reader *program, uint64_t base, uint32_t start,
		     uint32_t end, struct cfi_rows *rows)
{
	struct machine machine = {.common = common,
				  .program = program,
				  .rules = common->rules,
				  .base = base,
				  .location = start,
				  .rows = rows};

	while (program->at < program->end && machine.location < end) {
		int rc = run_one(&machine);

		if (rc < 0)
			return rc;
	}
	if (program->bad)
		return -ENOEXEC;
	return machine.location < end ? advance_to(&machine, end) : 0;
}
