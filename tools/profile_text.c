/* SPDX-License-Identifier: MIT
 *
 * What: a heap profile as text: for google-pprof and jeprof, and folded, for flame graphs; see profile.h.
 *
 * Why this way: the header of the first says `heapprofile`: then readers take the numbers as they are, where heap_v2 would make
 * them scale up by the mean size of a stack's samples.
 *
 * Invariants, concurrency: see profile.h.
 */
#include "profile.h"
#include "symbols.h"

#include <inttypes.h>
#include <string.h>

static void print_tallies(FILE *out, const struct sj_profile_tally *now, const struct sj_profile_tally *allocated)
{
    fprintf(out, "%" PRIu64 ": %" PRIu64 " [%" PRIu64 ": %" PRIu64 "] @", sj__profile_objects(now), now->bytes,
            sj__profile_objects(allocated), allocated->bytes);
}

bool sj__profile_write_gperftools(FILE *out, const struct sj_profile_data *data, enum sj_profile_part part)
{
    struct sj_profile_site sum = { .allocated = data->head.allocated,
                                   .live = data->head.live,
                                   .peak = data->head.peak };
    fputs("heap profile: ", out);
    print_tallies(out, sj__profile_tally(&sum, part), &sum.allocated);
    fputs(" heapprofile\n", out);
    for (size_t i = 0; i < data->site_count; i++) {
        const struct sj_profile_site *site = &data->sites[i];
        if (site->allocated.objects == 0)
            continue;
        print_tallies(out, sj__profile_tally(site, part), &site->allocated);
        for (uint32_t k = 0; k < site->frames_count; k++)
            fprintf(out, " 0x%" PRIx64, site->frames[k]);
        fputc('\n', out);
    }
    fprintf(out, "\nMAPPED_LIBRARIES:\n%s", data->maps);
    return fflush(out) == 0 && ferror(out) == 0;
}

/* A name that can't be taken for two, or for a line's end. */
static void print_name(FILE *out, const char *name)
{
    for (; *name != '\0'; name++)
        fputc(*name == ';' || *name == ' ' || (unsigned char)*name < ' ' ? '_' : *name, out);
}

static void print_frame(FILE *out, const struct sj_profile_data *data, uint64_t address)
{
    const struct sj_profile_mapping *mapping = sj__profile_mapping_of(data, address);
    struct sj_symbol symbol = { 0 };
    if (mapping != NULL)
        (void)sj__symbols_find(mapping->path, "", address - mapping->base, &symbol);
    if (symbol.function != NULL) {
        print_name(out, symbol.function);
    } else if (mapping != NULL) {
        const char *base = strrchr(mapping->path, '/');
        print_name(out, base + 1);
        fprintf(out, "+0x%" PRIx64, address - mapping->base);
    } else {
        fprintf(out, "0x%" PRIx64, address);
    }
}

bool sj__profile_write_folded(FILE *out, const struct sj_profile_data *data, enum sj_profile_part part)
{
    for (size_t i = 0; i < data->site_count; i++) {
        const struct sj_profile_site *site = &data->sites[i];
        const struct sj_profile_tally *tally = sj__profile_tally(site, part);
        if (tally->bytes == 0)
            continue;
        for (uint32_t k = site->frames_count; k-- > 0;) {
            print_frame(out, data, site->frames[k] - 1); /* in the call, not where it returns to */
            if (k > 0)
                fputc(';', out);
        }
        fprintf(out, "%s %" PRIu64 "\n", site->frames_count == 0 ? "[unknown]" : "", tally->bytes);
    }
    return fflush(out) == 0 && ferror(out) == 0;
}
