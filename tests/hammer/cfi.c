/*
 * Prints the table of one or more files, a row a line: where it begins, how the CFA is made, where the frame pointer
 * and the return address are, marks. The table goes through its form on disk on the way.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/util.h"
#include "native/cfi.h"

static const char *const cfa_words[DT_CFA_COUNT] = {"none", "sp", "fp", "at-sp", "at-fp", "plt"};
static const char *const saved_words[DT_SAVED_COUNT] = {"same", "cfa", "sp", "fp", "undefined", "unknown"};

static void print_table(const struct dt_cfi *table)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct dt_cfi_row *row = &table->rows[i];

		printf("%" PRIx64 " %s %d %s %d %s %d %d\n", table->base + row->start, cfa_words[row->cfa],
		       row->cfa_offset, saved_words[row->fp], row->fp_words * 8, saved_words[row->ra],
		       row->ra_words * 8, row->marks);
	}
}

static int again(struct dt_cfi *table)
{
	struct dt_buf buf = DT_BUF_INIT;
	int rc;

	dt_cfi_encode(table, &buf);
	dt_cfi_release(table);
	rc = buf.failed ? -ENOMEM : dt_cfi_decode(buf.data, buf.length, table);
	dt_buf_release(&buf);
	return rc;
}

static int show(const char *path)
{
	dt_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct dt_cfi table = {0};
	struct dt_elf *elf = NULL;
	int rc = fd < 0 ? -errno : dt_elf_open(fd, &elf);

	if (rc < 0 || !elf)
		return rc;
	rc = dt_cfi_compile(elf, &table);
	dt_elf_free(elf);
	rc = rc < 0 ? rc : again(&table);
	if (rc == 0)
		print_table(&table);
	dt_cfi_release(&table);
	return rc;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		int rc = show(argv[i]);

		if (rc < 0) {
			fprintf(stderr, "%s: %s\n", argv[i], strerror(-rc));
			return 1;
		}
	}
	return 0;
}
