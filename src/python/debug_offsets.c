/*
 * _Py_DebugOffsets to struct dt_layout. The table is an array of 64-bit words whose order changed with each minor
 * version: the two lists below say at which byte each shape has a size or an offset. Nothing is taken from the table
 * before it was checked:
 *
 *     size      within bounds that no build comes near to
 *     offset    aligned, the field lies inside of its struct, and over no other field of that struct
 *
 * so whatever the table says, no offset of the layout leads outside of the struct it belongs to. What the table lacks
 * follows from neighbours whose order is fixed within a minor version (derive()), checked in the same way; the
 * integration tests compare all of it with CPython's headers.
 */
#include "python/debug_offsets.h"

#include <inttypes.h>
#include <stdarg.h>

#include "base/util.h"

enum shape { SHAPE_13, SHAPE_14, SHAPE_15, SHAPES };

/* Which shape each minor version has, oldest first; a newer one is read as the last. */
static const struct version {
	uint8_t minor;
	enum shape shape;
	uint16_t size;
} versions[] = {
    {13, SHAPE_13, 584},
    {14, SHAPE_14, 760},
    {15, SHAPE_15, 888},
};

enum part {
	RUNTIME,
	INTERP,
	THREAD,
	FRAME,
	CODE,
	OBJECT,
	TYPE,
	HEAP_TYPE,
	TUPLE,
	DICT,
	INT,
	BYTES,
	UNICODE,
	GC,
	PARTS
};

/* Where each struct's size stands, by shape, and what is believable. 0: the shape does not tell. Frames and code
 * objects end in arrays: their size is that of the part before, which is what is read of them. */
static const struct {
	const char *name;
	uint32_t least, most;
	uint16_t position[SHAPES];
} parts[PARTS] = {
    [RUNTIME] = {"runtime_state", 1024, 64 << 20, {24, 24, 24}},
    [INTERP] = {"interpreter_state", 1024, 64 << 20, {48, 48, 48}},
    [THREAD] = {"thread_state", 200, 64 << 10, {152, 176, 176}},
    [FRAME] = {"interpreter_frame", 64, 1024, {256, 280, 344}},
    [CODE] = {"code_object", 128, 4096, {344, 384, 448}},
    [OBJECT] = {"pyobject", 16, 64, {352, 400, 464}},
    [TYPE] = {"type_object", 300, 4096, {368, 416, 480}},
    [HEAP_TYPE] = {"heap_type_object", 600, 8192, {0, 0, 528}},
    [TUPLE] = {"tuple_object", 24, 256, {400, 448, 544}},
    [DICT] = {"dict_object", 40, 256, {448, 528, 624}},
    [INT] = {"long_object", 24, 256, {488, 568, 664}},
    [BYTES] = {"bytes_object", 32, 256, {512, 592, 688}},
    [UNICODE] = {"unicode_object", 48, 256, {536, 616, 712}},
    [GC] = {"gc", 64, 64 << 10, {568, 648, 752}},
};

/* What is read from the table but is no field of the layout as it stands. */
struct extra {
	uint32_t gc, gil, gil_locked, gil_holder, gc_collecting;
};

struct parsed {
	struct dt_layout layout;
	struct extra extra;
	uint32_t sizes[PARTS]; /* 0: not told */
};

/* Each offset: its struct, how many bytes lie there (0: it marks the end of a head within the struct), whether 0 means
 * "not in this build", and its place by shape. */
static const struct field {
	const char *name;
	enum part part;
	uint8_t width;
	bool optional;
	uint16_t target; /* the uint32_t in struct parsed */
	uint16_t position[SHAPES];
} fields[] = {
#define LAYOUT(member) offsetof(struct parsed, layout.member)
#define EXTRA(member)  offsetof(struct parsed, extra.member)
    {"finalizing", RUNTIME, 8, false, LAYOUT(runtime.finalizing), {32, 32, 32}},
    {"interpreters_head", RUNTIME, 8, false, LAYOUT(runtime.interpreters_head), {40, 40, 40}},
    {"id", INTERP, 8, false, LAYOUT(interpreter.id), {56, 56, 56}},
    {"next", INTERP, 8, false, LAYOUT(interpreter.next), {64, 64, 64}},
    {"threads_head", INTERP, 8, false, LAYOUT(interpreter.threads_head), {72, 72, 72}},
    {"threads_main", INTERP, 8, false, LAYOUT(interpreter.threads_main), {0, 80, 80}},
    {"gc", INTERP, 8, false, EXTRA(gc), {80, 88, 88}},
    {"imports_modules", INTERP, 8, false, LAYOUT(interpreter.modules), {88, 96, 96}},
    {"sysdict", INTERP, 8, false, LAYOUT(interpreter.sysdict), {96, 104, 104}},
    {"ceval_gil", INTERP, 8, false, LAYOUT(interpreter.gil), {112, 120, 120}},
    {"gil_runtime_state", INTERP, 8, false, EXTRA(gil), {120, 128, 128}},
    {"gil_runtime_state_locked", INTERP, 4, false, EXTRA(gil_locked), {136, 144, 144}},
    {"gil_runtime_state_holder", INTERP, 8, false, EXTRA(gil_holder), {144, 152, 152}},
    {"code_object_generation", INTERP, 8, false, LAYOUT(interpreter.code_generation), {0, 160, 160}},
    {"prev", THREAD, 8, false, LAYOUT(thread.prev), {160, 184, 184}},
    {"next", THREAD, 8, false, LAYOUT(thread.next), {168, 192, 192}},
    {"interp", THREAD, 8, false, LAYOUT(thread.interp), {176, 200, 200}},
    {"current_frame", THREAD, 8, false, LAYOUT(thread.frame), {184, 208, 208}},
    {"base_frame", THREAD, 8, false, LAYOUT(thread.base_frame), {0, 0, 216}},
    {"thread_id", THREAD, 8, false, LAYOUT(thread.thread_id), {192, 216, 240}},
    {"native_thread_id", THREAD, 8, false, LAYOUT(thread.native_thread_id), {200, 224, 248}},
    {"datastack_chunk", THREAD, 8, false, LAYOUT(thread.datastack_chunk), {208, 232, 256}},
    {"status", THREAD, 4, false, LAYOUT(thread.status), {216, 240, 264}},
    {"holds_gil", THREAD, 4, false, LAYOUT(thread.holds_gil), {0, 0, 272}},
    {"previous", FRAME, 8, false, LAYOUT(frame.previous), {232, 256, 320}},
    {"executable", FRAME, 8, false, LAYOUT(frame.code), {240, 264, 328}},
    {"instr_ptr", FRAME, 8, false, LAYOUT(frame.ip), {248, 272, 336}},
    {"owner", FRAME, 1, false, LAYOUT(frame.owner), {264, 288, 352}},
    {"tlbc_index", FRAME, 4, true, LAYOUT(frame.tlbc_index), {0, 304, 368}},
    {"filename", CODE, 8, false, LAYOUT(code.filename), {280, 320, 384}},
    {"name", CODE, 8, false, LAYOUT(code.name), {288, 328, 392}},
    {"qualname", CODE, 8, false, LAYOUT(code.qualname), {296, 336, 400}},
    {"linetable", CODE, 8, false, LAYOUT(code.linetable), {304, 344, 408}},
    {"firstlineno", CODE, 4, false, LAYOUT(code.firstlineno), {312, 352, 416}},
    {"co_tlbc", CODE, 8, true, LAYOUT(code.tlbc), {0, 392, 456}},
    {"ob_type", OBJECT, 8, false, LAYOUT(object.ob_type), {360, 408, 472}},
    {"tp_name", TYPE, 8, false, LAYOUT(type.name), {376, 424, 488}},
    {"tp_flags", TYPE, 8, false, LAYOUT(type.flags), {392, 440, 504}},
    {"tp_basicsize", TYPE, 8, false, LAYOUT(type.basicsize), {0, 0, 512}},
    {"tp_dictoffset", TYPE, 8, false, LAYOUT(type.dictoffset), {0, 0, 520}},
    {"ht_cached_keys", HEAP_TYPE, 8, false, LAYOUT(type.cached_keys), {0, 0, 536}},
    {"ob_item", TUPLE, 8, false, LAYOUT(tuple.ob_item), {408, 456, 552}},
    {"ob_size", TUPLE, 8, false, LAYOUT(tuple.ob_size), {416, 464, 560}},
    {"ma_keys", DICT, 8, false, LAYOUT(dict.keys), {456, 536, 632}},
    {"ma_values", DICT, 8, false, LAYOUT(dict.values), {464, 544, 640}},
    {"lv_tag", INT, 8, false, LAYOUT(integer.size_or_tag), {496, 576, 672}},
    {"ob_digit", INT, 4, false, LAYOUT(integer.digits), {504, 584, 680}},
    {"ob_size", BYTES, 8, false, LAYOUT(bytes.ob_size), {520, 600, 696}},
    {"ob_sval", BYTES, 1, false, LAYOUT(bytes.ob_sval), {528, 608, 704}},
    {"state", UNICODE, 4, false, LAYOUT(unicode.state), {544, 624, 720}},
    {"length", UNICODE, 8, false, LAYOUT(unicode.length), {552, 632, 728}},
    {"asciiobject_size", UNICODE, 0, false, LAYOUT(unicode.ascii_size), {560, 640, 736}},
    {"compactunicodeobject_size", UNICODE, 0, false, LAYOUT(unicode.compact_size), {0, 0, 744}},
    {"collecting", GC, 4, false, EXTRA(gc_collecting), {576, 656, 760}},
#undef LAYOUT
#undef EXTRA
};

struct reader {
	const uint8_t *table;
	enum shape shape;
	uint32_t version;
	struct dt_error *err;
};

static uint32_t *target(struct parsed *parsed, const struct field *field)
{
	return (uint32_t *)((char *)parsed + field->target);
}

static void version_text(uint32_t version, char text[24])
{
	uint8_t level = (version >> 4) & 0xf, serial = version & 0xf;
	int used = snprintf(text, 24, "%u.%u.%u", version >> 24, (version >> 16) & 0xff, (version >> 8) & 0xff);
	if (level != 0xf)
		snprintf(text + used, 24 - (size_t)used, "%s%u",
			 level == 0xa   ? "a"
			 : level == 0xb ? "b"
					: "rc",
			 serial);
}

static int refuse(const struct reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int refuse(const struct reader *reader, const char *format, ...)
{
	char version[24], reason[256];
	va_list args;
	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	version_text(reader->version, version);
	dt_fail(reader->err, DT_EUNSUPPORTED, "Python %s describes itself in a way that this darter does not know: %s",
		version, reason);
	if (((reader->version >> 4) & 0xf) != 0xf)
		dt_hint(reader->err,
			"Python %s is a preview; the description changes until the first release "
			"candidate. A later preview or the release will do.",
			version);
	else
		dt_hint(reader->err, "a newer darter may know it");
	return DT_EUNSUPPORTED;
}

static int read_sizes(const struct reader *reader, struct parsed *parsed)
{
	for (size_t i = 0; i < PARTS; i++) {
		uint16_t position = parts[i].position[reader->shape];
		if (!position)
			continue;
		uint64_t size = dt_get64(reader->table + position);
		if (size < parts[i].least || size > parts[i].most || size % 8)
			return refuse(reader, "the size of %s is said to be %" PRIu64, parts[i].name, size);
		parsed->sizes[i] = (uint32_t)size;
	}
	return 0;
}

static int read_field(const struct reader *reader, const struct field *field, struct parsed *parsed)
{
	uint32_t *out = target(parsed, field);
	*out = DT_ABSENT;
	uint16_t position = field->position[reader->shape];
	if (!position)
		return 0;
	uint64_t offset = dt_get64(reader->table + position);
	if (field->optional && offset == 0)
		return 0;
	uint32_t size = parsed->sizes[field->part];
	if (offset > size || field->width > size - offset)
		return refuse(reader, "%s.%s is said to lie at %" PRIu64 ", outside of %u bytes",
			      parts[field->part].name, field->name, offset, size);
	if (offset % (field->width ? field->width : 8))
		return refuse(reader, "%s.%s is said to lie at %" PRIu64 ", which is not aligned",
			      parts[field->part].name, field->name, offset);
	*out = (uint32_t)offset;
	return 0;
}

/* No two fields of one struct share a byte. */
static int check_apart(const struct reader *reader, struct parsed *parsed)
{
	for (size_t i = 0; i < DT_COUNT(fields); i++) {
		uint32_t a = *target(parsed, &fields[i]);
		for (size_t k = i + 1; k < DT_COUNT(fields) && fields[k].part == fields[i].part && a != DT_ABSENT;
		     k++) {
			uint32_t b = *target(parsed, &fields[k]);
			if (b != DT_ABSENT && a < b + fields[k].width && b < a + fields[i].width)
				return refuse(reader, "%s.%s and .%s are said to lie over each other",
					      parts[fields[i].part].name, fields[i].name, fields[k].name);
		}
	}
	return 0;
}

/* The interpreter has a GIL inside and a pointer to the one it uses: the words lie alike in both. */
static int derive_gil(const struct reader *reader, struct parsed *parsed)
{
	struct dt_layout *layout = &parsed->layout;
	const struct extra *extra = &parsed->extra;
	uint32_t holder = extra->gil_holder - extra->gil, locked = extra->gil_locked - extra->gil;
	if (extra->gil_holder < extra->gil || holder > 64 || locked != holder + 8)
		return refuse(reader, "the GIL is said to lie at %u, its words at %u and %u", extra->gil,
			      extra->gil_holder, extra->gil_locked);
	layout->gil.last_holder = holder;
	layout->gil.locked = locked;
	layout->gil.switch_number = locked + 8;
	/* Its first word where it has one more than usual. The table has its place, too: 0 in every build. */
	layout->gil.enabled = layout->free_threaded ? 0 : DT_ABSENT;
	layout->gil.size = holder + 200; /* then two mutexes (40 bytes) and two condition variables (48) */
	if (layout->gil.size > parsed->sizes[INTERP] - extra->gil)
		return refuse(reader, "the GIL is said to lie at %u of %u bytes", extra->gil, parsed->sizes[INTERP]);
	return 0;
}

/* What the table does not tell, but what stands next to it. */
static int derive(const struct reader *reader, struct parsed *parsed)
{
	struct dt_layout *layout = &parsed->layout;
	const uint32_t *sizes = parsed->sizes;

	/* Behind the head of the interpreters: the main one, the next id. */
	layout->runtime.main_thread = layout->runtime.interpreters_head + 24;
	if (layout->runtime.main_thread > sizes[RUNTIME] - 8)
		return refuse(reader, "the list of interpreters is said to lie at %u",
			      layout->runtime.interpreters_head);
	if (sizes[GC] > sizes[INTERP] || parsed->extra.gc > sizes[INTERP] - sizes[GC])
		return refuse(reader, "the garbage collector is said to lie at %u", parsed->extra.gc);
	layout->interpreter.gc_collecting = parsed->extra.gc + parsed->extra.gc_collecting;

	/* Behind the status: who holds and who wants the GIL (from 3.14 and 3.15 on), what made it, the state. */
	if (reader->shape == SHAPE_14)
		layout->thread.holds_gil = layout->thread.status + 4;
	layout->thread.state = layout->thread.status + (reader->shape == SHAPE_13   ? 8
							: reader->shape == SHAPE_14 ? 12
										    : 16);
	layout->code.units = layout->tuple.ob_size; /* of every object with a size */
	/* Before the two pointers that precede the file's name, the last of the numbers that begin with the first line.
	 */
	if (layout->code.filename == layout->code.firstlineno + 44)
		layout->code.version = layout->code.filename - 20;
	/* Before the bytecode: an int, a pointer, and on free-threaded builds with code per thread one more. */
	layout->code.firsttraceable = sizes[CODE] - (layout->code.tlbc == DT_ABSENT ? 16 : 24);
	if (layout->type.basicsize == DT_ABSENT) {
		layout->type.basicsize = layout->type.name + 8;
		layout->type.dictoffset = layout->type.flags + 120;
		layout->type.cached_keys = sizes[TYPE] + 464; /* in what a heap type has behind its type */
	}
	if (layout->type.dictoffset > sizes[TYPE] - 8 || layout->type.basicsize > sizes[TYPE] - 8)
		return refuse(reader, "type_object.tp_flags is said to lie at %u", layout->type.flags);
	if (layout->unicode.compact_size == DT_ABSENT)
		layout->unicode.compact_size = layout->unicode.ascii_size + 16;
	if (layout->unicode.ascii_size < layout->unicode.state + 4 ||
	    layout->unicode.ascii_size < layout->unicode.length + 8 ||
	    layout->unicode.compact_size <= layout->unicode.ascii_size || layout->unicode.compact_size > sizes[UNICODE])
		return refuse(reader, "the heads of strings are said to have %u and %u bytes",
			      layout->unicode.ascii_size, layout->unicode.compact_size);
	if (layout->thread.state > sizes[THREAD] - 4)
		return refuse(reader, "thread_state.status is said to lie at %u", layout->thread.status);
	return derive_gil(reader, parsed);
}

/* What is the same in all builds of a version that describes itself. */
static void set_constants(const struct reader *reader, struct parsed *parsed)
{
	struct dt_layout *layout = &parsed->layout;
	bool own_byte = layout->free_threaded && reader->shape >= SHAPE_14; /* "interned" of a str */

	layout->major = (uint8_t)(reader->version >> 24);
	layout->minor = (uint8_t)(reader->version >> 16);
	layout->ip_kind = DT_IP_INSTR_PTR;
	layout->line_kind = DT_LINES_LOCATIONS;
	layout->gil_place = DT_GIL_BY_POINTER;
	layout->runtime.size = parsed->sizes[RUNTIME];
	layout->runtime.gil = layout->runtime.tstate_current = layout->runtime.auto_interpreter = DT_ABSENT;
	layout->runtime.gc_collecting = DT_ABSENT;
	layout->interpreter.size = parsed->sizes[INTERP];
	layout->thread.size = parsed->sizes[THREAD];
	layout->thread.cframe = DT_ABSENT;
	layout->code.flags = DT_ABSENT;
	layout->cframe.size = layout->cframe.current_frame = layout->cframe.previous = DT_ABSENT;
	layout->frame.size = parsed->sizes[FRAME];
	layout->frame.is_entry = layout->frame.stacktop = DT_ABSENT;
	layout->frame.code_tag_mask = reader->shape == SHAPE_13                            ? 0
				      : reader->shape == SHAPE_14 && layout->free_threaded ? 1
											   : 3;
	layout->frame.owner_generator = 1;
	layout->frame.owner_frame_object = 2;
	layout->frame.owner_shim_min = 3;
	layout->code.size = layout->code.bytecode = parsed->sizes[CODE];
	layout->object.size = layout->module.dict = parsed->sizes[OBJECT];
	layout->type.size = parsed->sizes[TYPE];
	layout->type.heap_flag = 1u << 9;
	layout->type.integer_flag = 1u << 24;
	layout->type.tuple_flag = 1u << 26;
	layout->type.bytes_flag = 1u << 27;
	layout->type.unicode_flag = 1u << 28;
	layout->type.dict_flag = 1u << 29;
	layout->unicode.kind_shift = own_byte ? 8 : 2;
	layout->unicode.compact_bit = own_byte ? 11 : 5;
	layout->unicode.ascii_bit = own_byte ? 12 : 6;
	layout->integer.tagged = true;
	layout->unicode.data = layout->unicode.width = DT_ABSENT;
	layout->dict.table = layout->dict.mask = DT_ABSENT;
	layout->integer.plain = DT_ABSENT;
	/* Dict keys have been the same since 3.12, with bytes to spare for the lock of free-threaded builds. */
	const struct dt_layout *known = dt_layout_for(3, 12);
	layout->dictkeys = known->dictkeys;
	layout->dictvalues.capacity = 0;
	layout->dictvalues.valid = 3;
	layout->dictvalues.first = 8;
	layout->instance.kind = DT_INSTANCE_INLINE;
	layout->instance.managed_dict_flag = 1u << 4;
	layout->instance.inline_values_flag = 1u << 2;
	layout->instance.dict_pointer = layout->free_threaded ? -8 : -24; /* the GC's two words lie between */
}

bool dt_debug_offsets_version(const uint8_t *table, size_t size, uint32_t *version)
{
	if (size < 24 || memcmp(table, DT_DEBUG_COOKIE, 8) != 0)
		return false;
	uint64_t value = dt_get64(table + 8);
	/* A private build of 3.12 has the cookie too, and another table. */
	if (value < 0x030d0000 || value >= 0x04000000)
		return false;
	*version = (uint32_t)value;
	return true;
}

int dt_debug_offsets_layout(const uint8_t *table, size_t size, struct dt_layout *layout, bool *newer,
			    struct dt_error *err)
{
	struct reader reader = {.table = table, .err = err};
	struct parsed parsed = {0};
	int rc;

	if (!dt_debug_offsets_version(table, size, &reader.version))
		return dt_fail(err, DT_EUNSUPPORTED, "there is no description of Python 3.13 or later here");
	unsigned minor = (reader.version >> 16) & 0xff;
	const struct version *known = versions, *newest = &versions[DT_COUNT(versions) - 1];
	while (known < newest && known->minor < minor)
		known++;
	reader.shape = known->shape;
	if (size < known->size)
		return refuse(&reader, "it has %zu bytes instead of %u", size, known->size);
	uint64_t free_threaded = dt_get64(table + 16);
	if (free_threaded > 1)
		return refuse(&reader, "free_threaded is said to be %" PRIu64, free_threaded);
	parsed.layout.free_threaded = free_threaded == 1;

	if ((rc = read_sizes(&reader, &parsed)) < 0)
		return rc;
	for (size_t i = 0; i < DT_COUNT(fields); i++)
		if ((rc = read_field(&reader, &fields[i], &parsed)) < 0)
			return rc;
	if ((rc = check_apart(&reader, &parsed)) < 0 || (rc = derive(&reader, &parsed)) < 0)
		return rc;
	set_constants(&reader, &parsed);
	*layout = parsed.layout;
	*newer = minor > newest->minor;
	return 0;
}
