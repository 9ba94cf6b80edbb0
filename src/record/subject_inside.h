/* The inside of a process of a recording: what subject.c has for telling.c. Not for other rooms. */
#ifndef DT_RECORD_SUBJECT_INSIDE_H
#define DT_RECORD_SUBJECT_INSIDE_H

#include "record/subject.h"

#define SEEK 5 /* times that a name is looked for sooner than usual, each after twice the time */

/* The name of a thread, of the last look that read names; NULL: none. */
const char *subject_name_of(const struct dt_subject *subject, const struct dt_recorded *thread);

/* Decides whether the next look is to read names. sought: how often that of the newest thread without one was looked
 * for. */
void subject_plan_names(struct dt_subject *subject, unsigned sought, uint64_t at_ns);

#endif
