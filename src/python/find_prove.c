/*
 * Is this the runtime of a living interpreter, and of which version? The proof is a loop that no chance makes: the
 * runtime names an interpreter, that names a thread, and the thread names the interpreter. Up to 3.12, where the
 * runtime says nothing of its version, sys.hexversion read through the same table must agree with the table.
 *
 * The target runs meanwhile: a thread may end between two reads. So a proof that fails is tried again a few times.
 */
#include <errno.h>

#include "base/util.h"
#include "python/dict.h"
#include "python/find_inside.h"
#include "python/text.h"

#define ATTEMPTS     8
#define INTERPRETERS 4096

struct interpreter {
	uint64_t next, threads, sysdict;
};

static int read_interpreter(struct dt_mem *mem, const struct dt_layout *layout, uint64_t address,
			    struct interpreter *interpreter)
{
	struct dt_range ranges[] = {
	    {address + layout->interpreter.next, &interpreter->next, 8},
	    {address + layout->interpreter.threads_head, &interpreter->threads, 8},
	    {address + layout->interpreter.sysdict, &interpreter->sysdict, 8},
	};
	ssize_t got = dt_mem_gather(mem, ranges, DT_COUNT(ranges));

	if (got < 0)
		return (int)got;
	return got == (ssize_t)DT_COUNT(ranges) ? 0 : -EFAULT;
}

/* The thread must name its interpreter. */
static int prove_thread(struct dt_mem *mem, const struct dt_layout *layout, uint64_t thread, uint64_t interpreter)
{
	uint64_t back;
	int code;

	if (!dt_find_plausible(thread))
		return DT_VERDICT_NO;
	code = dt_mem_read_u64(mem, thread + layout->thread.interp, &back);
	if (code < 0)
		return dt_find_hard(code) ? code : DT_VERDICT_NO;
	return back == interpreter ? DT_VERDICT_READY : DT_VERDICT_NO;
}

int dt_find_prove_once(struct dt_mem *mem, const struct dt_layout *layout, uint64_t runtime,
		       struct dt_find_proof *proof)
{
	uint64_t address, finalizing = 0, passed = 0;
	struct dt_range ranges[] = {
	    {runtime + layout->runtime.interpreters_head, &address, 8},
	    {runtime + layout->runtime.finalizing, &finalizing, 8},
	};
	size_t wanted = layout->runtime.finalizing == DT_ABSENT ? 1 : 2;
	struct interpreter interpreter;
	ssize_t got;
	int code;

	if (!dt_find_plausible(runtime))
		return DT_VERDICT_NO;
	got = dt_mem_gather(mem, ranges, wanted);
	if (got < (ssize_t)wanted)
		return got < 0 && dt_find_hard((int)got) ? (int)got : DT_VERDICT_NO;
	if (!address)
		return finalizing ? DT_VERDICT_ENDING : DT_VERDICT_EMPTY;
	/* The newest interpreter comes first, and one that nobody runs in has no threads. */
	for (unsigned n = 0; address && n < INTERPRETERS; n++) {
		if (!dt_find_plausible(address) || dt_find_goes_round(&passed, address, n))
			return DT_VERDICT_NO;
		code = read_interpreter(mem, layout, address, &interpreter);
		if (code < 0)
			return dt_find_hard(code) ? code : DT_VERDICT_NO;
		if (interpreter.threads) {
			proof->interpreter = address;
			proof->sysdict = interpreter.sysdict;
			return prove_thread(mem, layout, interpreter.threads, address);
		}
		address = interpreter.next;
	}
	return finalizing ? DT_VERDICT_ENDING : DT_VERDICT_STARTING;
}

int dt_find_prove(struct dt_mem *mem, const struct dt_layout *layout, uint64_t runtime, struct dt_find_proof *proof)
{
	int verdict = DT_VERDICT_NO;

	for (int attempt = 0; attempt < ATTEMPTS && verdict == DT_VERDICT_NO; attempt++)
		verdict = dt_find_prove_once(mem, layout, runtime, proof);
	return verdict;
}

static int read_sys_int(struct dt_mem *mem, const struct dt_layout *layout, uint64_t sysdict, const char *name,
			int64_t *value)
{
	uint64_t object;
	int code;

	if (!dt_find_plausible(sysdict))
		return -ENOENT;
	code = dt_dict_get(mem, layout, sysdict, name, &object);
	return code < 0 ? code : dt_int_read(mem, layout, object, value);
}

int dt_find_hexversion(struct dt_mem *mem, const struct dt_layout *layout, uint64_t sysdict, uint32_t *hex)
{
	int64_t value;
	int code = read_sys_int(mem, layout, sysdict, "hexversion", &value);

	if (code < 0)
		return code;
	if (value < 0x02000000 || value > INT64_C(0x7fffffff))
		return -ENOENT;
	*hex = (uint32_t)value;
	return 0;
}

void dt_find_set_width(struct dt_mem *mem, uint64_t sysdict, struct dt_layout *layout)
{
	int64_t largest;

	if (layout->unicode.width != DT_ABSENT && read_sys_int(mem, layout, sysdict, "maxunicode", &largest) == 0)
		layout->unicode.width = largest > UINT16_MAX ? 4 : 2;
}

int dt_find_try_table(struct dt_mem *mem, const struct dt_layout *layout, uint64_t runtime, struct dt_python *python)
{
	struct dt_find_proof proof;
	uint32_t hex;
	int code, verdict;

	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		verdict = dt_find_prove(mem, layout, runtime, &proof);
		if (verdict != DT_VERDICT_READY)
			return verdict;
		code = dt_find_hexversion(mem, layout, proof.sysdict, &hex);
		if (dt_find_hard(code))
			return code;
		if (code == 0 &&
		    !dt_layout_is_for(layout, (uint8_t)(hex >> 24), (uint8_t)(hex >> 16), (uint8_t)(hex >> 8)))
			return DT_VERDICT_NO;
		if (code == 0) {
			python->layout = *layout;
			dt_find_set_width(mem, proof.sysdict, &python->layout);
			python->version = dt_version_from_hex(hex);
			python->runtime = runtime;
			return DT_VERDICT_READY;
		}
	}
	return DT_VERDICT_STARTING;
}

/* A wrong table fails at the first attempt as a rule, and the right one does not. */
static int try_tables_once(struct dt_mem *mem, uint64_t runtime, bool variables, struct dt_python *python)
{
	struct dt_find_proof proof;
	int verdict;

	for (const struct dt_layout *const *layout = dt_layouts; *layout; layout++) {
		if (dt_find_in_variables(*layout) != variables)
			continue;
		verdict = dt_find_prove_once(mem, *layout, runtime, &proof);
		if (verdict == DT_VERDICT_READY)
			verdict = dt_find_try_table(mem, *layout, runtime, python);
		if (verdict < 0 || verdict == DT_VERDICT_READY)
			return verdict;
	}
	return DT_VERDICT_NO;
}

int dt_find_try_tables(struct dt_mem *mem, uint64_t runtime, bool variables, struct dt_python *python)
{
	bool empty = true, starting = false, ending = false;
	int verdict = try_tables_once(mem, runtime, variables, python);

	if (verdict < 0 || verdict == DT_VERDICT_READY)
		return verdict;
	for (const struct dt_layout *const *layout = dt_layouts; *layout; layout++) {
		if (dt_find_in_variables(*layout) != variables)
			continue;
		verdict = dt_find_try_table(mem, *layout, runtime, python);
		if (verdict < 0 || verdict == DT_VERDICT_READY)
			return verdict;
		empty &= verdict == DT_VERDICT_EMPTY;
		ending |= verdict == DT_VERDICT_ENDING;
		starting |= verdict == DT_VERDICT_STARTING;
	}
	/* A table of another version sees zeros by chance now and then: only all of them together mean an empty
	 * runtime. */
	if (empty)
		return DT_VERDICT_EMPTY;
	return starting ? DT_VERDICT_STARTING : ending ? DT_VERDICT_ENDING : DT_VERDICT_NO;
}
