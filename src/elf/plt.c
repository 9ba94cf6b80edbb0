/*
 * The procedure linkage table: small pieces of code that jump to where a slot of data points. Which function that is
 * the relocation of the slot tells, so the instructions are read: linkers order and shape these tables in many ways,
 * but each piece names its slot.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/util.h"
#include "elf/inside.h"

#define CODE_LIMIT   ((uint64_t)4 << 20)
#define RELOCS_LIMIT ((uint64_t)64 << 20)
#define CHUNK        ((size_t)1024)

struct slot {
	uint64_t address;
	uint32_t symbol;
};

struct slots {
	struct slot *list;
	size_t count, capacity;
};

struct plt {
	struct dt_elf *elf;
	struct symbol_table table;
	char *strings;
	struct slots slots;
	dt_elf_symbol_fn *fn;
	void *context;
};

/* Relocations that put the address of a symbol into a slot. */
static bool fills_slot(uint16_t machine, uint32_t type)
{
	if (machine == EM_X86_64)
		return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
	return machine == EM_AARCH64 && (type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT);
}

static int add_slot(struct slots *slots, const Elf64_Rela *reloc)
{
	if (slots->count == slots->capacity) {
		size_t more = slots->capacity ? slots->capacity * 2 : CHUNK;
		struct slot *grown = reallocarray(slots->list, more, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		slots->list = grown;
		slots->capacity = more;
	}
	slots->list[slots->count++] = (struct slot){reloc->r_offset, (uint32_t)ELF64_R_SYM(reloc->r_info)};
	return 0;
}

static int read_slots(struct plt *plt, const Elf64_Shdr *section)
{
	dt_auto_free Elf64_Rela *chunk = malloc(CHUNK * sizeof(*chunk));
	uint64_t count = DT_MIN(section->sh_size, RELOCS_LIMIT) / sizeof(*chunk);

	if (!chunk)
		return -ENOMEM;
	for (uint64_t at = 0; at < count; at += CHUNK) {
		size_t here = DT_MIN((size_t)(count - at), CHUNK);
		int rc = elf_read(plt->elf, section->sh_offset + at * sizeof(*chunk), chunk, here * sizeof(*chunk));

		for (size_t i = 0; i < here && rc == 0; i++)
			if (ELF64_R_SYM(chunk[i].r_info) &&
			    fills_slot(plt->elf->header.e_machine, ELF64_R_TYPE(chunk[i].r_info)))
				rc = add_slot(&plt->slots, &chunk[i]);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int compare_slots(const void *a, const void *b)
{
	const struct slot *one = a, *two = b;

	return one->address < two->address ? -1 : one->address > two->address;
}

/* Shows a piece of code if its slot is known. */
static int show(const struct plt *plt, struct dt_elf_symbol *symbol, uint64_t slot)
{
	struct slot key = {.address = slot};
	const struct slot *found = plt->slots.count
				       ? bsearch(&key, plt->slots.list, plt->slots.count, sizeof(key), compare_slots)
				       : NULL;
	Elf64_Sym target;

	if (!found || found->symbol >= plt->table.count ||
	    elf_read(plt->elf, plt->table.symbols + (uint64_t)found->symbol * sizeof(target), &target, sizeof(target)) <
		0 ||
	    target.st_name >= plt->table.strings_size)
		return 0;
	symbol->name = plt->strings + target.st_name;
	return plt->fn(plt->context, symbol);
}

/* [endbr64] [bnd] jmp *slot(%rip), at the beginning of a piece. */
static int show_x86_64(const struct plt *plt, const Elf64_Shdr *section, const uint8_t *code)
{
	uint64_t step = section->sh_entsize == 8 ? 8 : 16;

	for (uint64_t at = 0; at + step <= section->sh_size; at += step) {
		struct dt_elf_symbol symbol = {.address = section->sh_addr + at, .size = step};
		const uint8_t *piece = code + at;
		uint64_t length = 0;
		int rc;

		length += step == 16 && dt_get32(piece) == 0xfa1e0ff3 ? 4 : 0;
		length += piece[length] == 0xf2;
		if (length + 6 > step || piece[length] != 0xff || piece[length + 1] != 0x25)
			continue;
		symbol.end = section->sh_addr + section->sh_size;
		symbol.type = STT_FUNC;
		symbol.code = true;
		rc = show(plt, &symbol, symbol.address + length + 6 + (uint64_t)(int32_t)dt_get32(piece + length + 2));
		if (rc)
			return rc;
	}
	return 0;
}

/* [bti c] adrp x16, page of slot; ldr x17, [x16, rest] */
static int show_aarch64(const struct plt *plt, const Elf64_Shdr *section, const uint8_t *code)
{
	for (uint64_t at = 0; at + 8 <= section->sh_size; at += 4) {
		uint32_t adrp = dt_get32(code + at), ldr = dt_get32(code + at + 4);
		uint64_t pages = (adrp >> 29 & 3) | (adrp >> 5 & 0x7ffff) << 2, here = section->sh_addr + at;
		struct dt_elf_symbol symbol = {.address = here, .size = 16, .type = STT_FUNC, .code = true};
		int rc;

		if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
			continue;
		if (at >= 4 && dt_get32(code + at - 4) == 0xd503245f) {
			symbol.address -= 4;
			symbol.size += 4;
		}
		symbol.end = section->sh_addr + section->sh_size;
		pages = (pages ^ 0x100000) - 0x100000; /* 21 bits with a sign */
		rc = show(plt, &symbol, (here & ~UINT64_C(0xfff)) + (pages << 12) + (ldr >> 10 & 0xfff) * 8);
		if (rc)
			return rc;
	}
	return 0;
}

static int show_section(const struct plt *plt, const Elf64_Shdr *section)
{
	dt_auto_free uint8_t *code = NULL;
	int rc;

	if (section->sh_type != SHT_PROGBITS || !section->sh_size || section->sh_size > CODE_LIMIT ||
	    section->sh_addr > UINT64_MAX - section->sh_size)
		return 0;
	code = malloc(section->sh_size);
	if (!code)
		return -ENOMEM;
	rc = elf_read(plt->elf, section->sh_offset, code, section->sh_size);
	if (rc < 0)
		return rc;
	return plt->elf->header.e_machine == EM_X86_64 ? show_x86_64(plt, section, code)
						       : show_aarch64(plt, section, code);
}

static const char *name_of(const struct dt_elf *elf, const Elf64_Shdr *section)
{
	return section->sh_name < elf->section_names_size ? elf->section_names + section->sh_name : "";
}

static int show_all(struct plt *plt)
{
	struct dt_elf *elf = plt->elf;
	int rc = 0;

	for (size_t i = 0; i < elf->section_count && rc == 0; i++)
		if (elf->sections[i].sh_type == SHT_RELA && (elf->sections[i].sh_flags & SHF_ALLOC))
			rc = read_slots(plt, &elf->sections[i]);
	if (rc < 0)
		return rc;
	if (plt->slots.count)
		qsort(plt->slots.list, plt->slots.count, sizeof(*plt->slots.list), compare_slots);
	for (size_t i = 0; i < elf->section_count && rc == 0; i++) {
		const char *name = name_of(elf, &elf->sections[i]);

		if (!strcmp(name, ".plt") || !strcmp(name, ".plt.sec") || !strcmp(name, ".plt.got"))
			rc = show_section(plt, &elf->sections[i]);
	}
	return rc;
}

int dt_elf_every_plt(struct dt_elf *elf, dt_elf_symbol_fn *fn, void *context)
{
	struct plt plt = {.elf = elf, .fn = fn, .context = context};
	uint16_t machine = elf->header.e_machine;
	int rc = machine == EM_X86_64 || machine == EM_AARCH64 ? elf_section_symbols(elf, SHT_DYNSYM, &plt.table)
							       : -ENOENT;

	if (rc == 0)
		rc = elf_load_strings(elf, &plt.table, &plt.strings);
	if (rc == 0)
		rc = show_all(&plt);
	free(plt.strings);
	free(plt.slots.list);
	return rc;
}
