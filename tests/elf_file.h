/* Makes small ELF files: sections with symbols, notes and links, and one segment over all code. */
#ifndef DT_TESTS_ELF_FILE_H
#define DT_TESTS_ELF_FILE_H

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

#define ELF_FILE_CODE 0x1000 /* .text, which is section 1 */
#define ELF_FILE_SIZE 0x1000

struct elf_file_symbol {
	const char *name;
	uint64_t address, size;
	uint8_t type, binding;
	uint16_t section; /* 0 stands for .text */
};

struct elf_file_section {
	const char *name;
	uint32_t type;
	uint64_t flags, address, entry_size;
	struct dt_buf bytes;
	uint64_t size; /* of SHT_NOBITS */
	uint32_t link;
};

struct elf_file {
	struct elf_file_section sections[16];
	size_t count;
};

static inline struct elf_file_section *elf_file_add(struct elf_file *file, const char *name, uint32_t type)
{
	struct elf_file_section *section = &file->sections[file->count++];

	*section = (struct elf_file_section){.name = name, .type = type, .bytes = DT_BUF_INIT};
	return section;
}

/* A file with .text alone. */
static inline void elf_file_begin(struct elf_file *file)
{
	struct elf_file_section *text;

	*file = (struct elf_file){0};
	elf_file_add(file, "", SHT_NULL);
	text = elf_file_add(file, ".text", SHT_NOBITS);
	text->flags = SHF_ALLOC | SHF_EXECINSTR;
	text->address = ELF_FILE_CODE;
	text->size = ELF_FILE_SIZE;
}

static inline void elf_file_symbols(struct elf_file *file, uint32_t type, const struct elf_file_symbol *symbols,
				    size_t count)
{
	struct elf_file_section *table = elf_file_add(file, type == SHT_DYNSYM ? ".dynsym" : ".symtab", type);
	struct elf_file_section *names = elf_file_add(file, ".strtab", SHT_STRTAB);
	const Elf64_Sym none = {0};

	table->entry_size = sizeof(Elf64_Sym);
	table->link = (uint32_t)file->count - 1;
	dt_buf_append(&table->bytes, (const char *)&none, sizeof(none));
	dt_buf_append(&names->bytes, "", 1);
	for (size_t i = 0; i < count; i++) {
		Elf64_Sym symbol = {.st_name = (uint32_t)names->bytes.length,
				    .st_info = ELF64_ST_INFO(symbols[i].binding, symbols[i].type),
				    .st_shndx = symbols[i].section ? symbols[i].section : 1,
				    .st_value = symbols[i].address,
				    .st_size = symbols[i].size};

		dt_buf_append(&table->bytes, (const char *)&symbol, sizeof(symbol));
		dt_buf_append(&names->bytes, symbols[i].name, strlen(symbols[i].name) + 1);
	}
}

static inline void elf_file_build_id(struct elf_file *file, const char *id)
{
	struct elf_file_section *note = elf_file_add(file, ".note.gnu.build-id", SHT_NOTE);
	const Elf64_Nhdr header = {.n_namesz = 4, .n_descsz = (uint32_t)strlen(id), .n_type = NT_GNU_BUILD_ID};

	dt_buf_append(&note->bytes, (const char *)&header, sizeof(header));
	dt_buf_append(&note->bytes, "GNU", 4);
	dt_buf_append(&note->bytes, id, strlen(id));
}

static inline void elf_file_debug_link(struct elf_file *file, const char *name, uint32_t crc)
{
	struct elf_file_section *link = elf_file_add(file, ".gnu_debuglink", SHT_PROGBITS);

	dt_buf_append(&link->bytes, name, strlen(name) + 1);
	while (link->bytes.length % 4)
		dt_buf_putc(&link->bytes, '\0');
	dt_buf_append(&link->bytes, (const char *)&crc, sizeof(crc));
}

static inline void elf_file_put_headers(const struct elf_file *file, const Elf64_Shdr *headers, struct dt_buf *out)
{
	Elf64_Phdr code = {.p_type = PT_LOAD,
			   .p_flags = PF_R | PF_X,
			   .p_vaddr = ELF_FILE_CODE,
			   .p_offset = ELF_FILE_CODE,
			   .p_memsz = ELF_FILE_SIZE};
	Elf64_Ehdr head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			   .e_type = ET_DYN,
			   .e_machine = EM_X86_64,
			   .e_version = EV_CURRENT,
			   .e_phoff = sizeof(head),
			   .e_phentsize = sizeof(code),
			   .e_phnum = 1,
			   .e_shoff = out->length,
			   .e_shentsize = sizeof(*headers),
			   .e_shnum = (uint16_t)file->count,
			   .e_shstrndx = (uint16_t)(file->count - 1)};

	dt_buf_append(out, (const char *)headers, file->count * sizeof(*headers));
	if (out->failed)
		abort();
	memcpy(out->data, &head, sizeof(head));
	memcpy(out->data + sizeof(head), &code, sizeof(code));
}

/* The bytes of it; the file is empty afterwards. */
static inline struct dt_buf elf_file_end(struct elf_file *file)
{
	struct dt_buf out = DT_BUF_INIT, names = DT_BUF_INIT;
	char room[sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr)] = {0};
	Elf64_Shdr headers[16] = {0};

	elf_file_add(file, ".shstrtab", SHT_STRTAB);
	dt_buf_append(&out, room, sizeof(room));
	for (size_t i = 0; i < file->count; i++) {
		struct elf_file_section *section = &file->sections[i];

		headers[i] = (Elf64_Shdr){.sh_name = (uint32_t)names.length,
					  .sh_type = section->type,
					  .sh_flags = section->flags,
					  .sh_addr = section->address,
					  .sh_offset = out.length,
					  .sh_link = section->link,
					  .sh_entsize = section->entry_size};
		dt_buf_append(&names, section->name, strlen(section->name) + 1);
		if (i + 1 == file->count)
			dt_buf_append(&section->bytes, names.data, names.length);
		headers[i].sh_size = section->type == SHT_NOBITS ? section->size : section->bytes.length;
		dt_buf_append(&out, section->bytes.data, section->bytes.length);
		dt_buf_release(&section->bytes);
	}
	elf_file_put_headers(file, headers, &out);
	dt_buf_release(&names);
	return out;
}

#endif
