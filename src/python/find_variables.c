/*
 * Interpreters from before 3.7 have no runtime. What belongs to it are variables, most of them static: a library that
 * is not stripped names them. One that is exports _PyThreadState_Current alone, which says that this is an interpreter;
 * the head of the list of interpreters is then looked for in its data, by the same proof that every runtime has to
 * stand.
 */
#include <errno.h>
#include <stddef.h>

#include "base/util.h"
#include "python/find_inside.h"

#define BLOCK        ((size_t)64 << 10)
#define SCAN_LIMIT   ((size_t)64 << 20)
#define PROBES       ((size_t)1 << 15) /* words of the data that may point to an interpreter; usual are 7,000 */
#define INTERPRETERS 4096
#define NEAR         512  /* bytes before and behind a variable, where its neighbours are */
#define WAIT_SPAN    4096 /* bytes that the mutexes and conditions of a GIL lie apart at most */

/* ---- symbols ---- */

enum {
	CURRENT,
	INTERP_HEAD,
	LAST_HOLDER,
	LOCKED,
	SWITCH_NUMBER,
	LOCK,
	COLLECTING,
	WAITS,
	WAITS_END = WAITS + 4,
	NAMES = WAITS_END
};

/* Static names may be those of other variables too: the size must be right. 0: any. */
static const struct {
	const char *name;
	uint32_t size;
} symbols[NAMES] = {
    [CURRENT] = {"_PyThreadState_Current", 8},
    [INTERP_HEAD] = {"interp_head", 8},
    [LAST_HOLDER] = {"gil_last_holder", 8},
    [LOCKED] = {"gil_locked", 4},
    [SWITCH_NUMBER] = {"gil_switch_number", 8},
    [LOCK] = {"interpreter_lock", 8},
    [COLLECTING] = {"collecting", 4},
    [WAITS] = {"gil_cond", 0},
    [WAITS + 1] = {"gil_mutex", 0},
    [WAITS + 2] = {"switch_cond", 0},
    [WAITS + 3] = {"switch_mutex", 0},
};

/* From the first to the last of what a thread may wait on; the condition alone if they are scattered. */
static void span_waits(const struct dt_elf_range *waits, struct dt_variables *variables)
{
	variables->wait_start = waits->address;
	variables->wait_end = waits->address + waits->size;
	for (int i = 1; i < WAITS_END - WAITS; i++) {
		uint64_t start = DT_MIN(variables->wait_start, waits[i].address);
		uint64_t end = DT_MAX(variables->wait_end, waits[i].address + waits[i].size);

		if (!waits[i].address || end - start > WAIT_SPAN)
			continue;
		variables->wait_start = start;
		variables->wait_end = end;
	}
}

void dt_find_variable_symbols(struct dt_elf *elf, struct dt_find_file *file)
{
	struct dt_variables *variables = &file->variables;
	struct dt_elf_range found[NAMES] = {0};
	const char *names[NAMES];

	for (int i = 0; i < NAMES; i++)
		names[i] = symbols[i].name;
	*variables = (struct dt_variables){0};
	file->runtime = 0;
	if (dt_elf_symbols(elf, names, NAMES, found) < 0)
		return;
	for (int i = 0; i < NAMES; i++)
		if (symbols[i].size && found[i].size != symbols[i].size)
			found[i].address = 0;
	file->runtime = found[INTERP_HEAD].address;
	variables->current = found[CURRENT].address;
	variables->collecting = found[COLLECTING].address;
	variables->lock = found[LOCK].address;
	if (found[LAST_HOLDER].address && found[LOCKED].address && found[SWITCH_NUMBER].address) {
		variables->last_holder = found[LAST_HOLDER].address;
		variables->locked = found[LOCKED].address;
		variables->switch_number = found[SWITCH_NUMBER].address;
	}
	if (found[WAITS].address && found[WAITS].size <= WAIT_SPAN)
		span_waits(&found[WAITS], variables);
}

static struct dt_variables moved(const struct dt_variables *linked, uint64_t bias)
{
	struct dt_variables variables = *linked;
	uint64_t *const fields[] = {&variables.current,       &variables.last_holder, &variables.locked,
				    &variables.switch_number, &variables.lock,        &variables.wait_start,
				    &variables.wait_end,      &variables.collecting};

	for (size_t i = 0; i < DT_COUNT(fields); i++)
		*fields[i] += *fields[i] ? bias : 0;
	return variables;
}

void dt_find_check_variables(struct dt_mem *mem, struct dt_variables *variables)
{
	uint64_t holder;
	uint32_t locked;

	if (!variables->switch_number)
		return;
	if (dt_mem_read_u64(mem, variables->last_holder, &holder) == 0 && (!holder || dt_find_plausible(holder)) &&
	    dt_mem_read_u32(mem, variables->locked, &locked) == 0 && (int32_t)locked >= -1 && (int32_t)locked <= 1)
		return;
	variables->last_holder = variables->locked = variables->switch_number = 0;
}

/* ---- search ---- */

struct scan {
	struct dt_finder *f;
	const struct dt_find_module *module;
	uint64_t end;  /* of the module, its bss included */
	size_t probes; /* left */
	uint64_t best;
	unsigned best_length;
};

/* How many interpreters there are in a list that was proven. */
static unsigned list_length(struct dt_mem *mem, const struct dt_layout *layout, uint64_t head)
{
	unsigned length = 0;
	uint64_t at, passed = 0;

	if (dt_mem_read_u64(mem, head, &at) < 0)
		return 0;
	for (; at && length < INTERPRETERS && !dt_find_goes_round(&passed, at, length); length++)
		if (dt_mem_read_u64(mem, at + layout->interpreter.next, &at) < 0)
			return 0;
	return length;
}

/* Two variables have the address of an interpreter: the one that heads the list and one that names the main
 * interpreter. With sub-interpreters the longer list is the right one; without them either is, for as long as there are
 * none. */
static int probe(struct scan *scan, const struct dt_layout *layout, uint64_t address)
{
	struct dt_find_proof proof;
	struct dt_python tried;
	unsigned length;
	int verdict = dt_find_prove_once(scan->f->mem, layout, address, &proof);

	if (verdict == DT_VERDICT_READY)
		verdict = dt_find_try_table(scan->f->mem, layout, address, &tried);
	if (verdict != DT_VERDICT_READY)
		return verdict < 0 ? verdict : 0;
	length = list_length(scan->f->mem, layout, address);
	if (length > scan->best_length) {
		scan->best = address;
		scan->best_length = length;
	}
	return 0;
}

/* Interpreters lie on the heap: what points into the library itself is none. */
static int scan_block(struct scan *scan, const uint8_t *block, size_t size, uint64_t address)
{
	for (size_t at = 0; at + 8 <= size && scan->probes; at += 8) {
		uint64_t word = dt_get64(block + at);

		if (!dt_find_plausible(word) || (word >= scan->module->first->start && word < scan->end))
			continue;
		scan->probes--;
		for (const struct dt_layout *const *layout = dt_layouts; *layout; layout++) {
			int code = dt_find_in_variables(*layout) ? probe(scan, *layout, address + at) : 0;

			if (code < 0)
				return code;
		}
	}
	return 0;
}

static int scan_map(struct scan *scan, const struct dt_map *map, size_t *budget, uint8_t *block)
{
	size_t size;
	int code;

	for (uint64_t start = map->start; start < map->end && *budget >= BLOCK; start += size) {
		size = DT_MIN(map->end - start, BLOCK);
		*budget -= BLOCK;
		code = dt_mem_read(scan->f->mem, start, block, size);
		if (code == 0)
			code = scan_block(scan, block, size, start);
		if (dt_find_hard(code))
			return code;
	}
	return 0;
}

/* The last mapping of a module: its bss, if that is one of its own. */
static const struct dt_map *last_of(const struct dt_finder *f, const struct dt_find_module *module)
{
	const struct dt_map *next = module->last + 1, *end = f->maps->maps + f->maps->count;

	return next < end && !next->inode && next->start == module->last->end ? next : module->last;
}

static bool is_data(const struct dt_map *map)
{
	return map->read && map->write && !map->shared;
}

/* Locks that programs make lie on the heap, the GIL of a version that does without in the data of the library: without
 * a symbol, whoever waits on something in there is taken to wait for the GIL. */
static void span_data(const struct dt_finder *f, const struct dt_find_module *module, struct dt_variables *variables)
{
	const struct dt_map *last = last_of(f, module);

	for (const struct dt_map *map = module->first; map <= last && !variables->wait_start; map++)
		if (is_data(map))
			variables->wait_start = map->start;
	variables->wait_end = variables->wait_start ? last->end : 0;
}

/* The compiler lays the variables of one file down together. */
static int scan_near(struct scan *scan, uint64_t current)
{
	uint8_t block[2 * NEAR];
	uint64_t start = (current & ~UINT64_C(7)) - NEAR;
	int code = dt_mem_read(scan->f->mem, start, block, sizeof(block));

	if (code < 0)
		return dt_find_hard(code) ? code : 0;
	return scan_block(scan, block, sizeof(block), start);
}

/* Looks for interp_head in the data of a module, where _PyThreadState_Current is; 0 if it is not there. */
static int search(struct dt_finder *f, const struct dt_find_module *module, uint64_t current, uint64_t *head)
{
	const struct dt_map *last = last_of(f, module);
	struct scan scan = {.f = f, .module = module, .probes = PROBES};
	size_t budget = SCAN_LIMIT;
	uint8_t *block = malloc(BLOCK);
	int code = block ? 0 : -ENOMEM;

	scan.end = last->end;
	if (!code)
		code = scan_near(&scan, current);
	for (const struct dt_map *map = module->first; !code && !scan.best && map <= last; map++)
		if (is_data(map))
			code = scan_map(&scan, map, &budget, block);
	free(block);
	*head = scan.best;
	return code;
}

int dt_find_try_variables(struct dt_finder *f, const struct dt_find_module *module, const struct dt_find_file *file,
			  const char *found_by)
{
	uint64_t bias = module->first->start - file->first_link;
	struct dt_variables variables = moved(&file->variables, bias);
	struct dt_find_candidate c = {.module = module, .variables = &variables, .found_by = found_by};
	int code;

	if (!variables.current)
		return DT_FIND_CONTINUE;
	if (!variables.wait_start && !variables.lock)
		span_data(f, module, &variables);
	if (file->runtime) {
		c.runtime = file->runtime + bias;
		return dt_find_try(f, &c);
	}
	code = search(f, module, variables.current, &c.runtime);
	if (code < 0)
		return code;
	c.found_by = "scan";
	return c.runtime ? dt_find_try(f, &c) : dt_find_try_later(f, &c);
}
