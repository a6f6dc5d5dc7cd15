/* SPDX-License-Identifier: MIT
 *
 * What: fills the status block, and prints the banner from it; see status.h.
 *
 * Why this way: see policy/status.h.
 *
 * Invariants: see policy/status.h.
 *
 * Concurrency: the release store of `state` is read by another process, through the kernel.
 */
#include "report/status.h"

#include "base/format.h"
#include "platform/build_id.h"
#include "platform/process.h"
#include "report/control_block.h"
#include "report/report.h"

enum { BANNER_BYTES = 256 + SJ_OPTIONS_TEXT_BYTES };

static struct sj_status status = {
    .magic = SJ_STATUS_MAGIC,
    .version = SJ_STATUS_VERSION,
    .bytes = sizeof(struct sj_status),
    .state = SJ_STATE_LOADED,
};

void sj__status_publish(enum sj_status_state state, const char *release, const struct sj_settings *settings)
{
    struct sj_text text;
    sj__format_start(&text, status.release, sizeof status.release);
    sj__format_string(&text, release);
    sj__format_start(&text, status.build_id, sizeof status.build_id);
    sj__build_id_format(&text);
    if (state == SJ_STATE_ON)
        sj__options_print(settings, status.options, sizeof status.options);
    status.process = sj__process_id();
    status.control = sj__control_page.control.self;
    status.self = (uint64_t)(uintptr_t)&status;
    sj__status_amend(state);
}

void sj__status_amend_options(const struct sj_settings *settings)
{
    sj__options_print(settings, status.options, sizeof status.options);
}

void sj__status_amend(enum sj_status_state state)
{
    __atomic_store_n(&status.state, (uint32_t)state, __ATOMIC_RELEASE); /* pairs with the read of another process */
}

const struct sj_status *sj__status_read(void)
{
    return &status;
}

void sj__status_banner(void)
{
    static const char *const states[] = { "loaded", "on", "disabled", "shadowed", "aside" };
    char buffer[BANNER_BYTES];
    struct sj_text line;
    sj__format_start(&line, buffer, sizeof buffer);
    sj__format_string(&line, "scrubjay: ");
    sj__format_string(&line, states[status.state]);
    sj__format_string(&line, " version=");
    sj__format_string(&line, status.release);
    sj__format_string(&line, " build=");
    sj__format_string(&line, status.build_id);
    sj__format_string(&line, " process=");
    sj__format_decimal(&line, status.process);
    if (status.options[0] != '\0') {
        sj__format_string(&line, " options=");
        sj__format_string(&line, status.options);
    }
    sj__format_char(&line, '\n');
    sj__report_write(line.start, line.length);
}
