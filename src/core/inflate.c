/* The three formats, each as a loop from unpack_source() to unpack_sink(). Several streams in a row are one file. */
#include <errno.h>
#include <stdlib.h>
#include <sys/types.h>

#include "core/unpack.h"

#ifdef DT_ZLIB
#include <zlib.h>
#endif
#ifdef DT_ZSTD
#include <zstd.h>
#include <zstd_errors.h>
#endif
#ifdef DT_LZ4
#include <lz4frame.h>
#endif

#define IN  ((size_t)64 << 10)
#define OUT ((size_t)256 << 10)

struct buffers {
	uint8_t in[IN], out[OUT];
};

#ifdef DT_ZLIB
static int gzip_loop(struct unpack *unpack, z_stream *stream, struct buffers *buffers)
{
	int code = Z_OK;

	for (;;) {
		int rc;

		if (!stream->avail_in) {
			ssize_t got = unpack_source(unpack, buffers->in, IN);

			if (got < 0)
				return (int)got;
			if (!got)
				return code == Z_STREAM_END ? 0 : UNPACK_DAMAGED;
			stream->next_in = buffers->in;
			stream->avail_in = (uInt)got;
		}
		/* What follows a stream is another one, or padding. */
		if (code == Z_STREAM_END && (*stream->next_in != 0x1f || inflateReset(stream) != Z_OK))
			return 0;
		stream->next_out = buffers->out;
		stream->avail_out = OUT;
		code = inflate(stream, Z_NO_FLUSH);
		rc = unpack_sink(unpack, buffers->out, OUT - stream->avail_out);
		if (rc)
			return rc;
		if (code == Z_MEM_ERROR)
			return -ENOMEM;
		if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
			return UNPACK_DAMAGED;
	}
}

int unpack_gzip(struct unpack *unpack)
{
	struct buffers *buffers = malloc(sizeof(*buffers));
	z_stream stream = {0};
	int rc = -ENOMEM;

	if (buffers && inflateInit2(&stream, 15 + 16) == Z_OK) {
		rc = gzip_loop(unpack, &stream, buffers);
		inflateEnd(&stream);
	}
	free(buffers);
	return rc;
}
#endif

#ifdef DT_ZSTD
static int zstd_loop(struct unpack *unpack, ZSTD_DStream *stream, struct buffers *buffers)
{
	size_t left = 1;

	for (;;) {
		ssize_t got = unpack_source(unpack, buffers->in, IN);
		ZSTD_inBuffer in = {buffers->in, got < 0 ? 0 : (size_t)got, 0};
		ZSTD_outBuffer out;

		if (got < 0)
			return (int)got;
		if (!got)
			return left ? UNPACK_DAMAGED : 0;
		do {
			int rc;

			out = (ZSTD_outBuffer){buffers->out, OUT, 0};
			left = ZSTD_decompressStream(stream, &out, &in);
			rc = unpack_sink(unpack, buffers->out, out.pos);
			if (rc)
				return rc;
			if (ZSTD_isError(left) && ZSTD_getErrorCode(left) == ZSTD_error_frameParameter_windowTooLarge)
				return UNPACK_WINDOW;
			if (ZSTD_isError(left) && ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation)
				return -ENOMEM;
			if (ZSTD_isError(left))
				return UNPACK_DAMAGED;
		} while (in.pos < in.size || (left && out.pos == OUT));
	}
}

int unpack_zstd(struct unpack *unpack)
{
	struct buffers *buffers = malloc(sizeof(*buffers));
	ZSTD_DStream *stream = ZSTD_createDStream();
	int rc = -ENOMEM;

	if (buffers && stream) /* its window is 128 MB at most, unless it is told otherwise */
		rc = zstd_loop(unpack, stream, buffers);
	ZSTD_freeDStream(stream);
	free(buffers);
	return rc;
}
#endif

#ifdef DT_LZ4
static int lz4_loop(struct unpack *unpack, LZ4F_dctx *stream, struct buffers *buffers)
{
	size_t left = 1;

	for (;;) {
		ssize_t got = unpack_source(unpack, buffers->in, IN);
		size_t at = 0, produced;

		if (got < 0)
			return (int)got;
		if (!got)
			return left ? UNPACK_DAMAGED : 0;
		do {
			size_t taken = (size_t)got - at;
			int rc;

			produced = OUT;
			left = LZ4F_decompress(stream, buffers->out, &produced, buffers->in + at, &taken, NULL);
			if (LZ4F_isError(left))
				return UNPACK_DAMAGED;
			at += taken;
			rc = unpack_sink(unpack, buffers->out, produced);
			if (rc)
				return rc;
		} while (at < (size_t)got || (left && produced == OUT));
	}
}

int unpack_lz4(struct unpack *unpack)
{
	struct buffers *buffers = malloc(sizeof(*buffers));
	LZ4F_dctx *stream = NULL;
	int rc = -ENOMEM;

	if (buffers && !LZ4F_isError(LZ4F_createDecompressionContext(&stream, LZ4F_VERSION)))
		rc = lz4_loop(unpack, stream, buffers);
	LZ4F_freeDecompressionContext(stream);
	free(buffers);
	return rc;
}
#endif
