/*
 * Writes JSON as it comes, without building a tree. Commas and nesting are kept right by the writer; strings of any
 * bytes become valid UTF-8 (what is not becomes U+FFFD), so the output can always be parsed, and what could harm a
 * terminal is escaped ("\u202e"). Write errors stay in the FILE.
 */
#ifndef DT_FORMAT_JSON_WRITER_H
#define DT_FORMAT_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct dt_json {
	FILE *out;
	bool comma; /* the next value has one before it */
};

/* key is NULL inside of arrays and at the top. */
void dt_json_object(struct dt_json *json, const char *key);
void dt_json_object_end(struct dt_json *json);
void dt_json_array(struct dt_json *json, const char *key);
void dt_json_array_end(struct dt_json *json);
void dt_json_text(struct dt_json *json, const char *key, const char *value); /* NULL value: null */
void dt_json_number(struct dt_json *json, const char *key, uint64_t value);
void dt_json_signed(struct dt_json *json, const char *key, int64_t value);
void dt_json_decimal(struct dt_json *json, const char *key, double value); /* one digit; null if not finite */
void dt_json_micros(struct dt_json *json, const char *key, uint64_t ns);   /* exact: 12.345 */
void dt_json_bool(struct dt_json *json, const char *key, bool value);
void dt_json_null(struct dt_json *json, const char *key);

#endif
