/*
 * What must hold of every layout made from debug offsets, whatever the table said: each offset lies inside of the
 * struct that it belongs to, and no struct is larger than the limits. Shared by unit tests and fuzzing; OFFSETS_CHECK
 * is what each of them calls on a condition.
 */
#ifndef DT_TESTS_OFFSETS_HARMLESS_H
#define DT_TESTS_OFFSETS_HARMLESS_H

#include "base/util.h"
#include "python/layout.h"

static void assert_inside(uint32_t offset, uint32_t width, uint32_t size)
{
	if (offset != DT_ABSENT)
		OFFSETS_CHECK(offset <= size && width <= size - offset);
}

static void assert_harmless(const struct dt_layout *l)
{
	OFFSETS_CHECK(l->runtime.size <= 64u << 20 && l->interpreter.size <= 64u << 20 && l->thread.size <= 64u << 10);
	OFFSETS_CHECK(l->frame.size <= 4096 && l->code.size <= 4096 && l->object.size <= 64 && l->type.size <= 4096);
	const uint32_t runtime[] = {l->runtime.interpreters_head, l->runtime.finalizing, l->runtime.main_thread};
	for (size_t i = 0; i < DT_COUNT(runtime); i++)
		assert_inside(runtime[i], 8, l->runtime.size);
	const uint32_t interpreter[] = {l->interpreter.id,           l->interpreter.next,
					l->interpreter.threads_head, l->interpreter.gil,
					l->interpreter.modules,      l->interpreter.sysdict,
					l->interpreter.threads_main, l->interpreter.code_generation};
	for (size_t i = 0; i < DT_COUNT(interpreter); i++)
		assert_inside(interpreter[i], 8, l->interpreter.size);
	assert_inside(l->interpreter.gc_collecting, 4, l->interpreter.size);
	OFFSETS_CHECK(l->gil.size <= 512);
	assert_inside(l->gil.last_holder, 8, l->gil.size);
	assert_inside(l->gil.locked, 4, l->gil.size);
	assert_inside(l->gil.switch_number, 8, l->gil.size);
	const uint32_t thread[] = {
	    l->thread.prev,       l->thread.next,      l->thread.interp,           l->thread.frame,
	    l->thread.base_frame, l->thread.thread_id, l->thread.native_thread_id, l->thread.datastack_chunk};
	for (size_t i = 0; i < DT_COUNT(thread); i++)
		assert_inside(thread[i], 8, l->thread.size);
	assert_inside(l->thread.status, 4, l->thread.size);
	assert_inside(l->thread.holds_gil, 4, l->thread.size);
	assert_inside(l->frame.previous, 8, l->frame.size);
	assert_inside(l->frame.code, 8, l->frame.size);
	assert_inside(l->frame.ip, 8, l->frame.size);
	assert_inside(l->frame.owner, 1, l->frame.size);
	assert_inside(l->frame.tlbc_index, 4, l->frame.size);
	const uint32_t code[] = {l->code.filename, l->code.name, l->code.qualname, l->code.linetable, l->code.tlbc};
	for (size_t i = 0; i < DT_COUNT(code); i++)
		assert_inside(code[i], 8, l->code.size);
	assert_inside(l->code.firstlineno, 4, l->code.size);
	assert_inside(l->code.firsttraceable, 4, l->code.size);
	assert_inside(l->object.ob_type, 8, l->object.size);
	const uint32_t type[] = {l->type.name, l->type.flags, l->type.dictoffset, l->type.basicsize};
	for (size_t i = 0; i < DT_COUNT(type); i++)
		assert_inside(type[i], 8, l->type.size);
	assert_inside(l->type.cached_keys, 8, 8192);
	OFFSETS_CHECK(l->unicode.ascii_size < l->unicode.compact_size && l->unicode.compact_size <= 256);
	assert_inside(l->unicode.length, 8, l->unicode.ascii_size);
	assert_inside(l->unicode.state, 4, l->unicode.ascii_size);
	const uint32_t small[] = {l->tuple.ob_size, l->tuple.ob_item, l->dict.keys,           l->dict.values,
				  l->bytes.ob_size, l->bytes.ob_sval, l->integer.size_or_tag, l->integer.digits};
	for (size_t i = 0; i < DT_COUNT(small); i++)
		assert_inside(small[i], 1, 256);
}

#endif
