/* The inside of a recording: processes that come and go (recording_members.c), and what becomes of them
 * (recording.c). */
#ifndef DT_LIB_RECORDING_H
#define DT_LIB_RECORDING_H

#include "lib/enlist.h"
#include "proc/boot.h"
#include "profile/file.h"
#include "record/crew.h"

/* A process of the recording: one that is looked at, or that has just become another program and is asked for again. */
struct dt_member {
	int pid;
	uint32_t number;
	struct dt_target *target;   /* NULL: being asked for */
	struct dt_subject *subject; /* the crew's, as long as target is there */
	uint64_t lost_ns;           /* since when it is asked for */
	uint64_t told_ns;           /* dt_clock_ns() up to which its time was told before that */
	bool late;                  /* it came while others were recorded */
	struct dt_error err;        /* why it was not found the last time */
	int end;                    /* tells that it has ended, -1: nothing does */
	uint64_t gone_ns;           /* when it has, 0: it is not known to */
	struct dt_member *next;
};

#define DT_SPARE_FILES 8

struct dt_recording {
	struct dt_record_options options;
	struct dt_profile *profile;
	struct dt_writer *writer;
	struct dt_collector *collector;
	struct dt_crew *crew;
	struct dt_enlister *enlister;
	struct dt_member *members;
	bool
	    calm; /* each member is looked at, and its end would be told: nobody is to be asked for; false: not known */
	size_t living, joined, missed;
	uint64_t began_ns, began_realtime_ns, began_cpu_ns;
	uint64_t began_boot_ns;
	char boot[DT_BOOT_ID]; /* of this kernel; "": clocks of others cannot be compared with ours */
	uint64_t ended_ns;     /* 0: it goes on */
	uint64_t gone_ns;      /* when the last process ended, 0: there is one, or others are waited for since */
	int ends;              /* tells of members that have ended: recording_ends.c; -1: nothing does */
	int bell;              /* and of processes that are given back */
	uint64_t flushed_ns, retried_ns;
	int spare[DT_SPARE_FILES]; /* descriptors that processes cannot use up: results are to be written at the end */
	bool short_turns;          /* the calling thread has short time slices for it */
	bool seen;                 /* something is known of a thread */
	bool failed;               /* the file could not be written: err says why */
	bool hangs;                /* a thread that samples does not come back */
	struct dt_error err;
};

/* Takes over the processes that have come back from the crew. 0, -ENOMEM or -EINVAL as dt_collector_leave(). */
int dt_members_ended(struct dt_recording *recording, struct dt_subject *list, dt_record_ended_fn *ended, void *context);

/* After the crew was stopped: takes out those that it had to leave behind. */
void dt_members_left(struct dt_recording *recording, dt_record_ended_fn *ended, void *context);
bool dt_members_any_left(const struct dt_recording *recording);

/* Asks again for those that became another program. */
void dt_members_retry(struct dt_recording *recording, dt_record_ended_fn *ended, void *context);

void dt_ends_open(struct dt_recording *recording);
void dt_ends_close(struct dt_recording *recording);

/* The end of a member is noticed from now on; until it is forgotten. */
void dt_ends_watch(struct dt_recording *recording, struct dt_member *member);
void dt_ends_forget(struct dt_member *member);

/* Sleeps for so long, at most for a second, or until a member ends. True if a signal came. */
bool dt_ends_await(struct dt_recording *recording, uint64_t ns);

/* Whether nothing is to be done for a member but to wait for its end. */
bool dt_ends_told(const struct dt_member *member);

/* When the last process ended, by dt_clock_ns(); 0: one is still there, or it is not known. */
uint64_t dt_ends_last(struct dt_recording *recording);

/* How long a recording has lasted that was ended at one time, all of it nanoseconds since it began, when the last look
 * was at another: 0, if it is not known. */
uint64_t dt_recording_lasted(uint64_t until_ns, uint64_t last_ns, double rate);

void dt_members_release(struct dt_recording *recording);

/* The id of a text in the profile, or 0 for NULL. 0 or -ENOMEM. */
int dt_recording_intern(struct dt_recording *recording, const char *text, uint32_t *id);

#endif
