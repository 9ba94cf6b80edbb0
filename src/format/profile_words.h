/* What the outputs of a recording say in the same words: frames, threads, times, and the lines at the top. Nothing here
 * is escaped. */
#ifndef DT_FORMAT_PROFILE_WORDS_H
#define DT_FORMAT_PROFILE_WORDS_H

#include "base/buf.h"
#include "format/profile_formats.h"

struct dt_frame_words {
	const char *name;
	const char *file;       /* the whole path; "": none */
	const char *short_file; /* as the view shows it: the end of the path */
	uint32_t line;          /* as the view shows it; 0: none */
	enum dt_function_kind kind;
};

/* The texts are the profile's, or in scratch (which is cleared before) where they are put together: "[native]". */
struct dt_frame_words dt_frame_words(const struct dt_view *view, uint32_t location, struct dt_buf *scratch);

/* What is said of a run inside of or instead of so many frames; NULL: nothing. Always something if there are none. */
const char *dt_run_mark(const struct dt_profile_run *run, size_t frames);

/* "thread 12 "worker"", with the process before it if there are several. */
void dt_thread_words(const struct dt_view *view, uint32_t thread, struct dt_buf *out);

/* The title of a document: what the user wants, or the programs that were recorded. */
void dt_title_words(const struct dt_view *view, const struct dt_profile_render *render, struct dt_buf *out);

/* "quality: good, 99.9% has a true stack; wall time; 1,234 samples in 12.3 s at 99.9 Hz, ...": what it is worth and how
 * it was made. What matters most comes first: the end may be cut off. DT_EMEMORY if memory is out. */
int dt_about_words(const struct dt_view *view, struct dt_buf *out);

/* In percent; 0 of nothing is 0. In words: "12%", "1.2%", "0.012%". */
double dt_share(uint64_t part, uint64_t whole);
void dt_share_words(uint64_t part, uint64_t whole, struct dt_buf *out);

#endif
