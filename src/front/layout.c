/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see policy/layout.h.
 */
#include "front/layout.h"

#include "heap/account.h"
#include "heap/heap.h"
#include "heap/profile.h"
#include "span/large.h"
#include "span/sampled.h"
#include "span/slab.h"

/* Constants, so that they need no start; the loader fills in where the objects are. */
static const struct sj_layout_entry entries[] = {
    { "&window_base", (uintptr_t)&sj__window_base },
    { "&window_limit", (uintptr_t)&sj__window_limit_bytes },
    { "&window_map", (uintptr_t)&sj__window_map },
    { "granule_shift", SJ_GRANULE_SHIFT },
    { "kind.freed", SJ_SPAN_FREED },
    { "kind.run", SJ_SPAN_RUN },
    { "kind.fresh", SJ_SPAN_FRESH },
    { "kind.slab", SJ_SPAN_SLAB },
    { "kind.large", SJ_SPAN_LARGE },
    { "kind.sampled", SJ_SPAN_SAMPLED },
    { "span.owner", offsetof(struct sj_span, owner) },
    { "span.kind", offsetof(struct sj_span, kind) },
    { "slab.base", offsetof(struct sj_slab, base) },
    { "slab.slot_bytes", offsetof(struct sj_slab, slot_bytes) },
    { "slab.class", offsetof(struct sj_slab, class_index) },
    { "slab.stamp", offsetof(struct sj_slab, stamp) },
    { "slab.canary", offsetof(struct sj_slab, canary) },
    { "slab.slots", offsetof(struct sj_slab, slots) },
    { "slab.remote", offsetof(struct sj_slab, remote) },
    { "slab.notes", offsetof(struct sj_slab, notes) },
    { "slab.accounts", offsetof(struct sj_slab, accounts) },
    { "slab.planes", offsetof(struct sj_slab, planes) },
    { "stamp.counted", SJ_STAMP_COUNTED },
    { "class.zero", SJ_CLASS_ZERO },
    { "canary.bytes", SJ_CANARY_BYTES },
    { "canary.exact", SJ_CANARY_EXACT },
    { "plane.bytes", sizeof(struct sj_word) },
    { "plane.live", offsetof(struct sj_word, live) },
    { "plane.dirty", offsetof(struct sj_word, dirty) },
    { "plane.freed", offsetof(struct sj_word, freed) },
    { "remote.bits", offsetof(struct sj_remote, bits) },
    { "heap.thread", offsetof(struct sj_heap, thread_id) },
    { "large.start", offsetof(struct sj_large, start) },
    { "large.usable", offsetof(struct sj_large, usable_bytes) },
    { "large.requested", offsetof(struct sj_large, requested_bytes) },
    { "large.account", offsetof(struct sj_large, account) },
    { "large.granules", offsetof(struct sj_large, granules) },
    { "large.first_granule", offsetof(struct sj_large, first_granule) },
    { "&sampled_base", (uintptr_t)&sj__sampled_base },
    { "&sampled_records", (uintptr_t)&sj__sampled_records },
    { "sampled.bytes", sizeof(struct sj_sampled) },
    { "sampled.pages", SJ_SAMPLED_PAGES },
    { "sampled.state", offsetof(struct sj_sampled, state) },
    { "sampled.live", SJ_SAMPLED_LIVE },
    { "sampled.freed_state", SJ_SAMPLED_FREED },
    { "sampled.usable", offsetof(struct sj_sampled, usable_bytes) },
    { "sampled.start", offsetof(struct sj_sampled, start) },
    { "sampled.allocated", offsetof(struct sj_sampled, allocated) },
    { "sampled.freed", offsetof(struct sj_sampled, freed) },
    { "trace.thread", offsetof(struct sj_trace, thread_id) },
    { "trace.count", offsetof(struct sj_trace, count) },
    { "trace.frames", offsetof(struct sj_trace, frames) },
    { "&account_chunks", (uintptr_t)&sj__account_chunks },
    { "account.chunk", SJ_ACCOUNT_CHUNK },
    { "account.bytes", sizeof(struct sj_account) },
    { "account.book", offsetof(struct sj_account, book) },
    { "account.label", offsetof(struct sj_account, label) },
    { "book.name", offsetof(struct sj_book, name) },
    { "&profile_heads", (uintptr_t)&sj__profile_heads },
    { "&profile_records", (uintptr_t)&sj__profile_records },
    { "&profile", (uintptr_t)&sj__profile },
    { "profile.head_bits", SJ_PROFILE_HEAD_BITS },
    { "profile.chunk_sites", SJ_PROFILE_CHUNK_SITES },
    { "profile.chunk_records", SJ_PROFILE_CHUNK_RECORDS },
    { "profile.chunks", offsetof(struct sj_profile, chunks) },
    { "record.bytes", sizeof(struct sj_profile_record) },
    { "record.next", offsetof(struct sj_profile_record, next) },
    { "record.site", offsetof(struct sj_profile_record, site) },
    { "record.address", offsetof(struct sj_profile_record, address) },
    { "site.bytes", sizeof(struct sj_profile_site) },
    { "site.count", offsetof(struct sj_profile_site, frames_count) },
    { "site.frames", offsetof(struct sj_profile_site, frames) },
};

const struct sj_layout sj__layout = {
    .magic = SJ_LAYOUT_MAGIC,
    .version = SJ_LAYOUT_VERSION,
    .count = sizeof entries / sizeof entries[0],
    .entries = entries,
};
