/* SPDX-License-Identifier: MIT */
/*
 * What: canaries: any change of any byte is found, at any length; short and long ones are the same bytes.
 * Why this way: all lengths to 40 and all single bytes are few enough to try.
 */
#include "guard/canary.h"
#include "unit/unit.h"

enum { LENGTH_MAX = 40, ROOM = 64 };

static char room[ROOM];

static void guard_canary__is_found_changed_when_any_byte_is(void)
{
    for (size_t bytes = 1; bytes <= LENGTH_MAX; bytes++) {
        for (size_t at = 0; at < bytes; at++) {
            sj__canary_set(room, bytes, &room);
            CHECK_EQ(sj__canary_first_changed(room, bytes, &room), bytes);
            CHECK_EQ((uint8_t)room[at], sj__canary_byte(&room, at));
            room[at] ^= 0x10;
            CHECK_EQ(sj__canary_first_changed(room, bytes, &room), at);
            room[bytes - 1] ^= 0x20; /* the first counts */
            CHECK_EQ(sj__canary_first_changed(room, bytes, &room), at);
        }
    }
}

static void guard_canary__of_short_length_is_the_same(void)
{
    for (size_t bytes = SJ_CANARY_BYTES; bytes <= SJ_CANARY_SHORT_BYTES; bytes++) {
        memset(room, 0x55, sizeof room);
        sj_canary_set_short(room, bytes, &room);
        CHECK_EQ(sj__canary_first_changed(room, bytes, &room), bytes);
        CHECK_EQ(room[bytes], 0x55);
        CHECK(sj_canary_holds_short(room, bytes, &room));
        for (size_t at = 0; at < bytes; at++) {
            room[at] ^= 1;
            CHECK(!sj_canary_holds_short(room, bytes, &room));
            room[at] ^= 1;
        }
    }
}

/* A terminator one past the end is a change; a string that runs over ends at the second byte. */
static void guard_canary__begins_with_a_byte_that_is_not_zero_and_one_that_is(void)
{
    uint64_t state = unit_state.seed;
    for (unsigned i = 0; i < 10000; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        sj__canary_start(state);
        const char *block = room + i % ROOM;
        CHECK(sj__canary_byte(block, 0) != 0);
        CHECK_EQ(sj__canary_byte(block, 1), 0);
    }
}

static void guard_canary__depends_on_address_and_secret(void)
{
    uint64_t of_first = sj_canary_of(room), of_next = sj_canary_of(room + 16);
    CHECK(of_first != of_next);
    sj__canary_secret ^= UINT64_C(1) << 40;
    CHECK(of_first != sj_canary_of(room));
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    sj__canary_start(unit_state.seed * 0x9e3779b97f4a7c15u);
    RUN(guard_canary__is_found_changed_when_any_byte_is);
    RUN(guard_canary__of_short_length_is_the_same);
    RUN(guard_canary__begins_with_a_byte_that_is_not_zero_and_one_that_is);
    RUN(guard_canary__depends_on_address_and_secret);
    return unit_end();
}
