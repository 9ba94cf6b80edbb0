/* Evidence made by hand, for the tests of verdicts and remedies. */
#ifndef DT_TESTS_REFUSAL_H
#define DT_TESTS_REFUSAL_H

#include "unit.h"

#include <linux/capability.h>

#include "base/util.h"
#include "doctor/refusal.h"

#define TRACE (UINT64_C(1) << CAP_SYS_PTRACE)
#define ALL   ((UINT64_C(1) << 41) - 1)

/* alice looks at another process of hers on a plain host: nothing refuses. */
static inline struct dt_evidence evidence(void)
{
	return (struct dt_evidence){
	    .self = {.uid = 1000,
		     .euid = 1000,
		     .gid = 100,
		     .egid = 100,
		     .user = "alice",
		     .bounding = ALL,
		     .yama = -1,
		     .initial_user_ns = true,
		     .host = "desk",
		     .sudo = true,
		     .sudo_finds = true,
		     .command = "darter dump 12"},
	    .target = {.pid = 12,
		       .visible = true,
		       .uids = {1000, 1000, 1000},
		       .gids = {100, 100, 100},
		       .user = "alice",
		       .dumpable = DT_KNOWN_YES,
		       .same_user_ns = DT_KNOWN_YES},
	};
}

static inline void make_root(struct dt_evidence *e, uint64_t capabilities)
{
	e->self.uid = e->self.euid = 0;
	e->self.gid = e->self.egid = 0;
	strcpy(e->self.user, "root");
	e->self.capabilities = e->self.bounding = capabilities;
}

static inline void make_target_root(struct dt_evidence *e)
{
	memset(e->target.uids, 0, sizeof(e->target.uids));
	memset(e->target.gids, 0, sizeof(e->target.gids));
	strcpy(e->target.user, "root");
	e->target.dumpable = DT_KNOWN_NOT;
	e->target.permitted = ALL;
}

static inline void says(const struct dt_evidence *e, enum dt_refusal verdict, const char *few, const char *message,
			const char *hint)
{
	struct dt_error err = {0};
	char text[128];

	assert_int_equal(dt_refusal_judge(e), verdict);
	assert_int_equal(dt_refusal_say(verdict, e, &err), verdict == DT_REFUSAL_GONE ? DT_EENDED : DT_EPERMISSION);
	assert_int_equal(dt_refusal_say(verdict, e, NULL), err.code);
	assert_string_equal(err.message, message);
	assert_string_equal(err.hint, hint);
	dt_refusal_say_short(verdict, e, text, sizeof(text));
	assert_string_equal(text, few);
}

#endif
