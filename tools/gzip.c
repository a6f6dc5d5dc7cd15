/* SPDX-License-Identifier: MIT
 *
 * What: see gzip.h.
 */
#include "gzip.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#define ZLIB_CONST /* it reads only */
#include <zlib.h>

enum { GZIP_WINDOW = 15 + 16, MEMORY_LEVEL = 8 };

bool sj__gzip_write(FILE *out, const void *bytes, size_t count)
{
    z_stream stream = { 0 };
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) !=
        Z_OK) {
        errno = ENOMEM;
        return false;
    }
    const size_t room = deflateBound(&stream, count);
    unsigned char *packed = malloc(room);
    bool good = false;
    if (packed != NULL && count <= UINT_MAX && room <= UINT_MAX) {
        stream.next_in = bytes;
        stream.avail_in = (uInt)count;
        stream.next_out = packed;
        stream.avail_out = (uInt)room;
        good = deflate(&stream, Z_FINISH) == Z_STREAM_END;
    }
    good = good && fwrite(packed, 1, stream.total_out, out) == stream.total_out;
    free(packed);
    (void)deflateEnd(&stream);
    return good;
}
