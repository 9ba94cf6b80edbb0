/* A streaming JSON writer: see json_writer.h. */
#include "format/json_writer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/utf8.h"

/* Beyond the first 65536 characters JSON has two halves of one. */
static void put_code(FILE *out, uint32_t code)
{
	if (code < 0x10000)
		fprintf(out, "\\u%04" PRIx32, code);
	else
		fprintf(out, "\\u%04" PRIx32 "\\u%04" PRIx32, 0xd800 + ((code - 0x10000) >> 10),
			0xdc00 + (code & 0x3ff));
}

static void quoted(FILE *out, const char *text)
{
	size_t left = strlen(text);

	putc('"', out);
	while (left) {
		size_t plain = 0, size;
		uint32_t code;

		while (plain < left && text[plain] >= ' ' && text[plain] < 0x7f && text[plain] != '"' &&
		       text[plain] != '\\')
			plain++;
		fwrite(text, 1, plain, out);
		text += plain;
		left -= plain;
		if (!left)
			break;
		size = dt_utf8_next(text, left, &code);
		if (code == DT_UTF8_INVALID)
			fputs("\xef\xbf\xbd", out);
		else if (code == '"' || code == '\\')
			fprintf(out, "\\%c", (int)code);
		else if (code == '\n')
			fputs("\\n", out);
		else if (code == '\t')
			fputs("\\t", out);
		/* Most of it would be valid JSON, but people look at it on terminals. */
		else if (dt_utf8_unsafe(code))
			put_code(out, code);
		else
			fwrite(text, 1, size, out);
		text += size;
		left -= size;
	}
	putc('"', out);
}

static void begin(struct dt_json *json, const char *key)
{
	if (json->comma)
		putc(',', json->out);
	json->comma = true;
	if (key) {
		quoted(json->out, key);
		putc(':', json->out);
	}
}

static void open_with(struct dt_json *json, const char *key, char bracket)
{
	begin(json, key);
	putc(bracket, json->out);
	json->comma = false;
}

static void close_with(struct dt_json *json, char bracket)
{
	putc(bracket, json->out);
	json->comma = true;
}

void dt_json_object(struct dt_json *json, const char *key)
{
	open_with(json, key, '{');
}

void dt_json_object_end(struct dt_json *json)
{
	close_with(json, '}');
}

void dt_json_array(struct dt_json *json, const char *key)
{
	open_with(json, key, '[');
}

void dt_json_array_end(struct dt_json *json)
{
	close_with(json, ']');
}

void dt_json_text(struct dt_json *json, const char *key, const char *value)
{
	if (!value) {
		dt_json_null(json, key);
		return;
	}
	begin(json, key);
	quoted(json->out, value);
}

void dt_json_number(struct dt_json *json, const char *key, uint64_t value)
{
	begin(json, key);
	fprintf(json->out, "%" PRIu64, value);
}

void dt_json_signed(struct dt_json *json, const char *key, int64_t value)
{
	begin(json, key);
	fprintf(json->out, "%" PRId64, value);
}

void dt_json_decimal(struct dt_json *json, const char *key, double value)
{
	if (!isfinite(value)) {
		dt_json_null(json, key);
		return;
	}
	begin(json, key);
	fprintf(json->out, "%.1f", value);
}

void dt_json_micros(struct dt_json *json, const char *key, uint64_t ns)
{
	begin(json, key);
	fprintf(json->out, "%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
}

void dt_json_bool(struct dt_json *json, const char *key, bool value)
{
	begin(json, key);
	fputs(value ? "true" : "false", json->out);
}

void dt_json_null(struct dt_json *json, const char *key)
{
	begin(json, key);
	fputs("null", json->out);
}
