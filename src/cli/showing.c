/* Options of showing: see showing.h. What makes no sense is refused here, before anything is done. */
#include "cli/showing.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/regex.h"
#include "cli/options.h"
#include "cli/result_file.h"

static struct dt_view_options *view_of(void *options)
{
	return &((struct dt_showing *)options)->view;
}

static int set_weight(void *options, enum dt_weight weight, struct dt_error *err)
{
	struct dt_view_options *view = view_of(options);

	if (view->weight != DT_WEIGHT_WALL && view->weight != weight)
		return dt_fail(err, DT_EUSAGE, "--cpu and --gil exclude each other: one kind of time is counted");
	view->weight = weight;
	return 0;
}

int dt_show_cpu(void *options, const char *value, struct dt_error *err)
{
	(void)value;
	return set_weight(options, DT_WEIGHT_CPU, err);
}

int dt_show_gil(void *options, const char *value, struct dt_error *err)
{
	(void)value;
	return set_weight(options, DT_WEIGHT_GIL, err);
}

int dt_show_idle(void *options, const char *value, struct dt_error *err)
{
	(void)value, (void)err;
	view_of(options)->idle = true;
	return 0;
}

int dt_show_threads(void *options, const char *value, struct dt_error *err)
{
	(void)value, (void)err;
	view_of(options)->threads = true;
	return 0;
}

int dt_show_thread_name(void *options, const char *value, struct dt_error *err)
{
	view_of(options)->thread_name = value;
	return dt_regex_check(value, err);
}

int dt_show_main_thread(void *options, const char *value, struct dt_error *err)
{
	(void)value, (void)err;
	view_of(options)->main_thread = true;
	return 0;
}

int dt_show_gc(void *options, const char *value, struct dt_error *err)
{
	(void)value, (void)err;
	view_of(options)->gc = true;
	return 0;
}

int dt_show_hide(void *options, const char *value, struct dt_error *err)
{
	struct dt_view_options *view = view_of(options);
	const char **grown;
	int code = dt_regex_check(value, err);

	if (code)
		return code;
	grown = reallocarray((void *)view->hide, view->hide_count + 1, sizeof(*grown));
	if (!grown)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	grown[view->hide_count++] = value;
	view->hide = grown;
	return 0;
}

int dt_show_function(void *options, const char *value, struct dt_error *err)
{
	(void)value, (void)err;
	view_of(options)->functions = true;
	return 0;
}

int dt_show_no_lines(void *options, const char *value, struct dt_error *err)
{
	(void)value, (void)err;
	view_of(options)->no_lines = true;
	return 0;
}

int dt_show_full_names(void *options, const char *value, struct dt_error *err)
{
	(void)value, (void)err;
	view_of(options)->full_names = true;
	return 0;
}

int dt_show_output(void *options, const char *value, struct dt_error *err)
{
	if (!*value)
		return dt_fail(err, DT_EUSAGE, "an empty text is no name of a file");
	((struct dt_showing *)options)->output = value;
	return 0;
}

static void hint_formats(struct dt_error *err)
{
	for (const struct dt_profile_format *const *format = dt_profile_formats(); *format; format++)
		dt_hint(err, "%s%s%s: %s", (*format)->name, (*format)->alias ? " or " : "",
			(*format)->alias ? (*format)->alias : "", (*format)->description);
}

int dt_show_format(void *options, const char *value, struct dt_error *err)
{
	struct dt_showing *showing = options;
	struct dt_nearest nearest;

	showing->format = dt_profile_format_by_name(value);
	if (showing->format)
		return 0;
	dt_fail(err, DT_EUSAGE, "there is no format '%s'", value);
	dt_nearest_init(&nearest, value);
	for (const struct dt_profile_format *const *format = dt_profile_formats(); *format; format++) {
		dt_nearest_offer(&nearest, (*format)->name);
		if ((*format)->alias)
			dt_nearest_offer(&nearest, (*format)->alias);
	}
	if (nearest.best)
		dt_hint(err, "did you mean '%s'?", nearest.best);
	hint_formats(err);
	return DT_EUSAGE;
}

int dt_showing_settle(struct dt_showing *showing, const char *usual, struct dt_error *err)
{
	bool named = showing->output && strcmp(showing->output, "-") != 0 && strncmp(showing->output, "/dev/", 5) != 0;
	int code = named ? dt_result_check(showing->output, err) : 0;

	if (code || showing->format)
		return code;
	showing->format = named ? dt_profile_format_by_file(showing->output) : dt_profile_format_by_name(usual);
	if (showing->format)
		return 0;
	dt_fail(err, DT_EUSAGE, "which format is '%s' to have? Its name does not tell", showing->output);
	dt_hint(err, "-f FORMAT says so:");
	hint_formats(err);
	return DT_EUSAGE;
}

void dt_showing_release(struct dt_showing *showing)
{
	free((void *)showing->view.hide);
	showing->view.hide = NULL;
	dt_selection_release(&showing->selecting.selection);
}
