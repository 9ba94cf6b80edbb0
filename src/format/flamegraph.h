/* What flamegraph.css and flamegraph.js hold, as scripts/embed turns them into C. */
#ifndef DT_FORMAT_FLAMEGRAPH_H
#define DT_FORMAT_FLAMEGRAPH_H

extern const char dt_flamegraph_css[], dt_flamegraph_js[];

#endif
