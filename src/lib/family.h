/*
 * All processes of the host from one listing to the next, and which of them belong to a tree: that of some roots, of
 * their children, and of those that are told. The inside of src/lib.
 */
#ifndef DT_LIB_FAMILY_H
#define DT_LIB_FAMILY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct dt_relative {
	int pid;
	int parent, group, session; /* when it was new; 0: not known, or nobody that we see */
	bool tree;                  /* a root or a descendant of one */
	bool fresh;                 /* new, or new in the tree, since the listing before */
	bool late;                  /* it was not there in the first listing */
	bool asked;                 /* in this listing for its parent */
	bool unsure;                /* its parent was not in the list: it is asked once more */
};

struct dt_family {
	struct dt_relative *list; /* ascending */
	size_t count;
	bool listed; /* once at least */
	bool
	    orphans; /* those belong to the tree, too, whose parent ended before it was seen, where their group tells */
	bool unsettled; /* it should be listed again soon: somebody is unsure */
};

/* Lists them. One that was there keeps what is known of it, one that has gone is forgotten. The roots are looked for in
 * the first listing; without kin nobody is asked for a parent, and nobody but roots is in the tree. */
int dt_family_list(struct dt_family *family, bool kin, const int *roots, size_t root_count, struct dt_error *err);

/* NULL if it was not there. */
struct dt_relative *dt_family_find(const struct dt_family *family, int pid);
void dt_family_release(struct dt_family *family);

#endif
