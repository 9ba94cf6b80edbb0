/* Version numbers as Python packs and prints them. */
#include <stdio.h>

#include "python/find.h"
#include "python/find_inside.h"

struct dt_version dt_version_from_hex(uint32_t hex)
{
	return (struct dt_version){
	    .major = (uint8_t)(hex >> 24),
	    .minor = (uint8_t)(hex >> 16),
	    .micro = (uint8_t)(hex >> 8),
	    .level = (uint8_t)(hex >> 4 & 0xf),
	    .serial = (uint8_t)(hex & 0xf),
	};
}

void dt_version_text(const struct dt_version *version, char text[24])
{
	const char *level = version->level == 0xa ? "a" : version->level == 0xb ? "b" : "rc";
	int length;

	length = snprintf(text, 24, "%u.%u.%u", version->major, version->minor, version->micro);
	if (version->level >= 0xa && version->level <= 0xc)
		snprintf(text + length, 24 - (size_t)length, "%s%u", level, version->serial);
}
