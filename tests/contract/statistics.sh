#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What: statistics in files: OpenMetrics as the parsers of Prometheus's own client read it, JSON, text; written whole, while the
# program runs and at its end; what stands at the path or beside it is never written through.
# Why this way: real readers, from outside. Where something takes time, the program itself waits for it.
# shellcheck source=../support/cases.sh
. "$(dirname "$0")/../support/cases.sh"

# under OPTIONS COMMAND...
under() { timeout 60 env LD_PRELOAD="$library" SCRUBJAY_OPTIONS="$1" "${@:2}"; }

# A program with something on most lines of the bill.
cat >program.py <<'END'
import threading
def work():
    keep = [bytes(100 + i % 3000) for i in range(3000)] + [bytes(300000) for i in range(9)]
    del keep[::2]
for i in range(3):
    t = threading.Thread(target=work); t.start(); t.join()
END

# Both parsers: OpenMetrics is what we write, and node_exporter reads the older format. The bill adds up in each.
cat >read.py <<'END'
import sys
from prometheus_client import parser, openmetrics
from prometheus_client.openmetrics import parser as openmetrics_parser
text = open(sys.argv[1]).read()
for read in openmetrics_parser.text_string_to_metric_families, parser.text_string_to_metric_families:
    samples = {}
    for family in read(text):
        assert family.type in ("gauge", "counter", "unknown"), family
        for sample in family.samples:
            key = sample.name, tuple(sample.labels.items())
            assert key not in samples, key
            samples[key] = sample.value
    parts = [v for (name, labels), v in samples.items() if name == "scrubjay_bill_bytes"]
    committed = samples["scrubjay_committed_bytes", ()]
    assert len(parts) > 10 and committed > 0, parts
    assert sum(parts) == committed, (sum(parts), committed)
    assert samples["scrubjay_committed_in_flight", ()] == 0
    assert samples["scrubjay_calls_allocated_total", ()] > 3000
END

openmetrics()
{
    /usr/bin/python3 -c 'import prometheus_client.openmetrics' 2>/dev/null || lacks "python3-prometheus-client is not installed"
    local level
    for level in 0 2 4; do
        under "level=$level,stats=openmetrics:$work/m$level.prom" /usr/bin/python3 -S program.py || echo "status $?"
        /usr/bin/python3 read.py "m$level.prom"
    done
    [ "$(stat -c %a m2.prom)" = 644 ] || echo "mode $(stat -c %a m2.prom)"
}
umask 022
check openmetrics_is_read_by_prometheus_own_parsers openmetrics

# By arena and label, from a program that is linked with the library.
cat >arenas.c <<'END'
#include <scrubjay.h>
int main(void)
{
    struct sj_arena *client = sj_arena_create("client", "level=3"), *internal = sj_arena_create("internal", "scrub=off");
    for (int i = 0; i < 100; i++)
        if (sj_arena_malloc(client, "parser", 1000) == NULL || sj_arena_malloc(internal, NULL, 100000) == NULL)
            return 1;
    if (sj_label_push("outside") != 0 || sj_malloc(500) == NULL)
        return 1;
    sj_label_pop();
    return 0;
}
END

by_arena()
{
    "$cc" -I "$top/include" arenas.c -o arenas "$library" -Wl,-rpath,"$build" || return
    SCRUBJAY_OPTIONS="level=1,stats=json:$work/arenas.json" timeout 60 ./arenas || echo "status $?"
    /usr/bin/python3 - <<'END'
import json
said = json.load(open("arenas.json"))
client, internal = said["arena.client"], said["arena.internal"]
assert client["live"] >= 100 * 1000 and client["canaries"] > 0, client
assert internal["live"] == 100 * 100000 and "canaries" not in internal, internal
assert client["live"] + internal["live"] <= said["bill"]["live"]
account = said["account.client.parser"]
assert 100 * 1000 <= account["live"] == account["peak"] == account["allocated"], account
assert said["blocks.client.parser"] == {"live": 100, "allocated": 100}
assert said["account.(none).outside"]["live"] >= 500
END
    SCRUBJAY_OPTIONS="level=1,stats=openmetrics:$work/arenas.prom" timeout 60 ./arenas || echo "status $?"
    grep -q '^scrubjay_arena_bytes{arena="internal",line="live"} 10000000$' arenas.prom || grep internal arenas.prom
    grep -q '^scrubjay_account_bytes{arena="client",label="parser",what="live"} ' arenas.prom || grep account arenas.prom
    [ "$(grep -c '^# TYPE scrubjay_arena_bytes ' arenas.prom)" = 1 ] || echo "a family is typed more than once"
    /usr/bin/python3 -c 'import prometheus_client.openmetrics' 2>/dev/null || lacks "python3-prometheus-client is not installed"
    /usr/bin/python3 - <<'END'
from prometheus_client.openmetrics.parser import text_string_to_metric_families
names = {family.name for family in text_string_to_metric_families(open("arenas.prom").read())}
assert {"scrubjay_arena_bytes", "scrubjay_account_bytes", "scrubjay_blocks_count"} <= names, names
END
}
check arenas_and_labels_have_their_part by_arena

json_and_text()
{
    under "stats=json:$work/%p.json" /usr/bin/python3 -S program.py
    [ "$(find . -name '[0-9]*.json' | wc -l)" = 1 ] || echo "not one file"
    /usr/bin/python3 - [0-9]*.json <<'END'
import json, sys
said = json.load(open(sys.argv[1]))
assert sum(said["bill"].values()) == said["committed"]["bytes"], said["bill"]
assert said["committed"]["resident"] + said["committed"]["never_touched"] == said["committed"]["bytes"]
assert sys.argv[1].startswith(str(said["process"]["pid"]))
END
    under "stats=file:$work/text" /usr/bin/python3 -S program.py
    says "$(head -n 1 text)" 'scrubjay: stats process: pid='
    says "$(tail -n 1 text)" 'scrubjay: stats other_release_ms:'
}
check json_and_text_go_to_files_too json_and_text

# It ends when it sees the file.
while_running()
{
    under "stats=openmetrics:$work/soon.prom,stats_ms=1" /usr/bin/python3 -S -c '
import os
keep = []
while not os.path.exists("soon.prom"):
    keep = [bytes(5000) for i in range(100)]
text = open("soon.prom").read()
assert text.endswith("# EOF\n"), text[-100:]
' || echo "status $?"
    under "stats=openmetrics:$work/never.prom,stats_ms=off" /usr/bin/python3 -S -c '
import os
keep = [bytes(5000) for i in range(1000)]
assert not os.path.exists("never.prom")
' || echo "written before the end"
    [ -f never.prom ] || echo "not written at the end"
}
check file_is_written_while_the_program_runs while_running

never_through()
{
    echo mine >victim
    ln -s victim link.prom
    # shellcheck disable=SC2016
    under "stats=openmetrics:$work/link.prom" sh -c 'ln -s victim "link.prom.$$.tmp"; exec /usr/bin/python3 -S -c pass'
    [ "$(cat victim)" = mine ] || echo "written through a link"
    if [ -L link.prom ] || [ ! -s link.prom ]; then echo "the link is still there"; fi
    [ -z "$(find . -name '*.tmp')" ] || echo "left: $(find . -name '*.tmp')"
}
check nothing_is_written_through_a_link never_through

no_folder()
{
    under "stats=openmetrics:$work/none/m.prom" /usr/bin/python3 -S -c 'print("fine")' >out 2>said || echo "status $?"
    says "$(cat out)" fine
    [ "$(grep -c '^scrubjay: warning: stats not written: .*/none/m.prom: there is no such folder' said)" = 1 ] || cat said
}
check program_goes_on_where_there_is_no_folder no_folder

# An arena that grows to 40 blocks of a MB, twice, and a label in no arena that grows to 30.
cat >growing.c <<'END'
#include <scrubjay.h>
#include <stdlib.h>
enum { MB = 1000000, BLOCKS = 40, OUTSIDE = 30 };
int main(void)
{
    static void *blocks[BLOCKS];
    struct sj_arena *arena = sj_arena_create("client", NULL);
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < BLOCKS; i++)
            if ((blocks[i] = sj_arena_malloc(arena, i % 4 != 0 ? "parse" : "cache", MB)) == NULL)
                return 1;
        for (int i = 0; i < BLOCKS; i++)
            sj_arena_free(arena, blocks[i]);
    }
    sj_label_push("loader");
    for (int i = 0; i < OUTSIDE; i++)
        blocks[i] = malloc(MB);
    sj_label_pop();
    for (int i = 0; i < OUTSIDE; i++)
        free(blocks[i]);
    return 0;
}
END

peaks()
{
    $cc -O1 -fno-builtin -I "$top/include" growing.c "$library" -Wl,-rpath,"$build" -o growing || return
    SCRUBJAY_OPTIONS=label_peaks=on ./growing 2>told || echo "status $?"
    # Each peak is a twentieth above the one before, the first at 25 MB, and the second turn reaches no new one.
    awk -v pages="$(getconf PAGESIZE)" '
        /^scrubjay: new peak: arena client: / { bytes = $6; peaks++
            if (bytes < (last ? last * 1.05 : 25000000)) print "told at " bytes " after " last
            last = bytes; parts = 0; next }
        /^scrubjay: new peak: no arena, label loader: / { outside++; next }
        /^scrubjay:   arena client, label (parse|cache): / { parts += $6
            if ($5 == "cache:" && parts != last) print "labels come to " parts " of " last; next }
        { print "unexpected: " $0 }
        END { if (pages == 4096 && (peaks != 8 || outside != 3)) print peaks " and " outside " peaks, not 8 and 3"
            if (peaks < 5 || outside < 2 || last < 40 * 1000000 / 1.05) print peaks + 0 " peaks up to " last + 0 }' told
    ./growing 2>untold || echo "status $?"
    [ ! -s untold ] || echo "told without the option: $(head -n 1 untold)"
}
check peaks_of_arenas_and_labels_are_told_once peaks

finish
