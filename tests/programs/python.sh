# shellcheck shell=bash disable=SC2317
# SPDX-License-Identifier: MIT
#
# What: the system's python3, its objects on malloc (PYTHONMALLOC=malloc): threads, json, re, pickle, big numbers, fork.
# Why this way: by default python serves small objects itself; on malloc each object is ours.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need /usr/bin/python3:python3

cat >"$SJ_WORK/job.py" <<'PY'
import collections, decimal, hashlib, json, os, pickle, queue, re, threading, zlib

work, done = queue.Queue(), queue.Queue()

def worker():
    for number in iter(work.get, None):
        rows = [{"id": i, "name": "row-%d" % (i * number), "values": list(range(i % 30))} for i in range(300)]
        text = json.dumps(rows, sort_keys=True)
        assert json.loads(text) == rows
        assert pickle.loads(pickle.dumps(rows, protocol=number % 5)) == rows
        found = re.findall(r'"row-(\d+)"', text)
        done.put((number, hashlib.sha256(text.encode()).hexdigest()[:16], len(found),
                  len(zlib.decompress(zlib.compress(text.encode() * 3)))))

threads = [threading.Thread(target=worker) for _ in range(6)]
for thread in threads:
    thread.start()
for number in range(120):
    work.put(number)
for _ in threads:
    work.put(None)
for thread in threads:
    thread.join()
for result in sorted(done.get() for _ in range(120)):
    print(*result)

decimal.getcontext().prec = 2000
print(hashlib.sha256(str(decimal.Decimal(2).sqrt()).encode()).hexdigest())
print(hashlib.sha256(str(3 ** 20000 % 10 ** 4000).encode()).hexdigest())
counts = collections.Counter(word for i in range(20000) for word in ("w%d" % (i % 331), "x" * (i % 17)))
print(sorted(counts.items())[:20])
buffer = bytearray()
for i in range(3000):
    buffer += b"%d," % i * 20
print(hashlib.sha256(buffer).hexdigest())
for i in range(20):
    child = os.fork()
    if child == 0:
        os._exit(0 if sum(len(str(k)) for k in range(20000)) == 88890 else 1)
    print(os.waitpid(child, 0)[1])
PY

python_job()
{
    PYTHONHASHSEED=1 PYTHONMALLOC=malloc under "$1" /usr/bin/python3 "$SJ_WORK/job.py" || return
    PYTHONHASHSEED=1 under "$1" /usr/bin/python3 "$SJ_WORK/job.py" | digest
}

same python python_job
finish
