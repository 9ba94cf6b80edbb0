/* Where symbols come from: each table is gone over once, and what may be a function is kept with a name of its own. */
#include "native/symbols.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "native/symbols_inside.h"

_Static_assert(sizeof(struct dt_symbol_row) == 16, "there are millions of them");

struct collecting {
	struct symbols_heap heap;
	unsigned missing;
	size_t found;       /* of the table that is gone over */
	const char *suffix; /* of each name */
};

/* The lower the better. */
static uint8_t rank_of(const struct dt_elf_symbol *symbol, bool label, bool plt)
{
	static const uint8_t bindings[] = {[STB_LOCAL] = 1, [STB_GLOBAL] = 0, [STB_WEAK] = 2};
	uint8_t binding = symbol->binding < DT_COUNT(bindings) ? bindings[symbol->binding] : 0;
	size_t underscores = strspn(symbol->name, "_");

	return (uint8_t)((plt ? 0x80 : 0) | (label ? 0x40 : 0) | binding << 4 | DT_MIN(underscores, 15u));
}

static bool is_label(const struct dt_elf_symbol *symbol)
{
	/* "$x" and the like mark what kind of bytes follow; ".annobin" and the like are for other tools. */
	return symbol->type == STT_NOTYPE && symbol->code && symbol->name[0] != '$' && symbol->name[0] != '.';
}

static bool is_function(const struct dt_elf_symbol *symbol)
{
	bool typed = symbol->type == STT_FUNC || symbol->type == STT_GNU_IFUNC;

	return typed && (symbol->code || !symbol->end);
}

/* 0 or -ENOMEM. */
static int grow(void **array, size_t *capacity, size_t wanted, size_t size)
{
	size_t more = DT_MAX(wanted, *capacity + *capacity / 2);
	void *grown;

	if (wanted <= *capacity)
		return 0;
	grown = realloc(*array, more * size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*capacity = more;
	return 0;
}

/* Names of .symtab may have "@@GLIBC_2.2.5" behind them. */
static size_t name_length(const char *name)
{
	size_t length = strnlen(name, DT_SYMBOLS_NAME_LIMIT);
	const char *version = length > 1 ? memchr(name + 1, '@', length - 1) : NULL;

	return version ? (size_t)(version - name) : length;
}

static int add(struct collecting *all, const struct dt_elf_symbol *symbol, bool label)
{
	struct symbols_heap *heap = &all->heap;
	size_t length = name_length(symbol->name), suffix = strlen(all->suffix);
	uint64_t start = symbol->address - heap->base, end = symbol->end - heap->base;
	int rc;

	if (heap->count >= DT_SYMBOLS_LIMIT || heap->names_size + length + suffix + 1 > DT_SYMBOLS_NAMES_LIMIT) {
		all->missing |= DT_SYMBOLS_CUT;
		return 1;
	}
	rc = grow((void **)&heap->entries, &heap->capacity, heap->count + 1, sizeof(*heap->entries));
	if (rc == 0)
		rc = grow((void **)&heap->names, &heap->names_capacity, heap->names_size + length + suffix + 1, 1);
	if (rc < 0)
		return rc;
	heap->entries[heap->count++] = (struct symbols_entry){
	    .start = (uint32_t)start,
	    .size = (uint32_t)DT_MIN(symbol->size, UINT32_MAX - start),
	    .end = symbol->end && end <= UINT32_MAX ? (uint32_t)end : 0,
	    .name = (uint32_t)heap->names_size,
	    .length = (uint16_t)(length + suffix),
	    .rank = rank_of(symbol, label, suffix),
	    .label = label,
	};
	memcpy(heap->names + heap->names_size, symbol->name, length);
	memcpy(heap->names + heap->names_size + length, all->suffix, suffix + 1);
	heap->names_size += length + suffix + 1;
	all->found++;
	return 0;
}

static int take(void *context, const struct dt_elf_symbol *symbol)
{
	struct collecting *all = context;
	bool label = is_label(symbol);

	if (!label && !is_function(symbol))
		return 0;
	if (!symbol->name[0] || symbol->address < all->heap.base || symbol->address - all->heap.base >= UINT32_MAX)
		return 0;
	return add(all, symbol, label);
}

/* Goes over one table. Only want of memory is an error here. */
static int collect(struct collecting *all, struct dt_elf *elf, enum dt_elf_table table, unsigned source,
		   struct dt_symbols *symbols)
{
	int rc;

	all->found = 0;
	all->suffix = "";
	rc = dt_elf_every_symbol(elf, table, take, all);
	if (rc < 0 && rc != -ENOENT && rc != -ENOMEM)
		all->missing |= DT_SYMBOLS_DAMAGED;
	symbols->sources |= all->found ? source : 0;
	return rc == -ENOMEM ? rc : 0;
}

static int collect_packed(struct collecting *all, struct dt_elf *elf, struct dt_symbols *symbols)
{
	struct symbols_packed packed;
	int rc = symbols_unpack(elf, &packed);

	if (rc == 0)
		rc = collect(all, packed.elf, DT_ELF_SYMTAB, DT_SYMBOLS_PACKED, symbols);
	else if (rc == -ENOTSUP)
		all->missing |= DT_SYMBOLS_NO_LZMA;
	else if (rc == -EFBIG)
		all->missing |= DT_SYMBOLS_CUT;
	else if (rc != -ENOENT && rc != -ENOMEM)
		all->missing |= DT_SYMBOLS_DAMAGED;
	symbols_packed_release(&packed);
	return rc == -ENOMEM ? rc : 0;
}

static int collect_plt(struct collecting *all, struct dt_elf *elf, struct dt_symbols *symbols)
{
	int rc;

	all->found = 0;
	all->suffix = "@plt";
	rc = dt_elf_every_plt(elf, take, all);
	symbols->sources |= all->found ? DT_SYMBOLS_PLT : 0;
	return rc == -ENOMEM ? rc : 0;
}

static int collect_all(struct collecting *all, struct dt_elf *elf, struct dt_elf *debug, struct dt_symbols *symbols)
{
	int rc = debug ? collect(all, debug, DT_ELF_SYMTAB, DT_SYMBOLS_DEBUG_FILE, symbols) : 0;

	if (rc == 0)
		rc = collect(all, elf, DT_ELF_SYMTAB, DT_SYMBOLS_SYMTAB, symbols);
	/* It has what .symtab had besides .dynsym, so it is of no use to who has that. */
	if (rc == 0 && !symbols->sources)
		rc = collect_packed(all, elf, symbols);
	if (rc == 0)
		rc = collect(all, elf, DT_ELF_DYNSYM, DT_SYMBOLS_DYNSYM, symbols);
	if (rc == 0)
		rc = collect_plt(all, elf, symbols);
	return rc;
}

static uint64_t find_base(struct dt_elf *elf)
{
	uint64_t base = UINT64_MAX;

	for (size_t i = 0; i < dt_elf_segment_count(elf); i++) {
		struct dt_elf_segment segment = dt_elf_segment(elf, i);

		if (segment.type == PT_LOAD)
			base = DT_MIN(base, segment.address);
	}
	return base == UINT64_MAX ? 0 : base;
}

int dt_symbols_read(struct dt_elf *elf, struct dt_elf *debug, struct dt_symbols *symbols)
{
	struct collecting all = {.heap.base = find_base(elf)};
	int rc;

	*symbols = (struct dt_symbols){.base = all.heap.base};
	rc = collect_all(&all, elf, debug, symbols);
	symbols->missing = all.missing;
	if (rc == 0)
		rc = all.heap.count ? symbols_build(&all.heap, symbols) : -ENOENT;
	free(all.heap.entries);
	free(all.heap.names);
	return rc;
}

void dt_symbols_release(struct dt_symbols *symbols)
{
	free(symbols->rows);
	free(symbols->names);
	*symbols = (struct dt_symbols){0};
}
