/* .gnu_debuglink: a name, zeros up to a multiple of four, a CRC. */
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "elf/inside.h"

int dt_elf_debug_link(struct dt_elf *elf, char name[256], uint32_t *crc)
{
	struct dt_elf_range section;
	uint8_t bytes[256 + 4];
	size_t length;
	int rc = dt_elf_section(elf, ".gnu_debuglink", &section);

	if (rc < 0)
		return rc;
	if (section.size < 8 || section.size > sizeof(bytes))
		return -ENOENT;
	rc = elf_read(elf, section.offset, bytes, section.size);
	if (rc < 0)
		return elf_is_damage(rc) ? -ENOENT : rc;
	length = strnlen((const char *)bytes, section.size);
	/* It is a name in a directory, never a way to another one. */
	if (!length || length / 4 * 4 + 8 != section.size || memchr(bytes, '/', length))
		return -ENOENT;
	memcpy(name, bytes, length + 1);
	*crc = dt_get32(bytes + section.size - 4);
	return 0;
}
