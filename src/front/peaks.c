/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see peaks.h.
 */
#include "front/peaks.h"

#include "base/format.h"
#include "report/report.h"

enum {
    LABELS_SHOWN = 16,
    LINE_BYTES = 256,
    FIRST_BYTES = 25 * 1000 * 1000, /* as Valgrind has it */
    STEP = 20                       /* a twentieth more */
};

/* ---- Lines ------------------------------------------------------------------------------------------------------- */

static void write_line(const char *what, const struct sj_named *named, const char *label,
                       const struct sj_counts *counts, uint64_t live_bytes)
{
    char buffer[LINE_BYTES];
    struct sj_text line;
    uint64_t blocks = sj_load_relaxed_u64(&counts->allocated_blocks) - sj_load_relaxed_u64(&counts->freed_blocks);
    sj__format_start(&line, buffer, sizeof buffer - 1);
    sj__format_string(&line, what);
    sj__format_string(&line, named != NULL ? "arena " : "no arena");
    sj__format_string(&line, named != NULL ? named->name : "");
    if (label != NULL)
        sj__format_string(&line, label[0] != '\0' ? ", label " : ", no label");
    sj__format_string(&line, label != NULL ? label : "");
    sj__format_string(&line, ": ");
    sj__format_decimal(&line, live_bytes);
    sj__format_string(&line, " bytes in ");
    sj__format_decimal(&line, blocks);
    sj__format_string(&line, " blocks");
    line.start[line.length] = '\n';
    sj__report_write(line.start, line.length + 1);
}

/* The account of the arena that has most, of those that have less than `below`, or as much and a greater number than `last`. */
static uint32_t next_largest(const struct sj_named *named, uint64_t below, uint32_t last)
{
    uint32_t best = SJ_NO_ACCOUNT;
    uint64_t best_bytes = 0;
    for (uint32_t number = 1, count = sj__account_count(); number <= count; number++) {
        const struct sj_account *account = sj__account_at(number);
        uint64_t bytes = sj_load_relaxed_u64(&account->counts.live_bytes);
        bool is_left = bytes < below || (bytes == below && number > last);
        if (account->book == &named->book && is_left && bytes > best_bytes) {
            best = number;
            best_bytes = bytes;
        }
    }
    return best;
}

void sj__peaks_write_labels(const void *of)
{
    const struct sj_named *named = of;
    uint64_t below = UINT64_MAX;
    uint32_t number = SJ_NO_ACCOUNT;
    for (unsigned shown = 0; shown < LABELS_SHOWN; shown++) {
        number = next_largest(named, below, number);
        if (number == SJ_NO_ACCOUNT)
            return;
        below = sj_load_relaxed_u64(&sj__account_at(number)->counts.live_bytes);
        write_line("scrubjay:   ", named, sj__account_at(number)->label, &sj__account_at(number)->counts, below);
    }
}

/* ---- Peaks ------------------------------------------------------------------------------------------------------- */

/* The live bytes, if they are a peak that nobody has told yet; else 0. */
static uint64_t claim(struct sj_counts *counts)
{
    uint64_t live_bytes = sj_load_relaxed_u64(&counts->live_bytes),
             told_bytes = sj_load_relaxed_u64(&counts->told_bytes);
    uint64_t next_bytes = told_bytes > 0 ? told_bytes + told_bytes / STEP : FIRST_BYTES;
    bool is_news = live_bytes >= next_bytes && sj_compare_exchange_acq_rel_u64(&counts->told_bytes, &told_bytes,
                                                                               live_bytes); /* pairs with itself */
    return is_news ? live_bytes : 0;
}

void sj__peaks_look(uint32_t number)
{
    struct sj_named *named = sj__named_of(number);
    struct sj_account *account = sj__account_at(number);
    struct sj_counts *counts = named != NULL ? &named->counts : &account->counts;
    uint64_t peak_bytes = claim(counts);
    if (peak_bytes == 0)
        return;
    write_line("scrubjay: new peak: ", named, named != NULL ? NULL : account->label, counts, peak_bytes);
    if (named != NULL)
        sj__peaks_write_labels(named);
}
