/* A file whose symbols are read, and which is its own debug file as well; what is found at an address must lie there.
 */
#include "fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/util.h"
#include "native/symbols.h"

static void check(const struct dt_symbols *symbols)
{
	for (size_t i = 0; i < symbols->count; i++) {
		const struct dt_symbol_row *row = &symbols->rows[i];
		struct dt_symbol symbol;
		uint64_t address = symbols->base + row->start;

		MUST(!i || symbols->rows[i - 1].start < row->start);
		MUST(row->outer <= i && row->name < symbols->names_size);
		MUST(memchr(symbols->names + row->name, '\0', symbols->names_size - row->name));
		if (!dt_symbols_find(symbols, address, &symbol))
			continue;
		MUST(address - symbol.address < symbol.size);
		MUST(row->size == 0 || symbol.address == address);
		if (dt_symbols_find(symbols, address + row->size, &symbol))
			MUST(address + row->size - symbol.address < symbol.size);
	}
	MUST((symbols->count != 0) == (symbols->sources != 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct dt_symbols symbols;
	struct dt_elf *elf;

	if (fd < 0)
		fd = memfd_create("input", MFD_CLOEXEC);
	MUST(fd >= 0 && !ftruncate(fd, 0) && pwrite(fd, data, size, 0) == (ssize_t)size);
	if (dt_elf_open(fd, &elf) < 0)
		return 0;
	dt_symbols_read(elf, size % 2 ? elf : NULL, &symbols);
	check(&symbols);
	dt_symbols_release(&symbols);
	dt_elf_free(elf);
	return 0;
}
