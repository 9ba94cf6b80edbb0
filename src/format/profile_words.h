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

/* The texts are the profile's, or in scratch (which is cleared before) where they are put together: "[native]". They
 * may be very long, but for those that are put together: see dt_shown(). */
struct dt_frame_words dt_frame_words(const struct dt_view *view, uint32_t location, struct dt_buf *scratch);

/* A text as it is, or cut to so many bytes, in room (which is cleared before, and may hold the text itself). */
const char *dt_shown(const char *text, size_t most, struct dt_buf *room);

/* What a format that has all frames of a stack shows of a very deep one: the outer and the inner ones, and one in place
 * of those between, which says how many that are. It is so deep that no program loses anything unless it calls itself
 * without end; what a hostile one makes of it stays small. */
#define DT_DEPTH_SHOWN 10000
struct dt_depth {
	size_t outer, left_out, inner;
};
struct dt_depth dt_depth_shown(size_t frames);
/* "[… 55,536 frames]" */
void dt_left_out_words(size_t frames, struct dt_buf *out);

/* What is said of a run inside of or instead of so many frames; NULL: nothing. Always something if there are none. */
const char *dt_run_mark(const struct dt_profile_run *run, size_t frames);

/* "thread 12 "worker"", with the process before it if there are several. */
void dt_thread_words(const struct dt_view *view, uint32_t thread, struct dt_buf *out);

/* The title of a document: what the user wants, or the programs that were recorded. */
void dt_title_words(const struct dt_view *view, const struct dt_profile_render *render, struct dt_buf *out);

/* "quality: good, 99.9% has a true stack; wall time; 1,234 samples in 12.3 s at 99.9 Hz, ...": what it is worth and how
 * it was made. What matters most comes first: the end may be cut off. DT_EMEMORY if memory is out. */
int dt_about_words(const struct dt_view *view, struct dt_buf *out);

/* Why a view shows nothing: "Nothing was busy: all 10.0 s of wall time went into waiting. '--idle' shows where." */
void dt_nothing_words(const struct dt_view *view, struct dt_buf *out);

/* "wall time", and what filters leave of it: " of main threads during garbage collections". Names are escaped. */
const char *dt_weight_words(enum dt_weight weight);
void dt_filter_words(const struct dt_view_options *options, struct dt_buf *out);

/* In percent; 0 of nothing is 0. In words: "12%", "1.2%", "0.012%". */
double dt_share(uint64_t part, uint64_t whole);
void dt_share_words(uint64_t part, uint64_t whole, struct dt_buf *out);

#endif
