/* SPDX-License-Identifier: MIT
 *
 * What: named numbers in each form, and statistics by name through sj_ctl.
 *
 * Why this way: the texts are compared whole.
 *
 * Invariants checked: one name in all forms; a buffer that is too small is not written beyond.
 *
 * Concurrency: one thread.
 */
#include "unit/unit.h"

#include "front/writer.h"
#include "scrubjay.h"

static const char *write_as(enum sj_form form, const char *wanted)
{
    static const struct sj_item accounts[2][SJ_ITEMS] = { { { "arena", "client" }, { "label", "x.y" } },
                                                          { { "arena", "" }, { "label", "z" } } };
    static char buffer[2048];
    struct sj_writer writer;
    sj__writer_start(&writer, form, buffer, sizeof buffer, wanted);
    sj__writer_topic(&writer, "calls");
    sj__writer_counter(&writer, "allocated", 12);
    sj__writer_gauge(&writer, "live", UINT64_MAX);
    sj__writer_signed(&writer, "in_flight", -34);
    sj__writer_numbered(&writer, "under_", 8, "_ms", 5);
    sj__writer_topic(&writer, "bill");
    sj__writer_part(&writer, "line", "slack", 1);
    sj__writer_part(&writer, "line", "map", 2);
    for (unsigned i = 0; i < 2; i++) {
        sj__writer_topic_of(&writer, "account", "bytes", accounts[i]);
        sj__writer_part(&writer, "what", "live", i);
    }
    sj__writer_end(&writer);
    CHECK(!writer.text.truncated);
    return buffer;
}

static void front_writer__writes_lines_of_text(void)
{
    CHECK(strcmp(write_as(SJ_FORM_TEXT, NULL),
                 "scrubjay: stats calls: allocated=12 live=18446744073709551615 in_flight=-34 under_8_ms=5\n"
                 "scrubjay: stats bill: slack=1 map=2\n"
                 "scrubjay: stats account.client.x.y: live=0\n"
                 "scrubjay: stats account.(none).z: live=1\n") == 0);
}

static void front_writer__writes_one_json_object(void)
{
    CHECK(strcmp(write_as(SJ_FORM_JSON, NULL),
                 "{\"calls\":{\"allocated\":12,\"live\":18446744073709551615,\"in_flight\":-34,\"under_8_ms\":5},"
                 "\"bill\":{\"slack\":1,\"map\":2},"
                 "\"account.client.x.y\":{\"live\":0},\"account.(none).z\":{\"live\":1}}\n") == 0);
}

static void front_writer__writes_openmetrics_with_types_and_an_end(void)
{
    CHECK(strcmp(write_as(SJ_FORM_OPENMETRICS, NULL),
                 "# TYPE scrubjay_calls_allocated counter\n"
                 "scrubjay_calls_allocated_total 12\n"
                 "# TYPE scrubjay_calls_live gauge\n"
                 "scrubjay_calls_live 18446744073709551615\n"
                 "# TYPE scrubjay_calls_in_flight gauge\n"
                 "scrubjay_calls_in_flight -34\n"
                 "# TYPE scrubjay_calls_under_8_ms counter\n"
                 "scrubjay_calls_under_8_ms_total 5\n"
                 "# TYPE scrubjay_bill_bytes gauge\n"
                 "scrubjay_bill_bytes{line=\"slack\"} 1\n"
                 "scrubjay_bill_bytes{line=\"map\"} 2\n"
                 "# TYPE scrubjay_account_bytes gauge\n"
                 "scrubjay_account_bytes{arena=\"client\",label=\"x.y\",what=\"live\"} 0\n"
                 "scrubjay_account_bytes{arena=\"\",label=\"z\",what=\"live\"} 1\n"
                 "# EOF\n") == 0);
}

static void front_writer__finds_a_number_by_its_whole_name(void)
{
    CHECK(strcmp(write_as(SJ_FORM_LOOKUP, "calls.in_flight"), "-34") == 0);
    CHECK(strcmp(write_as(SJ_FORM_LOOKUP, "bill.map"), "2") == 0);
    CHECK(strcmp(write_as(SJ_FORM_LOOKUP, "account.client.x.y.live"), "0") == 0);
    static const char *const none[] = {
        "calls", "calls.", "calls.allocate", "calls.allocated.x", "bill.allocated", ""
    };
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        CHECK(write_as(SJ_FORM_LOOKUP, none[i])[0] == '\0');
}

static void front_control__reads_statistics_by_name(void)
{
    char before[32] = "", after[32] = "", cut[2] = { 'x', 'x' };
    CHECK_EQ(sj_ctl("stats.calls.live_bytes", NULL, before, sizeof before), 0);
    void *block = sj_malloc(1000);
    size_t usable = sj_malloc_usable_size(block);
    CHECK_EQ(sj_ctl("stats.calls.live_bytes", NULL, after, sizeof after), 0);
    CHECK_EQ(strtoull(after, NULL, 10), strtoull(before, NULL, 10) + usable);
    sj_free(block);
    CHECK_EQ(sj_ctl("stats.committed.in_flight", NULL, after, sizeof after), 0);
    CHECK(strcmp(after, "0") == 0);
    CHECK_EQ(sj_ctl("stats.bill.map", NULL, NULL, 0), 0);
    CHECK_EQ(sj_ctl("stats.calls.allocated", NULL, cut, sizeof cut), 0);
    CHECK(cut[0] != 'x' && cut[1] == '\0');
    errno = 0;
    CHECK_EQ(sj_ctl("stats.calls.nothing", NULL, after, sizeof after), -1);
    CHECK_EQ(errno, ENOENT);
    CHECK_EQ(sj_ctl("stats.calls.allocated", "1", NULL, 0), -1);
    CHECK_EQ(errno, EPERM);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(front_writer__writes_lines_of_text);
    RUN(front_writer__writes_one_json_object);
    RUN(front_writer__writes_openmetrics_with_types_and_an_end);
    RUN(front_writer__finds_a_number_by_its_whole_name);
    RUN(front_control__reads_statistics_by_name);
    return unit_end();
}
