/* SPDX-License-Identifier: MIT
 *
 * What: sj__plain_move and sj__plain_set against a byte-by-byte oracle, at every small length, offset and overlap.
 */
#include "base/plain.h"

#include "unit.h"

enum { BUFFER_BYTES = 160, LENGTH_MAX = 70 };

static unsigned char buffer[BUFFER_BYTES], expected[BUFFER_BYTES];

static void fill(unsigned char *bytes)
{
    for (unsigned i = 0; i < BUFFER_BYTES; i++)
        bytes[i] = (unsigned char)(i * 7 + 1);
}

static bool is_as_expected(void)
{
    for (unsigned i = 0; i < BUFFER_BYTES; i++)
        if (buffer[i] != expected[i])
            return false;
    return true;
}

static void move_slowly(unsigned to, unsigned from, unsigned length)
{
    unsigned char held[LENGTH_MAX];
    for (unsigned i = 0; i < length; i++)
        held[i] = expected[from + i];
    for (unsigned i = 0; i < length; i++)
        expected[to + i] = held[i];
}

static void plain_move__moves_as_oracle_when_source_and_target_overlap(void)
{
    for (unsigned length = 0; length <= LENGTH_MAX; length++) {
        for (unsigned to = 0; to <= BUFFER_BYTES - LENGTH_MAX; to++) {
            const unsigned from = 45;
            fill(buffer);
            fill(expected);
            move_slowly(to, from, length);
            CHECK(sj__plain_move(buffer + to, buffer + from, length) == buffer + to);
            CHECK(is_as_expected());
        }
    }
}

static void plain_set__sets_as_oracle_when_any_length(void)
{
    for (unsigned length = 0; length <= LENGTH_MAX; length++) {
        for (unsigned to = 0; to < 17; to++) {
            fill(buffer);
            fill(expected);
            for (unsigned i = 0; i < length; i++)
                expected[to + i] = 0xA5;
            CHECK(sj__plain_set(buffer + to, 0x3A5, length) == buffer + to);
            CHECK(is_as_expected());
        }
    }
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(plain_move__moves_as_oracle_when_source_and_target_overlap);
    RUN(plain_set__sets_as_oracle_when_any_length);
    return unit_end();
}
