/* Rows of the table: made from rules, put one after the other. */
#include <errno.h>
#include <stdlib.h>

#include "native/cfi_rules.h"

static void put_saved(struct cfi_saved saved, uint8_t *way, int16_t *words)
{
	bool placed = saved.way == DT_SAVED_CFA || saved.way == DT_SAVED_SP || saved.way == DT_SAVED_FP;

	*way = (uint8_t)saved.way;
	*words = 0;
	if (!placed)
		return;
	if (saved.offset % 8 || saved.offset / 8 < INT16_MIN || saved.offset / 8 > INT16_MAX)
		*way = DT_SAVED_UNKNOWN;
	else
		*words = (int16_t)(saved.offset / 8);
}

static enum dt_cfi_cfa cfa_way(const struct cfi_rules *rules, const struct cfi_registers *registers)
{
	bool sp = rules->cfa_register == registers->sp, fp = rules->cfa_register == registers->fp;

	if (rules->cfa_offset < INT32_MIN || rules->cfa_offset > INT32_MAX)
		return DT_CFA_NONE;
	switch (rules->cfa) {
	case CFI_CFA_REGISTER:
		return sp ? DT_CFA_SP : fp ? DT_CFA_FP : DT_CFA_NONE;
	case CFI_CFA_AT:
		return sp ? DT_CFA_AT_SP : fp ? DT_CFA_AT_FP : DT_CFA_NONE;
	case CFI_CFA_PLT:
		return DT_CFA_PLT;
	default:
		return DT_CFA_NONE;
	}
}

struct dt_cfi_row cfi_row(const struct cfi_rules *rules, const struct cfi_common *common, uint32_t start)
{
	struct dt_cfi_row row = {.start = start};
	enum dt_cfi_cfa cfa = cfa_way(rules, &common->registers);

	/* Without a CFA only one thing can be told: that nobody called. */
	if (cfa == DT_CFA_NONE) {
		row.ra = rules->ra.way == DT_SAVED_UNDEFINED ? DT_SAVED_UNDEFINED : 0;
		return row;
	}
	row.cfa = (uint8_t)cfa;
	row.cfa_offset = (int32_t)rules->cfa_offset;
	put_saved(rules->fp, &row.fp, &row.fp_words);
	put_saved(rules->ra, &row.ra, &row.ra_words);
	row.marks = (uint8_t)((common->signal ? DT_CFI_SIGNAL : 0) | (rules->plus_word ? DT_CFI_PLUS_WORD : 0));
	return row;
}

int cfi_rows_add(struct cfi_rows *rows, struct dt_cfi_row row)
{
	if (rows->count) {
		struct dt_cfi_row same = rows->rows[rows->count - 1];

		same.start = row.start;
		if (!memcmp(&same, &row, sizeof(row)))
			return 0;
	}
	if (rows->count == rows->capacity) {
		size_t capacity = rows->capacity ? rows->capacity * 2 : 1024;
		struct dt_cfi_row *grown;

		if (capacity > DT_CFI_ROWS_LIMIT)
			return -EFBIG;
		grown = realloc(rows->rows, capacity * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		rows->rows = grown;
		rows->capacity = capacity;
	}
	rows->rows[rows->count++] = row;
	return 0;
}
