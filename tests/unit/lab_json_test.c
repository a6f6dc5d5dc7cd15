/* SPDX-License-Identifier: MIT
 *
 * What: the reader of JSON: what it takes, what it refuses.
 *
 * Why this way: sessions come from elsewhere (merge), so wrong files must be told, not crashed on.
 *
 * Concurrency: one thread.
 */
#include "unit.h"

#include "../../tools/lab/json.h"

static void lab_json__reads_what_the_lab_writes(void)
{
    struct lab_json *line =
        lab_json_read("{\"type\":\"row\", \"warm_up\":true,\"n\":-1.5e2,\"none\":null,\"list\":[\"a\",\"b\"],"
                      "\"in\":{\"x\":3},\"odd\":\"\\\"\\\\\\n\\u0041\\u00e4\"}\n");
    REQUIRE(line != NULL);
    CHECK(strcmp(lab_json_text(line, "type", ""), "row") == 0);
    CHECK(lab_json_true(line, "warm_up"));
    CHECK(lab_json_number(line, "n", 0) == -150);
    CHECK(lab_json_number(line, "none", 7) == 7);
    CHECK(strcmp(lab_json_text(line, "absent", "instead"), "instead") == 0);
    const struct lab_json *list = lab_json_member(line, "list");
    REQUIRE(list != NULL && list->kind == LAB_JSON_ARRAY && list->first != NULL && list->first->next != NULL);
    CHECK(strcmp(list->first->next->text, "b") == 0 && list->first->next->next == NULL);
    CHECK(lab_json_number(lab_json_member(line, "in"), "x", 0) == 3);
    CHECK(strcmp(lab_json_text(line, "odd", ""), "\"\\\nA\xc3\xa4") == 0);
    lab_json_free(line);
}

static void lab_json__refuses_what_is_none(void)
{
    static const char *const wrong[] = { "",        "{",         "{\"a\":}",    "{\"a\" 1}", "[1,]", "[1 2]", "\"open",
                                         "\"\\x\"", "\"\\u12\"", "{\"a\":1} x", "nul",       "inf",  "}",     "{a:1}",
                                         "[[",      "\"\\",      "-",           "truth",     "[1}" };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK(lab_json_read(wrong[i]) == NULL);
    char deep[200];
    memset(deep, '[', 100);
    memset(deep + 100, ']', 99);
    deep[199] = '\0';
    CHECK(lab_json_read(deep) == NULL);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(lab_json__reads_what_the_lab_writes);
    RUN(lab_json__refuses_what_is_none);
    return unit_end();
}
