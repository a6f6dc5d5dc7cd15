/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see picks.h.
 */
#include "heap/picks.h"

enum { WINDOW_MAX = 16, WORD_SLOTS = 64 };

/* n * log2(n), in 1/256 bit. */
static const uint16_t n_log2_n[WINDOW_MAX + 1] = { 0,    0,    512,  1217,  2048,  2972,  3971,  5031, 6144,
                                                   7304, 8504, 9742, 11013, 12315, 13646, 15002, 16384 };

unsigned sj__picks_entropy(uint64_t bits, unsigned window_mask)
{
    unsigned places = window_mask + 1; /* a power of two */
    unsigned sum = 0;                  /* of n log n, n being the places that lead to a slot */
    uint8_t places_of[WORD_SLOTS] = { 0 };
    for (unsigned place = 0; place < places; place++) {
        uint8_t *n = &places_of[sj_lowest_bit(sj_pick_from(bits, place))];
        sum += n_log2_n[*n + 1] - n_log2_n[*n];
        ++*n;
    }
    unsigned drawn = sj_highest_bit(places); /* random bits of a pick */
    return drawn * SJ_PICKS_UNITS_A_BIT - (sum >> drawn);
}

void sj__picks_note(struct sj_picks *picks, uint64_t bits, unsigned window_mask)
{
    if (picks->refills++ % SJ_PICKS_REFILLS_A_SAMPLE != 0)
        return;
    uint64_t random = picks->refills; /* no secret: it only has to vary */
    while (bits != 0) {
        picks->entropy += sj__picks_entropy(bits, window_mask);
        picks->sampled++;
        random = random * 6364136223846793005u + 1442695040888963407u;
        bits ^= sj_pick_from(bits, (unsigned)(random >> 33) & window_mask);
    }
}
