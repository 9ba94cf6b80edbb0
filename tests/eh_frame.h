/* Makes small ELF files that have nothing but .eh_frame, found by PT_GNU_EH_FRAME. Code lies from 0x1000 to 0x100000.
 */
#ifndef DT_TESTS_EH_FRAME_H
#define DT_TESTS_EH_FRAME_H

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/util.h"

#define EH_FRAME_AT   0x200
#define EH_FRAME_HIGH 0x100000

static inline void put_bytes(struct dt_buf *buf, const uint8_t *bytes, size_t size)
{
	dt_buf_append(buf, (const char *)bytes, size);
}

static inline void put32(struct dt_buf *buf, size_t value)
{
	uint32_t word = (uint32_t)value;

	dt_buf_append(buf, (const char *)&word, sizeof(word));
}

static inline size_t begin_entry(struct dt_buf *buf, size_t id)
{
	put32(buf, 0);
	put32(buf, id);
	return buf->length - 8;
}

static inline void end_entry(struct dt_buf *buf, size_t entry)
{
	uint32_t length = (uint32_t)(buf->length - entry - 4);

	memcpy(buf->data + entry, &length, sizeof(length));
}

/* Addresses are 32 bits, absolute. letters is "zR" or "zRS". Returns where the entry is. */
static inline size_t put_common(struct dt_buf *buf, const char *letters, uint8_t return_register,
				const uint8_t *program, size_t size)
{
	size_t entry = begin_entry(buf, 0);
	const uint8_t rest[] = {0x01, 0x78, return_register, 0x01, 0x03};

	dt_buf_putc(buf, 1);
	dt_buf_append(buf, letters, strlen(letters) + 1);
	put_bytes(buf, rest, sizeof(rest));
	put_bytes(buf, program, size);
	end_entry(buf, entry);
	return entry;
}

static inline void put_function(struct dt_buf *buf, size_t common, uint32_t start, uint32_t length,
				const uint8_t *program, size_t size)
{
	size_t entry = begin_entry(buf, buf->length + 4 - common);

	put32(buf, start);
	put32(buf, length);
	dt_buf_putc(buf, 0);
	put_bytes(buf, program, size);
	end_entry(buf, entry);
}

/* A file around it; its descriptor. */
static inline int eh_frame_file(const struct dt_buf *frames, uint16_t machine)
{
	struct {
		Elf64_Ehdr header;
		Elf64_Phdr segments[2];
		uint8_t eh_frame_hdr[12];
	} head = {
	    .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		       .e_type = ET_DYN,
		       .e_machine = machine,
		       .e_phoff = sizeof(head.header),
		       .e_phentsize = sizeof(Elf64_Phdr),
		       .e_phnum = 2},
	    .segments = {{.p_type = PT_LOAD, .p_filesz = EH_FRAME_AT + frames->length, .p_memsz = EH_FRAME_HIGH},
			 {.p_type = PT_GNU_EH_FRAME,
			  .p_vaddr = offsetof(__typeof__(head), eh_frame_hdr),
			  .p_offset = offsetof(__typeof__(head), eh_frame_hdr),
			  .p_filesz = 12,
			  .p_memsz = 12}},
	    .eh_frame_hdr = {1, 0x03, 0xff, 0xff, EH_FRAME_AT & 0xff, EH_FRAME_AT >> 8},
	};
	int fd = memfd_create("eh_frame", MFD_CLOEXEC);

	if (fd < 0 || pwrite(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
	    pwrite(fd, frames->data, frames->length, EH_FRAME_AT) != (ssize_t)frames->length)
		abort();
	return fd;
}

#endif
