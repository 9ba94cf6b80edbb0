/* What is wrong with a regular expression, in words: see regex.h. */
#include "base/regex.h"

int dt_regex_compile(const char *text, regex_t *regex, struct dt_error *err)
{
	char reason[256];
	int rc = regcomp(regex, text, REG_EXTENDED | REG_NOSUB);

	if (rc == 0)
		return 0;
	regerror(rc, regex, reason, sizeof(reason));
	dt_fail(err, DT_EUSAGE, "'%.200s' is not a POSIX extended regular expression: %s", text, reason);
	dt_hint(err, "a sign that has a meaning there (. * + ? ( ) [ { | ^ $ \\) stands for itself behind a backslash");
	return DT_EUSAGE;
}

int dt_regex_check(const char *text, struct dt_error *err)
{
	regex_t regex;
	int code = dt_regex_compile(text, &regex, err);

	if (code == 0)
		regfree(&regex);
	return code;
}
