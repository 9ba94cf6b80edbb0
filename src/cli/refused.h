/* Processes of a list that may not be read, in words for people. */
#ifndef DT_CLI_REFUSED_H
#define DT_CLI_REFUSED_H

#include "cli/command.h"

/* One line for those that the kernel keeps from us: how many, and the nearest way to see them. With --verbose every
 * process that could not be read instead, with the reason and all ways. Nothing with --quiet. */
void dt_refused_tell(const struct dt_common *common, const struct dt_process_list *list);

#endif
