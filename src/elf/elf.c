/*
 * Headers and segments. What a file claims about itself is checked when it is opened: header sizes, the number of
 * segments, and that no segment wraps around; everything later relies on that and on elf_read(), which never returns
 * less than was asked for.
 */
#include "elf/inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"

#define PAGE 4096

static ssize_t read_file(void *context, uint64_t offset, void *buffer, size_t size)
{
	const struct dt_elf *elf = context;
	ssize_t got;

	if (offset > INT64_MAX)
		return 0;
	do
		got = pread(elf->fd, buffer, size, (off_t)offset);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

int elf_read(struct dt_elf *elf, uint64_t where, void *buffer, size_t size)
{
	size_t done = 0;

	if (where > UINT64_MAX - size)
		return -ENOEXEC;
	if (where <= elf->head_size && size <= elf->head_size - where) {
		memcpy(buffer, elf->head + where, size);
		return 0;
	}
	while (done < size) {
		ssize_t got = elf->read(elf->context, where + done, (char *)buffer + done, size - done);

		if (got < 0)
			return (int)got;
		if (got == 0 || (size_t)got > size - done)
			return -ENOEXEC;
		done += (size_t)got;
	}
	return 0;
}

static bool header_usable(const Elf64_Ehdr *header)
{
	return !memcmp(header->e_ident, ELFMAG, SELFMAG) && header->e_ident[EI_CLASS] == ELFCLASS64 &&
	       header->e_ident[EI_DATA] == ELFDATA2LSB && header->e_ident[EI_VERSION] == EV_CURRENT &&
	       (!header->e_phnum || header->e_phentsize == sizeof(Elf64_Phdr));
}

/* A file with 65,535 segments or more keeps their number in the first section header. */
static int count_segments(struct dt_elf *elf, size_t *count)
{
	Elf64_Shdr first;
	int rc;

	*count = elf->header.e_phnum;
	if (*count != PN_XNUM)
		return 0;
	if (elf->image || !elf->header.e_shoff)
		return -ENOEXEC;
	rc = elf_read(elf, elf->header.e_shoff, &first, sizeof(first));
	if (rc < 0)
		return rc;
	*count = first.sh_info;
	return 0;
}

static int read_segments(struct dt_elf *elf)
{
	size_t count;
	int rc = count_segments(elf, &count);

	if (rc < 0)
		return rc;
	if (count > SEGMENT_LIMIT)
		return -ENOEXEC;
	elf->low = UINT64_MAX;
	elf->segments = calloc(count ? count : 1, sizeof(*elf->segments));
	if (!elf->segments)
		return -ENOMEM;
	rc = elf_read(elf, elf->header.e_phoff, elf->segments, count * sizeof(*elf->segments));
	if (rc < 0)
		return rc;
	elf->segment_count = count;
	for (size_t i = 0; i < count; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];

		if (segment->p_offset > UINT64_MAX - segment->p_filesz ||
		    segment->p_vaddr > UINT64_MAX - segment->p_memsz)
			return -ENOEXEC;
		if (segment->p_type != PT_LOAD)
			continue;
		elf->low = DT_MIN(elf->low, segment->p_vaddr & ~(uint64_t)(PAGE - 1));
		elf->high = DT_MAX(elf->high, segment->p_vaddr + segment->p_memsz);
	}
	if (elf->low > elf->high)
		elf->low = elf->high;
	return 0;
}

/* Takes elf over: frees it on failure. */
static int open_headers(struct dt_elf *elf, struct dt_elf **result)
{
	ssize_t got = elf->read(elf->context, 0, elf->head, sizeof(elf->head));
	int rc = -ENOEXEC;

	if (got < 0)
		rc = (int)got;
	if (got < (ssize_t)sizeof(elf->header))
		goto out;
	elf->head_size = DT_MIN((size_t)got, sizeof(elf->head));
	memcpy(&elf->header, elf->head, sizeof(elf->header));
	if (!header_usable(&elf->header))
		goto out;
	rc = read_segments(elf);
out:
	if (rc < 0)
		dt_elf_free(elf);
	else
		*result = elf;
	return rc;
}

static struct dt_elf *new_elf(int fd, dt_elf_read_fn *read, void *context)
{
	struct dt_elf *elf = calloc(1, sizeof(*elf));

	if (!elf)
		return NULL;
	elf->fd = fd;
	elf->read = read;
	elf->context = context;
	return elf;
}

int dt_elf_open(int fd, struct dt_elf **elf)
{
	struct dt_elf *result = new_elf(fd, read_file, NULL);

	if (!result)
		return -ENOMEM;
	result->context = result;
	return open_headers(result, elf);
}

int dt_elf_open_file(dt_elf_read_fn *read, void *context, struct dt_elf **elf)
{
	struct dt_elf *result = new_elf(-1, read, context);

	return result ? open_headers(result, elf) : -ENOMEM;
}

int dt_elf_open_image_at(dt_elf_read_fn *read, void *context, uint64_t load_address, struct dt_elf **elf)
{
	struct dt_elf *result = new_elf(-1, read, context);

	if (!result)
		return -ENOMEM;
	result->image = true;
	result->load_address = load_address;
	return open_headers(result, elf);
}

int dt_elf_open_image(dt_elf_read_fn *read, void *context, struct dt_elf **elf)
{
	return dt_elf_open_image_at(read, context, 0, elf);
}

void dt_elf_free(struct dt_elf *elf)
{
	if (!elf)
		return;
	free(elf->segments);
	free(elf->sections);
	free(elf->section_names);
	free(elf);
}

uint16_t dt_elf_machine(const struct dt_elf *elf)
{
	return elf->header.e_machine;
}

uint16_t dt_elf_type(const struct dt_elf *elf)
{
	return elf->header.e_type;
}

size_t dt_elf_segment_count(const struct dt_elf *elf)
{
	return elf->segment_count;
}

struct dt_elf_segment dt_elf_segment(const struct dt_elf *elf, size_t index)
{
	const Elf64_Phdr *from = &elf->segments[index];

	return (struct dt_elf_segment){
	    .type = from->p_type,
	    .flags = from->p_flags,
	    .offset = from->p_offset,
	    .file_size = from->p_filesz,
	    .address = from->p_vaddr,
	    .size = from->p_memsz,
	};
}

uint64_t elf_segment_where(const struct dt_elf *elf, const Elf64_Phdr *segment)
{
	return elf->image ? segment->p_vaddr - elf->low : segment->p_offset;
}

bool elf_where(const struct dt_elf *elf, uint64_t address, uint64_t size, uint64_t *where)
{
	for (size_t i = 0; i < elf->segment_count; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];
		uint64_t within = address - segment->p_vaddr;
		/* In memory the zeroed rest of a segment can be read, too. */
		uint64_t there = elf->image ? segment->p_memsz : segment->p_filesz;

		if (segment->p_type != PT_LOAD || address < segment->p_vaddr || within >= there ||
		    size > there - within)
			continue;
		*where = elf_segment_where(elf, segment) + within;
		return true;
	}
	return false;
}

int dt_elf_content(struct dt_elf *elf, uint64_t address, void *buffer, size_t size)
{
	uint64_t where;

	if (!elf_where(elf, address, size, &where))
		return -ENOENT;
	return elf_read(elf, where, buffer, size);
}

int dt_elf_bytes(struct dt_elf *elf, uint64_t offset, void *buffer, size_t size)
{
	return elf_read(elf, offset, buffer, size);
}

/* Two segments may share a page of the file. The one that starts on it is what a mapping that starts there shows; a
 * mapping in the middle of a segment comes from a change of its protection. Of a program that is linked to a fixed
 * place the bias is known to be 0. */
int dt_elf_bias(struct dt_elf *elf, uint64_t map_start, uint64_t map_offset, uint64_t *bias)
{
	bool found = false, found_start = false;

	for (size_t i = 0; i < elf->segment_count; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];
		uint64_t first = segment->p_offset & ~(uint64_t)(PAGE - 1);
		uint64_t candidate = map_start - (segment->p_vaddr - segment->p_offset + map_offset);
		bool starts = first == map_offset;

		if (segment->p_type != PT_LOAD || !segment->p_filesz || map_offset < first ||
		    map_offset >= segment->p_offset + segment->p_filesz || candidate % PAGE)
			continue;
		if (elf->header.e_type == ET_EXEC && candidate)
			continue;
		if (found && (found_start || !starts))
			continue;
		*bias = candidate;
		found = true;
		found_start = starts;
	}
	return found ? 0 : -ENOENT;
}

size_t dt_elf_writable(struct dt_elf *elf, struct dt_elf_range *ranges, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < elf->segment_count && count < max; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_W) || !segment->p_memsz)
			continue;
		ranges[count++] = (struct dt_elf_range){
		    .address = segment->p_vaddr, .offset = segment->p_offset, .size = segment->p_memsz};
	}
	return count;
}
