/* The section header table and its names: two reads, kept for later questions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "elf/inside.h"

static int read_names(struct dt_elf *elf, uint32_t index)
{
	const Elf64_Shdr *names;
	int rc;

	if (index >= elf->section_count)
		return -ENOEXEC;
	names = &elf->sections[index];
	if (names->sh_type != SHT_STRTAB || names->sh_size > STRINGS_LIMIT)
		return -ENOEXEC;
	elf->section_names = malloc(names->sh_size + 1);
	if (!elf->section_names)
		return -ENOMEM;
	rc = elf_read(elf, names->sh_offset, elf->section_names, names->sh_size);
	if (rc < 0)
		return rc;
	elf->section_names[names->sh_size] = '\0';
	elf->section_names_size = names->sh_size;
	return 0;
}

static int read_sections(struct dt_elf *elf)
{
	const Elf64_Ehdr *header = &elf->header;
	uint64_t count = header->e_shnum;
	uint32_t names = header->e_shstrndx;
	Elf64_Shdr first;
	int rc;

	if (!header->e_shoff || elf->image)
		return 0;
	if (header->e_shentsize != sizeof(Elf64_Shdr))
		return -ENOEXEC;
	/* Numbers that do not fit into the header are in the first entry. */
	if (!count || names == SHN_XINDEX) {
		rc = elf_read(elf, header->e_shoff, &first, sizeof(first));
		if (rc < 0)
			return rc;
		count = count ? count : first.sh_size;
		names = names == SHN_XINDEX ? first.sh_link : names;
	}
	if (!count)
		return 0;
	if (count > SECTION_LIMIT)
		return -ENOEXEC;
	elf->sections = calloc(count, sizeof(*elf->sections));
	if (!elf->sections)
		return -ENOMEM;
	rc = elf_read(elf, header->e_shoff, elf->sections, count * sizeof(*elf->sections));
	if (rc < 0)
		return rc;
	elf->section_count = count;
	return read_names(elf, names);
}

int elf_load_sections(struct dt_elf *elf)
{
	int rc;

	if (elf->sections_tried)
		return 0;
	rc = read_sections(elf);
	/* A program does not need its section headers to run: without them, or with nonsense in their place, it is one
	 * that has none. Its file must be readable, though. */
	elf->sections_tried = rc == 0 || rc == -ENOEXEC;
	if (rc == 0)
		return 0;
	free(elf->sections);
	free(elf->section_names);
	elf->sections = NULL;
	elf->section_names = NULL;
	elf->section_count = elf->section_names_size = 0;
	return rc == -ENOEXEC ? 0 : rc;
}

int dt_elf_section(struct dt_elf *elf, const char *name, struct dt_elf_range *range)
{
	int rc = elf_load_sections(elf);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < elf->section_count; i++) {
		const Elf64_Shdr *section = &elf->sections[i];

		if (section->sh_type == SHT_NULL || section->sh_name >= elf->section_names_size ||
		    strcmp(elf->section_names + section->sh_name, name) != 0)
			continue;
		*range = (struct dt_elf_range){
		    .address = section->sh_addr, .offset = section->sh_offset, .size = section->sh_size};
		return 0;
	}
	return -ENOENT;
}
