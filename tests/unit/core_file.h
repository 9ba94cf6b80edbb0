/* Core files made by hand, for tests: segments and notes are added, then it is written. */
#ifndef DT_TESTS_CORE_FILE_H
#define DT_TESTS_CORE_FILE_H

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CORE_SEGMENTS 16

struct core_file_maker {
	Elf64_Ehdr header;
	Elf64_Phdr segments[CORE_SEGMENTS]; /* the first one is that of the notes */
	size_t segment_count;
	uint8_t notes[8192];
	size_t notes_size;
	char path[64];
};

static inline void core_file_begin(struct core_file_maker *m)
{
	*m = (struct core_file_maker){
	    .header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		       .e_type = ET_CORE,
		       .e_machine = EM_X86_64,
		       .e_version = EV_CURRENT,
		       .e_phoff = sizeof(Elf64_Ehdr),
		       .e_ehsize = sizeof(Elf64_Ehdr),
		       .e_phentsize = sizeof(Elf64_Phdr)},
	    .segment_count = 1,
	    .path = "/tmp/darter-core-XXXXXX",
	};
}

static inline void core_file_note_of(struct core_file_maker *m, const char *owner, uint32_t type, const void *data,
				     size_t size)
{
	const uint32_t head[] = {(uint32_t)strlen(owner) + 1, (uint32_t)size, type};

	memcpy(m->notes + m->notes_size, head, sizeof(head));
	strncpy((char *)m->notes + m->notes_size + 12, owner, 8);
	memcpy(m->notes + m->notes_size + 20, data, size);
	m->notes_size += 20 + ((size + 3) & ~(size_t)3);
}

static inline void core_file_note(struct core_file_maker *m, uint32_t type, const void *data, size_t size)
{
	core_file_note_of(m, "CORE", type, data, size);
}

static inline Elf64_Phdr *core_file_load(struct core_file_maker *m, uint64_t address, uint64_t size, uint64_t offset,
					 uint64_t file_size, uint32_t flags)
{
	Elf64_Phdr *load = &m->segments[m->segment_count++];

	*load = (Elf64_Phdr){.p_type = PT_LOAD,
			     .p_flags = flags,
			     .p_vaddr = address,
			     .p_memsz = size,
			     .p_offset = offset,
			     .p_filesz = file_size};
	return load;
}

/* Headers, notes, and at each page of the memory (from 0x4000 on) its number as a byte, up to size. */
static inline void core_file_write(struct core_file_maker *m, size_t size)
{
	size_t total = size > 0x4000 ? size : 0x4000;
	uint8_t *bytes = calloc(1, total);
	int fd = mkstemp(m->path);

	m->segments[0] = (Elf64_Phdr){.p_type = PT_NOTE, .p_offset = 0x1000, .p_filesz = m->notes_size};
	m->header.e_phnum = m->header.e_phnum ? m->header.e_phnum : (uint16_t)m->segment_count;
	memcpy(bytes, &m->header, sizeof(m->header));
	memcpy(bytes + sizeof(m->header), m->segments, m->segment_count * sizeof(*m->segments));
	memcpy(bytes + 0x1000, m->notes, m->notes_size);
	for (size_t at = 0x4000; at < total; at += 4096)
		bytes[at] = (uint8_t)(at / 4096);
	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	close(fd);
	free(bytes);
}

/* A thread, as NT_PRSTATUS has it on x86_64. */
static inline void core_file_thread(struct core_file_maker *m, int tid, int signal, uint64_t pointer, int64_t call)
{
	uint8_t status[336] = {0};
	int16_t number = (int16_t)signal;

	memcpy(status + 12, &number, sizeof(number));
	memcpy(status + 32, &tid, sizeof(tid));
	memcpy(status + 112 + 15 * 8, &call, sizeof(call));       /* orig_rax */
	memcpy(status + 112 + 21 * 8, &pointer, sizeof(pointer)); /* fs_base */
	core_file_note(m, NT_PRSTATUS, status, sizeof(status));
}

#endif
