/* SPDX-License-Identifier: MIT
 *
 * What: how a misuse or a corruption ends the process; see report.h.
 *
 * Why this way: the first line goes out before anything else is looked at, so that it is there even if a detail faults.
 * Lines are put together in one static buffer, which the one reporter owns: the stack may be an alternate signal stack
 * with 4 KiB left. Who reports is one word, process id and thread id: a child forked by the program's SIGABRT handler
 * is another process, inherits the word, and must neither wait for a thread it does not have nor be refused a report of
 * its own.
 *
 * Invariants: see report.h. The word is 0 until the first report and never 0 again.
 *
 * Concurrency: the compare-exchange on `reporter` decides who reports.
 */
#include "report/report.h"

#include "base/atomic.h"
#include "base/format.h"
#include "platform/build_id.h"
#include "platform/clock.h"
#include "platform/descriptor.h"
#include "platform/process.h"
#include "platform/stack.h"
#include "platform/stop.h"
#include "platform/thread.h"
#include "report/document.h"
#include "report/location.h"
#include "report/refusals.h"
#include "report/target.h"

enum {
    LINE_BYTES = 640,
    WARNING_BYTES = 320,
    NAME_BYTES = 64,
    ERROR_FD = 2,
    FRAMES_MAX = 64,
    FRAMES_SHOWN = 24,
    AWAIT_MS = 1000
};

enum error_file { ERROR_FILE_NOT_LOOKED_AT, ERROR_FILE_CLOSED, ERROR_FILE_KNOWN };

static enum error_file error_file;             /* written once, at start */
static struct sj_file_identity error_identity; /* likewise; if ERROR_FILE_KNOWN */
static char program[NAME_BYTES];               /* likewise; read then because it takes 4 KiB of stack */
static struct sj_atomic_u64 reporter;          /* process id in the upper half, thread id in the lower; 0 nobody */
static bool refuses;                           /* onerror=report */
static struct sj_atomic_u64 refuser;           /* who reports a refusal, as `reporter`; 0 nobody */
static struct sj_atomic_u64 unreported;        /* refused in a signal handler that interrupted a report */
static struct sj_refusals refusals;            /* the refuser's */
static char report_line[LINE_BYTES];           /* the reporter's */

void sj__report_start(void)
{
    error_file = sj__descriptor_identify(ERROR_FD, &error_identity) ? ERROR_FILE_KNOWN : ERROR_FILE_CLOSED;
    sj__process_name(program, sizeof program);
}

void sj__report_configure(const struct sj_settings *settings)
{
    sj__target_start(settings->report);
    refuses = settings->onerror == SJ_ONERROR_REPORT;
}

/* Before the start nothing can have replaced the file. */
static bool may_write(void)
{
    struct sj_file_identity now;
    if (error_file == ERROR_FILE_NOT_LOOKED_AT)
        return true;
    return error_file == ERROR_FILE_KNOWN && sj__descriptor_identify(ERROR_FD, &now) &&
           now.device == error_identity.device && now.inode == error_identity.inode;
}

void sj__report_write(const char *text, size_t bytes)
{
    if (may_write())
        (void)sj__descriptor_write(ERROR_FD, text, bytes);
}

bool sj__report_begun(void)
{
    return sj_load_acquire_u64(&reporter) != 0; /* pairs with the exchange in claim_report */
}

/* Ends the line, whole or cut, and writes it. */
static void write_line(struct sj_text *text)
{
    if (text->length + 1 >= text->capacity)
        text->length = text->capacity - 2;
    sj__format_char(text, '\n');
    sj__report_write(text->start, text->length);
}

static void start_line(struct sj_text *text, const char *words)
{
    sj__format_start(text, report_line, sizeof report_line);
    sj__format_string(text, words);
}

static void write_words(const char *words, const char *more)
{
    struct sj_text line;
    start_line(&line, words);
    sj__format_string(&line, more);
    write_line(&line);
}

SJ_COLD void sj__report_warn(const char *what, const char *detail)
{
    char buffer[WARNING_BYTES]; /* many threads may warn at once */
    struct sj_text line;
    sj__format_start(&line, buffer, sizeof buffer);
    sj__format_string(&line, "scrubjay: warning: ");
    sj__format_string(&line, what);
    sj__format_string(&line, detail);
    write_line(&line);
}

/* Returns if this thread is to report. */
static void claim_report(void)
{
    const uint64_t process = sj__process_id();
    const uint64_t self = process << 32 | sj__process_thread_id();
    uint64_t other = 0;
    while (!sj_compare_exchange_acq_rel_u64(&reporter, &other, self)) { /* pairs with itself in other threads */
        if (other == self)
            sj__stop_process_now();
        if (other >> 32 == process)
            sj__stop_thread();
    }
}

/* True if this thread may report a refusal now; it waits for other threads that do. False in a signal handler that has
 * interrupted that. */
static bool claim_refusal(void)
{
    const uint64_t process = sj__process_id();
    const uint64_t self = process << 32 | sj__process_thread_id();
    uint64_t other = 0;
    while (!sj_compare_exchange_acq_rel_u64(&refuser, &other, self)) { /* pairs with the release of it */
        if (other == self)
            return false;
        if (other >> 32 == process) {
            if (sj__report_begun())
                sj__stop_thread();
            if (!sj__thread_sleep(1))
                return false;
            other = 0;
        } /* else a child's parent had a thread that was reporting: the child has not, and takes its place */
    }
    return true;
}

/* A refusal uses the same buffers: lets another thread finish its own, but not for ever. */
static void await_refusal(void)
{
    const uint64_t process = sj__process_id();
    for (unsigned turn = 0; turn < AWAIT_MS; turn++) {
        const uint64_t other = sj_load_acquire_u64(&refuser); /* pairs with its release */
        if (other >> 32 != process || (uint32_t)other == sj__process_thread_id() || !sj__thread_sleep(1))
            return;
    }
}

static void add_size(struct sj_text *line, const char *key, size_t value)
{
    sj__format_string(line, key);
    sj__format_decimal(line, value);
}

static void add_address(struct sj_text *line, const char *key, const void *address)
{
    sj__format_string(line, key);
    sj__format_pointer(line, address);
}

static void add_name(struct sj_text *line, const char *key, const char *name)
{
    if (name == NULL)
        return;
    sj__format_string(line, key);
    sj__format_string(line, name);
}

static char first_line[LINE_BYTES]; /* the reporter's, as written, for the document */

static void write_first_line(const struct sj_report_entry *entry, const struct sj_report_facts *facts)
{
    struct sj_text line;
    sj__format_start(&line, first_line, sizeof first_line);
    sj__format_string(&line, "scrubjay: SJ-");
    sj__format_decimal_padded(&line, entry->number, 3);
    sj__format_char(&line, ' ');
    sj__format_string(&line, entry->title);
    add_address(&line, " ptr=", facts->pointer);
    if (facts->size_bytes != 0)
        add_size(&line, " size=", facts->size_bytes);
    if (facts->given_bytes != 0 || facts->expected_bytes != 0) {
        add_size(&line, " given=", facts->given_bytes);
        if (facts->expected_bytes != 0)
            add_size(&line, " expected=", facts->expected_bytes);
    }
    if (facts->block != NULL) {
        add_address(&line, " block=", facts->block);
        add_size(&line, " offset=", facts->offset_bytes);
    }
    add_name(&line, " arena=", facts->arena);
    add_name(&line, " label=", facts->label);
    if (facts->has_byte) {
        sj__format_string(&line, " was=");
        sj__format_hex(&line, facts->byte_was);
        sj__format_string(&line, " is=");
        sj__format_hex(&line, facts->byte_is);
    }
    if (facts->made_by != NULL) {
        sj__format_string(&line, " made_by=");
        sj__format_string(&line, facts->made_by);
        sj__format_string(&line, " freed_by=");
        sj__format_string(&line, facts->freed_by);
    }
    if (facts->function != NULL) {
        sj__format_string(&line, " function=");
        sj__format_string(&line, facts->function);
    }
    if (facts->caller != NULL)
        add_address(&line, " caller=", facts->caller);
    write_line(&line);
    first_line[line.length - 1] = '\0';
}

/* Which process, and which build of ours. */
static void write_process_line(void)
{
    struct sj_text line;
    start_line(&line, "scrubjay:   program ");
    sj__format_printable(&line, program, sizeof program);
    add_size(&line, ", process ", sj__process_id());
    add_size(&line, ", thread ", sj__process_thread_id());
    sj__format_string(&line, ", build id ");
    sj__build_id_format(&line);
    write_line(&line);
}

static void write_caller_line(const void *caller)
{
    struct sj_text line;
    start_line(&line, "scrubjay:   caller ");
    sj__format_pointer(&line, caller);
    sj__format_string(&line, " = ");
    const size_t before = line.length;
    sj__location_format_code(&line, caller);
    if (line.length > before)
        write_line(&line);
}

static void write_location_line(const void *pointer)
{
    struct sj_text line;
    start_line(&line, "scrubjay:   pointer lies ");
    sj__location_format_data(&line, pointer);
    write_line(&line);
}

static void write_details(enum sj_report_id id, const struct sj_report_entry *entry,
                          const struct sj_report_facts *facts)
{
    if (facts->note != NULL)
        write_words("scrubjay:   note: ", facts->note);
    if (facts->details != NULL)
        facts->details(facts->of);
    if (facts->caller != NULL)
        write_caller_line(facts->caller);
    if (id == SJ_FOREIGN_POINTER)
        write_location_line(facts->pointer);
    write_process_line();
    write_words("scrubjay:   cause: ", entry->cause);
    write_words("scrubjay:   remedy: ", entry->remedy);
}

/* The program's frames: those from `caller` on, or all if it is not among them. */
static struct sj_frames find_frames(const void *caller)
{
    static const void *addresses[FRAMES_MAX];
    const size_t count = sj__stack_walk(addresses, FRAMES_MAX);
    for (size_t i = 0; i < count; i++)
        if (addresses[i] == caller)
            return (struct sj_frames){ addresses + i, count - i };
    return (struct sj_frames){ addresses, count };
}

static void write_frames(struct sj_frames frames)
{
    for (size_t i = 0; i < frames.count && i < FRAMES_SHOWN; i++) {
        struct sj_text line;
        start_line(&line, "scrubjay:   frame ");
        sj__format_decimal(&line, i);
        sj__format_char(&line, ' ');
        sj__format_pointer(&line, frames.addresses[i]);
        sj__format_string(&line, " = ");
        sj__location_format_code(&line, frames.addresses[i]);
        write_line(&line);
    }
}

/* Who did something to the block, how long ago, and from where. */
static void write_trace(const char *what, const struct sj_trace *trace)
{
    struct sj_text line;
    if (trace == NULL || trace->count == 0)
        return;
    start_line(&line, "scrubjay:   ");
    sj__format_string(&line, what);
    add_size(&line, " by thread ", trace->thread_id);
    add_size(&line, ", ", (size_t)(sj__clock_ms() - trace->when_ms));
    sj__format_string(&line, " ms ago, from:");
    write_line(&line);
    write_frames((struct sj_frames){ trace->frames, trace->count });
}

static void write_document(const struct sj_document *document)
{
    char buffer[WARNING_BYTES];
    struct sj_text reason;
    sj__format_start(&reason, buffer, sizeof buffer);
    if (!sj__target_write(document->text, document->bytes, &reason))
        write_words("scrubjay:   report not written to ", buffer);
}

static void write_report(enum sj_report_id id, const struct sj_report_facts *facts, bool refused)
{
    const struct sj_report_entry *entry = sj__report_entry(id);
    if (entry == NULL) /* can't be; the id is all that is lost */
        entry = sj__report_entry(SJ_METADATA_CORRUPTION);
    write_first_line(entry, facts);
    write_details(id, entry, facts);
    if (refused)
        write_words("scrubjay:   refused: ",
                    "onerror=report lets the program run on; this call site is not reported again");
    const struct sj_frames frames = find_frames(facts->caller);
    write_frames(frames);
    write_trace("block allocated", facts->allocated);
    write_trace("block freed", facts->freed);
    write_document(sj__document_make(entry, facts, first_line, program, frames, refused));
}

SJ_COLD _Noreturn void sj__report_misuse(enum sj_report_id id, const struct sj_report_facts *facts)
{
    claim_report();
    await_refusal();
    write_report(id, facts, false);
    sj__stop_process();
}

/* ---- Refusals ---------------------------------------------------------------------------------------------------- */

SJ_COLD void sj__report_refusable(enum sj_report_id id, const struct sj_report_facts *facts)
{
    if (!refuses)
        sj__report_misuse(id, facts);
    if (!claim_refusal()) {
        (void)sj_fetch_add_relaxed_u64(&unreported, 1);
        return;
    }
    if (sj__refusals_count(&refusals, id, facts->caller))
        write_report(id, facts, true);
    sj_store_release_u64(&refuser, 0); /* pairs with the exchange in claim_refusal */
}

static void write_refusal(const struct sj_refusal *site)
{
    struct sj_text line;
    start_line(&line, "scrubjay:   SJ-");
    sj__format_decimal_padded(&line, site->id, 3);
    sj__format_char(&line, ' ');
    sj__format_string(&line, sj__report_entry(site->id)->title);
    add_size(&line, " times=", site->count);
    add_address(&line, " caller=", site->caller);
    sj__format_string(&line, " = ");
    sj__location_format_code(&line, site->caller);
    write_line(&line);
}

void sj__report_summarize(void)
{
    uint64_t count = refusals.beyond + sj_load_relaxed_u64(&unreported);
    if ((refusals.used == 0 && count == 0) || !claim_refusal())
        return;
    for (size_t i = 0; i < refusals.used; i++)
        count += refusals.sites[i].count;
    struct sj_text line;
    start_line(&line, "scrubjay: refused");
    add_size(&line, " misuses=", count);
    add_size(&line, " sites=", refusals.used);
    add_size(&line, " unreported=", refusals.beyond + sj_load_relaxed_u64(&unreported));
    write_line(&line);
    for (size_t i = 0; i < refusals.used; i++)
        write_refusal(&refusals.sites[i]);
    sj_store_release_u64(&refuser, 0); /* pairs with the exchange in claim_refusal */
}
