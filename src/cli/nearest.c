/* Which word was meant: the nearest by changed, missing, additional and swapped letters. */
#include <string.h>

#include "base/util.h"
#include "cli/options.h"

#define LONGEST 32 /* letters; longer words are not typing mistakes of ours */

static size_t distance(const char *a, const char *b)
{
	size_t rows[3][LONGEST + 1], *before = rows[0], *last = rows[1], *now = rows[2];
	size_t length = strlen(b);

	for (size_t j = 0; j <= length; j++)
		last[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t *spare = before;

		now[0] = i;
		for (size_t j = 1; j <= length; j++) {
			now[j] = last[j - 1] + (a[i - 1] != b[j - 1]);
			now[j] = DT_MIN(now[j], DT_MIN(last[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = DT_MIN(now[j], before[j - 2] + 1);
		}
		before = last;
		last = now;
		now = spare;
	}
	return last[length];
}

void dt_nearest_init(struct dt_nearest *nearest, const char *wanted)
{
	*nearest = (struct dt_nearest){.wanted = wanted, .distance = strlen(wanted) / 3 + 2};
}

void dt_nearest_offer(struct dt_nearest *nearest, const char *word)
{
	size_t far, length = strlen(nearest->wanted);

	if (!length || length > LONGEST || strlen(word) > LONGEST)
		return;
	far = distance(nearest->wanted, word);
	/* The beginning of a word is near to it, however much is missing. */
	if (length >= 2 && !strncmp(word, nearest->wanted, length))
		far = DT_MIN(far, 1);
	if (far < nearest->distance && far < DT_MAX(strlen(word), length)) {
		nearest->distance = far;
		nearest->best = word;
	}
}
