/*
 * How the caller's frame is found from any instruction of a module: its .eh_frame, compiled once into a table of rows
 * that is sorted by address. A row holds from its start to the start of the next one. Only what leads from frame to
 * frame is kept: the CFA (the stack pointer of the caller), the frame pointer (rbp, x29) and the return address.
 *
 * x86-64 and aarch64. The file is hostile: sizes, rows and steps have limits, and what is not understood becomes a row
 * without a rule. Such a row also fills the gaps between functions, so nothing is ever told of code that the file does
 * not describe.
 */
#ifndef DT_NATIVE_CFI_H
#define DT_NATIVE_CFI_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "elf/elf.h"

#define DT_CFI_SECTION_LIMIT ((size_t)64 << 20) /* bytes of .eh_frame; the largest libraries have some 20 MB */
#define DT_CFI_ROWS_LIMIT    ((size_t)8 << 20)  /* 128 MB */

enum dt_cfi_cfa {
	DT_CFA_NONE,  /* no rule */
	DT_CFA_SP,    /* sp + n */
	DT_CFA_FP,    /* fp + n */
	DT_CFA_AT_SP, /* the word at sp + n */
	DT_CFA_AT_FP, /* the word at fp + n: functions that align their stack */
	DT_CFA_PLT,   /* sp + 8, and 8 more where the lowest four bits of ip are n or above */
	DT_CFA_COUNT
};

enum dt_cfi_saved {
	DT_SAVED_SAME,      /* still in its register (the return address: in lr) */
	DT_SAVED_CFA,       /* at CFA + n words */
	DT_SAVED_SP,        /* at sp + n words: signal frames */
	DT_SAVED_FP,        /* at fp + n words */
	DT_SAVED_UNDEFINED, /* nowhere; of the return address: this is the outermost frame */
	DT_SAVED_UNKNOWN,   /* somewhere that a row cannot tell */
	DT_SAVED_COUNT
};

enum dt_cfi_mark {
	DT_CFI_SIGNAL = 1,    /* the caller was interrupted: its ip is no return address */
	DT_CFI_PLUS_WORD = 2, /* with DT_CFA_AT_*: the CFA is 8 above the word that was read */
};

struct dt_cfi_row {
	uint32_t start; /* counted from the table's base */
	int32_t cfa_offset;
	int16_t fp_words, ra_words;
	uint8_t cfa;    /* enum dt_cfi_cfa */
	uint8_t fp, ra; /* enum dt_cfi_saved */
	uint8_t marks;  /* enum dt_cfi_mark */
};

struct dt_cfi {
	uint16_t machine; /* EM_X86_64 or EM_AARCH64 */
	uint64_t base;    /* link-time address of the first segment */
	size_t count;
	struct dt_cfi_row *rows;
};

/* Of the file that is mapped: one with nothing but debug information has section headers, but not what they name. 0 or
 * a negative errno: -ENOENT (no .eh_frame), -ENOTSUP (another machine), -EFBIG (beyond the limits), -ENOEXEC (not
 * readable as such), -ENOMEM. The table is released by the caller; it stays empty on an error. */
int dt_cfi_compile(struct dt_elf *elf, struct dt_cfi *table);
void dt_cfi_release(struct dt_cfi *table);

/* The row of a link-time address. NULL before the first one; behind the last function is a row without a rule. */
const struct dt_cfi_row *dt_cfi_find(const struct dt_cfi *table, uint64_t address);

/*
 * The form that is kept on disk, all little-endian:
 *
 *     u8[4] "dcfi"   u16 version   u16 machine   u64 base   u64 rows   u64 checksum of all but itself
 *     rows as above, 16 bytes each
 *
 * dt_cfi_decode() believes nothing: -EBADMSG where a byte is wrong, -ENOTSUP of another version.
 */
#define DT_CFI_VERSION 1
void dt_cfi_encode(const struct dt_cfi *table, struct dt_buf *buf);
int dt_cfi_decode(const void *bytes, size_t size, struct dt_cfi *table);

#endif
