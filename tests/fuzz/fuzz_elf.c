/* An ELF file, and the same bytes as an image in memory. */
#include "fuzz.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/util.h"
#include "elf/elf.h"

#define BASE UINT64_C(0x7f1234560000)

struct bytes {
	const uint8_t *data;
	size_t size;
};

static ssize_t read_bytes(void *context, uint64_t offset, void *buffer, size_t size)
{
	const struct bytes *bytes = context;

	if (offset >= bytes->size)
		return -EFAULT;
	size = DT_MIN(size, bytes->size - offset);
	memcpy(buffer, bytes->data + offset, size);
	return (ssize_t)size;
}

static int look(void *context, const struct dt_elf_symbol *symbol)
{
	size_t *count = context;

	MUST(symbol->name && (!symbol->end || symbol->end > symbol->address));
	return ++*count == 1 << 20;
}

static void ask_all(struct dt_elf *elf)
{
	static const char *const names[] = {"_PyRuntime", "Py_Version", "one", "two"};
	struct dt_elf_range found[DT_COUNT(names)], ranges[8];
	char link[256];
	uint64_t bias;
	uint32_t crc;
	uint8_t id[64];
	size_t shown = 0;
	int count, dynamic = dt_elf_dynamic_symbols(elf, names, DT_COUNT(names), found);

	count = dt_elf_symbols(elf, names, DT_COUNT(names), found);
	MUST(count <= (int)DT_COUNT(names));
	MUST(count < 0 || count >= dynamic);
	for (size_t i = 0; i < DT_COUNT(names); i++)
		count -= found[i].address != 0;
	MUST(count <= 0);
	MUST(dt_elf_writable(elf, ranges, DT_COUNT(ranges)) <= DT_COUNT(ranges));
	MUST(dt_elf_build_id(elf, id) <= sizeof(id));
	dt_elf_section(elf, ".PyRuntime", ranges);
	dt_elf_every_symbol(elf, DT_ELF_SYMTAB, look, &shown);
	dt_elf_every_symbol(elf, DT_ELF_DYNSYM, look, &shown);
	dt_elf_every_plt(elf, look, &shown);
	if (dt_elf_debug_link(elf, link, &crc) == 0)
		MUST(link[0] && !strchr(link, '/'));
	if (dt_elf_bias(elf, BASE, 0x1000, &bias) == 0)
		MUST(bias % 4096 == 0);
	dt_elf_free(elf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct bytes bytes = {data, size};
	struct dt_elf *elf;

	if (fd < 0)
		fd = memfd_create("input", MFD_CLOEXEC);
	MUST(fd >= 0 && !ftruncate(fd, 0) && pwrite(fd, data, size, 0) == (ssize_t)size);
	if (dt_elf_open(fd, &elf) == 0)
		ask_all(elf);
	if (dt_elf_open_image_at(read_bytes, &bytes, BASE, &elf) == 0)
		ask_all(elf);
	return 0;
}
