/*
 *     entry:    u32 length (0: the end), u32 id (0: common; else the distance back to the common entry), the rest
 *     common:   u8 version, augmentation "z...", code and data alignment, return register, augmentation data, program
 *     function: start, length, augmentation data, program
 */
#include "native/cfi_frames.h"

#include <errno.h>
#include <stdlib.h>

#define AUGMENTATION_LIMIT 8 /* "zPLRSB" is the longest that is written */
#define COMMON_LIMIT       48 /* bytes of the program that is run anew for every function; 23 are the most that is found */

struct entry {
	struct cfi_reader rest; /* behind the id */
	uint32_t id;
	size_t id_at;
};

/* False at the end, and where nothing sensible follows. */
static bool next_entry(const struct cfi_section *section, struct cfi_reader *reader, struct entry *entry)
{
	uint32_t length = 0;

	while (reader->end - reader->at >= 4) {
		length = cfi_u32(reader);
		if (length || !section->exact)
			break;
	}
	if (length < 4 || length > reader->end - reader->at)
		return false;
	entry->id_at = reader->at;
	entry->rest = cfi_part(reader, reader->at, reader->at + length);
	entry->id = cfi_u32(&entry->rest);
	reader->at += length;
	return true;
}

/* "z" and letters; each letter says what stands in the data. */
static bool read_augmentation(struct cfi_reader *reader, const char *letters, struct cfi_common *common)
{
	uint64_t size = cfi_uleb(reader);
	struct cfi_reader data = *reader;

	cfi_skip(reader, size);
	if (reader->bad)
		return false;
	data.end = reader->at;
	for (const char *letter = letters + 1; *letter; letter++) {
		switch (*letter) {
		case 'R':
			common->encoding = cfi_u8(&data);
			break;
		case 'P':
			cfi_shaped(&data, cfi_u8(&data));
			break;
		case 'L':
			cfi_u8(&data);
			break;
		case 'S':
			common->signal = true;
			break;
		case 'B': /* aarch64: signed with the other key */
		case 'G': /* aarch64: tagged stack */
			break;
		default:
			return false;
		}
	}
	return !data.bad;
}

static bool read_letters(struct cfi_reader *reader, char letters[AUGMENTATION_LIMIT])
{
	for (size_t i = 0; i < AUGMENTATION_LIMIT; i++) {
		letters[i] = (char)cfi_u8(reader);
		if (!letters[i])
			return !reader->bad;
	}
	return false;
}

/* x86-64: the caller's ip is a column of its own and always saved. aarch64: it is in lr until it is saved. */
static void set_defaults(const struct cfi_section *section, struct cfi_common *common)
{
	*common = (struct cfi_common){.registers = section->registers};
	common->rules.fp.way = DT_SAVED_SAME;
	common->rules.ra.way = section->registers.linked ? DT_SAVED_SAME : DT_SAVED_UNKNOWN;
}

static int read_common(const struct cfi_section *section, struct cfi_reader *reader, struct cfi_common *common)
{
	char letters[AUGMENTATION_LIMIT];
	uint8_t version = cfi_u8(reader);

	set_defaults(section, common);
	if ((version != 1 && version != 3 && version != 4) || !read_letters(reader, letters))
		return -ENOEXEC;
	if (version == 4 && cfi_fixed(reader, 2) != 8) /* size of an address, of a segment's number */
		return -ENOEXEC;
	common->code_align = cfi_uleb(reader);
	common->data_align = cfi_sleb(reader);
	common->registers.ra = version == 1 ? cfi_u8(reader) : cfi_uleb(reader);
	common->augmented = letters[0] == 'z';
	if (letters[0] && (!common->augmented || !read_augmentation(reader, letters, common)))
		return -ENOEXEC;
	return reader->bad ? -ENOEXEC : 0;
}

int cfi_read_common(const struct cfi_section *section, uint32_t at, struct cfi_common *common)
{
	struct cfi_reader reader = section->bytes;
	struct entry entry;
	int rc;

	reader.at = at;
	if (!next_entry(section, &reader, &entry) || entry.id)
		return -ENOEXEC;
	rc = read_common(section, &entry.rest, common);
	if (rc < 0)
		return rc;
	if (entry.rest.end - entry.rest.at > COMMON_LIMIT)
		return -ENOEXEC;
	return cfi_run_common(common, &entry.rest);
}

static bool read_function(const struct cfi_section *section, struct entry *entry, const struct cfi_common *common,
			  struct cfi_function *function)
{
	uint64_t start = cfi_pointer(&entry->rest, common->encoding) - section->base;
	uint64_t size = cfi_shaped(&entry->rest, common->encoding);

	if (common->augmented)
		cfi_skip(&entry->rest, cfi_uleb(&entry->rest));
	if (entry->rest.bad || start >= section->size || !size || size > section->size - start)
		return false;
	function->start = (uint32_t)start;
	function->end = (uint32_t)(start + size);
	function->program = (uint32_t)entry->rest.at;
	function->program_end = (uint32_t)entry->rest.end;
	return true;
}

static int add(struct cfi_functions *functions, const struct cfi_function *function)
{
	if (functions->count == functions->capacity) {
		size_t capacity = functions->capacity ? functions->capacity * 2 : 256;
		struct cfi_function *grown = realloc(functions->list, capacity * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		functions->list = grown;
		functions->capacity = capacity;
	}
	functions->list[functions->count++] = *function;
	return 0;
}

int cfi_list_functions(const struct cfi_section *section, struct cfi_functions *functions)
{
	struct cfi_reader reader = section->bytes;
	uint32_t known = UINT32_MAX; /* the common entry that was read last */
	struct cfi_common common;
	struct entry entry;
	int usable = -ENOEXEC, rc = 0;

	while (!rc && next_entry(section, &reader, &entry)) {
		struct cfi_function function;

		if (!entry.id || entry.id > entry.id_at)
			continue;
		function.common = (uint32_t)(entry.id_at - entry.id);
		if (function.common != known)
			usable = cfi_read_common(section, function.common, &common);
		known = function.common;
		if (usable == 0 && read_function(section, &entry, &common, &function))
			rc = add(functions, &function);
	}
	return rc;
}
