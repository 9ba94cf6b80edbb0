/*
 * Prints a layout, one "name value" a line, in the words of scripts/gen-layout --fields: the table of a version named
 * on the command line (and a third word: of a build that traces references), or what a debug offsets table (hex on
 * stdin) makes of itself.
 */
#include <stdio.h>

#include "base/util.h"
#include "python/debug_offsets.h"

#include "../hex.h"

/* clang-format off */
#define FIELDS(F) \
	F(runtime.size) \
	F(runtime.interpreters_head) \
	F(runtime.finalizing) \
	F(runtime.main_thread) \
	F(runtime.gil) \
	F(runtime.tstate_current) \
	F(runtime.auto_interpreter) \
	F(runtime.gc_collecting) \
	F(interpreter.size) \
	F(interpreter.id) \
	F(interpreter.next) \
	F(interpreter.threads_head) \
	F(interpreter.gil) \
	F(interpreter.modules) \
	F(interpreter.sysdict) \
	F(interpreter.gc_collecting) \
	F(interpreter.threads_main) \
	F(interpreter.code_generation) \
	F(gil.size) \
	F(gil.last_holder) \
	F(gil.locked) \
	F(gil.switch_number) \
	F(gil.enabled) \
	F(thread.size) \
	F(thread.prev) \
	F(thread.next) \
	F(thread.interp) \
	F(thread.frame) \
	F(thread.cframe) \
	F(thread.base_frame) \
	F(thread.thread_id) \
	F(thread.native_thread_id) \
	F(thread.datastack_chunk) \
	F(thread.status) \
	F(thread.holds_gil) \
	F(thread.state) \
	F(cframe.size) \
	F(cframe.current_frame) \
	F(cframe.previous) \
	F(frame.size) \
	F(frame.previous) \
	F(frame.code) \
	F(frame.ip) \
	F(frame.owner) \
	F(frame.is_entry) \
	F(frame.stacktop) \
	F(frame.tlbc_index) \
	F(frame.code_tag_mask) \
	F(frame.owner_generator) \
	F(frame.owner_frame_object) \
	F(frame.owner_shim_min) \
	F(code.size) \
	F(code.filename) \
	F(code.name) \
	F(code.qualname) \
	F(code.linetable) \
	F(code.firstlineno) \
	F(code.flags) \
	F(code.firsttraceable) \
	F(code.bytecode) \
	F(code.tlbc) \
	F(code.version) \
	F(code.units) \
	F(object.size) \
	F(object.ob_type) \
	F(type.size) \
	F(type.name) \
	F(type.flags) \
	F(type.dictoffset) \
	F(type.basicsize) \
	F(type.cached_keys) \
	F(type.heap_flag) \
	F(type.unicode_flag) \
	F(type.bytes_flag) \
	F(type.tuple_flag) \
	F(type.dict_flag) \
	F(type.integer_flag) \
	F(type.plain_integer_flag) \
	F(bytes.ob_size) \
	F(bytes.ob_sval) \
	F(unicode.length) \
	F(unicode.data) \
	F(unicode.width) \
	F(unicode.state) \
	F(unicode.ascii_size) \
	F(unicode.compact_size) \
	F(unicode.kind_shift) \
	F(unicode.compact_bit) \
	F(unicode.ascii_bit) \
	F(tuple.ob_size) \
	F(tuple.ob_item) \
	F(dict.keys) \
	F(dict.values) \
	F(dict.table) \
	F(dict.mask) \
	F(dictkeys.size) \
	F(dictkeys.log2_size) \
	F(dictkeys.log2_index_bytes) \
	F(dictkeys.kind) \
	F(dictkeys.nentries) \
	F(dictkeys.indices) \
	F(dictkeys.entry_size) \
	F(dictkeys.entry_key) \
	F(dictkeys.entry_value) \
	F(dictkeys.text_entry_size) \
	F(dictkeys.text_key) \
	F(dictkeys.text_value) \
	F(dictkeys.kind_general) \
	F(dictkeys.kind_text) \
	F(dictkeys.kind_split) \
	F(dictvalues.first) \
	F(dictvalues.capacity) \
	F(dictvalues.valid) \
	F(instance.managed_dict_flag) \
	F(instance.inline_values_flag) \
	F(instance.dict_pointer) \
	F(instance.values_pointer) \
	F(instance.values_tag) \
	F(module.dict) \
	F(integer.size_or_tag) \
	F(integer.digits) \
	F(integer.plain)
/* clang-format on */

static const char *const ip_kinds[] = {"DT_IP_LASTI_BYTES", "DT_IP_LASTI_UNITS", "DT_IP_PREV_INSTR", "DT_IP_INSTR_PTR"};
static const char *const line_kinds[] = {"DT_LINES_LNOTAB", "DT_LINES_LINETABLE", "DT_LINES_LOCATIONS",
					 "DT_LINES_LNOTAB_UNSIGNED"};
static const char *const gil_places[] = {"DT_GIL_IN_VARIABLES", "DT_GIL_IN_RUNTIME", "DT_GIL_BY_POINTER"};
static const char *const instance_kinds[] = {"DT_INSTANCE_DICT", "DT_INSTANCE_TWO", "DT_INSTANCE_TAGGED",
					     "DT_INSTANCE_INLINE"};

static void print_number(const char *name, int64_t value, bool absent)
{
	if (absent)
		printf("%s DT_ABSENT\n", name);
	else
		printf("%s %lld\n", name, (long long)value);
}

static void print_layout(const struct dt_layout *layout)
{
	printf("ip_kind %s\n", ip_kinds[layout->ip_kind]);
	printf("line_kind %s\n", line_kinds[layout->line_kind]);
	printf("gil_place %s\n", gil_places[layout->gil_place]);
	printf("mangled_thread_name %s\n", layout->mangled_thread_name ? "true" : "false");
#define PRINT(field)                                                                                                   \
	print_number(#field, (int64_t)layout->field,                                                                   \
		     sizeof(layout->field) == 4 && (uint32_t)layout->field == DT_ABSENT);
	FIELDS(PRINT)
	printf("instance.kind %s\n", instance_kinds[layout->instance.kind]);
	printf("integer.tagged %s\n", layout->integer.tagged ? "true" : "false");
}

/* Hex digits of stdin; lines that begin with # are comments. */
static size_t read_hex(uint8_t *bytes, size_t limit)
{
	char line[4096];
	size_t count = 0;
	while (fgets(line, sizeof(line), stdin))
		count += hex_bytes(line, bytes + count, limit - count);
	return count;
}

static const struct dt_layout *find_table(uint8_t major, uint8_t minor, bool traced_refs)
{
	for (const struct dt_layout *const *layout = dt_layouts; *layout; layout++)
		if (dt_layout_is_for(*layout, major, minor, UINT8_MAX) && (*layout)->traced_refs == traced_refs)
			return *layout;
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t major, minor;
	if (argc >= 3 && dt_parse_u64(argv[1], UINT8_MAX, &major) && dt_parse_u64(argv[2], UINT8_MAX, &minor)) {
		const struct dt_layout *table = find_table((uint8_t)major, (uint8_t)minor, argc > 3);
		if (!table)
			return 4;
		print_layout(table);
		return 0;
	}
	uint8_t bytes[DT_DEBUG_OFFSETS_MAX];
	struct dt_layout layout;
	struct dt_error err;
	bool newer;
	if (dt_debug_offsets_layout(bytes, read_hex(bytes, sizeof(bytes)), &layout, &newer, &err) < 0) {
		fprintf(stderr, "%s\n%s\n", err.message, err.hint);
		return 1;
	}
	printf("newer %d\n", newer);
	print_layout(&layout);
	return 0;
}
