/* The build id: a note named GNU, in a segment of notes or in a section of its own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "elf/inside.h"

static uint64_t round_up(uint64_t value, uint64_t align)
{
	return (value + align - 1) / align * align;
}

/* Notes are {name size, description size, type, name, description}, both padded to the alignment. */
static size_t find_build_id(const uint8_t *notes, size_t size, size_t align, uint8_t id[64])
{
	uint64_t at = 0;

	while (at + sizeof(Elf64_Nhdr) <= size) {
		uint32_t name_size = dt_get32(notes + at), desc_size = dt_get32(notes + at + 4),
			 type = dt_get32(notes + at + 8);
		uint64_t name = at + sizeof(Elf64_Nhdr), desc = round_up(name + name_size, align);

		if (desc > size || desc_size > size - desc)
			return 0;
		if (type == NT_GNU_BUILD_ID && name_size == 4 && !memcmp(notes + name, "GNU", 4) && desc_size) {
			size_t length = DT_MIN(desc_size, 64u);

			memcpy(id, notes + desc, length);
			return length;
		}
		at = round_up(desc + desc_size, align);
	}
	return 0;
}

static size_t read_build_id(struct dt_elf *elf, uint64_t where, uint64_t size, uint64_t align, uint8_t id[64])
{
	dt_auto_free uint8_t *notes = NULL;

	if (size < sizeof(Elf64_Nhdr) || size > NOTES_LIMIT)
		return 0;
	notes = malloc(size);
	if (!notes || elf_read(elf, where, notes, size) < 0)
		return 0;
	return find_build_id(notes, size, align == 8 ? 8 : 4, id);
}

size_t dt_elf_build_id(struct dt_elf *elf, uint8_t id[64])
{
	struct dt_elf_range section;
	size_t length = 0;

	/* A core file's notes are those of the process, not of a program. */
	if (elf->header.e_type == ET_CORE)
		return 0;
	for (size_t i = 0; i < elf->segment_count && !length; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];

		if (segment->p_type == PT_NOTE)
			length = read_build_id(elf, elf_segment_where(elf, segment), segment->p_filesz,
					       segment->p_align, id);
	}
	if (!length && !dt_elf_section(elf, ".note.gnu.build-id", &section))
		length = read_build_id(elf, section.offset, section.size, 4, id);
	return length;
}
