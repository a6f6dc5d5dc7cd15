/* SPDX-License-Identifier: MIT */
/*
 * What: heap profiles: the file that profile_dump has written, read, and written again in the three formats.
 *
 * Why this way: the file may be from anywhere. The writers are run on whatever the reader lets pass, since they rely on it.
 *
 * Invariants: frames of a site are at most as many as it has room for; the text formats have no control characters; what is
 * meant for pprof is whole as a protocol buffer.
 *
 * Concurrency: one input at a time.
 */
#include "fuzz/as_file.h"
#include "fuzz/said.h"

#include "profile.h"

typedef bool write_function(FILE *out, const struct sj_profile_data *data, enum sj_profile_part part);

static bool skip_varint(const unsigned char **at, const unsigned char *end, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; *at < end && shift < 70; shift += 7) {
        const unsigned char byte = *(*at)++;
        *value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
        if (byte < 0x80)
            return true;
    }
    return false;
}

/* The fields of a message follow one another to its end. */
static bool is_message(const unsigned char *at, const unsigned char *end)
{
    uint64_t tag, value;
    while (at < end) {
        if (!skip_varint(&at, end, &tag) || !skip_varint(&at, end, &value))
            return false;
        if ((tag & 7) == 2 && value > (uint64_t)(end - at))
            return false;
        if ((tag & 7) == 2)
            at += value;
        else if ((tag & 7) != 0)
            return false;
    }
    return true;
}

static void write_one(const struct sj_profile_data *data, write_function *write, enum sj_profile_part part)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    FUZZ_CHECK(out != NULL && write(out, data, part));
    fclose(out);
    if (write == sj__profile_write_pprof)
        FUZZ_CHECK(is_message((const unsigned char *)text, (const unsigned char *)text + bytes));
    else
        FUZZ_CHECK(said_is_tame(text, bytes));
    free(text);
}

static void read_profile(const char *path)
{
    struct sj_profile_data data;
    if (sj__profile_read_file(path, &data) == NULL) {
        FUZZ_CHECK(data.site_count <= SJ_PROFILE_SITES_MAX);
        for (size_t i = 0; i < data.site_count; i++)
            FUZZ_CHECK(data.sites[i].frames_count <= SJ_PROFILE_FRAMES);
        for (size_t i = 0; i < data.mapping_count; i++)
            FUZZ_CHECK(data.mappings[i].path[0] == '/');
        for (unsigned part = SJ_PROFILE_LIVE; part <= SJ_PROFILE_PEAK; part++) {
            write_one(&data, sj__profile_write_pprof, (enum sj_profile_part)part);
            write_one(&data, sj__profile_write_gperftools, (enum sj_profile_part)part);
            write_one(&data, sj__profile_write_folded, (enum sj_profile_part)part);
        }
    }
    sj__profile_free(&data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    as_file(data, size, read_profile);
    return 0;
}
