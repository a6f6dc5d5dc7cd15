# shellcheck shell=bash disable=SC2317
# SPDX-License-Identifier: MIT
#
# What: node runs the tests that a few npm packages ship, and a job with worker threads.
# Why this way: the packages are fetched once, without the library; if the registry can't be reached, only the job runs.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need node:nodejs

cat >"$SJ_WORK/job.js" <<'JS'
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const crypto = require('crypto'), zlib = require('zlib');
if (isMainThread) {
  const results = [];
  for (let i = 0; i < 4; i++)
    new Worker(__filename, { workerData: i }).on('message', m => {
      results.push(m);
      if (results.length === 4) results.sort().forEach(r => console.log(r));
    });
} else {
  const hash = crypto.createHash('sha256');
  for (let i = 0; i < 300; i++) {
    const text = JSON.stringify(Array.from({ length: 200 }, (_, k) => ({ k, v: 'x'.repeat((k * i) % 50) })));
    hash.update(zlib.gunzipSync(zlib.gzipSync(text)));
    hash.update(Buffer.alloc(i * 1000, i).toString('base64'));
  }
  parentPort.postMessage(workerData + ' ' + hash.digest('hex'));
}
JS

node_job() { under "$1" node "$SJ_WORK/job.js"; }

package_tests()
{
    local name
    for name in minimist concat-map defined is-regex qs; do
        under "$1" node "$SJ_WORK/node_modules/tape/bin/tape" "$SJ_WORK/node_modules/$name/test/*.js" >"$name.tap" ||
            { tail -n 20 "$name.tap" >&2; return 1; }
        grep -E '^# (tests|pass|fail)' "$name.tap"
    done
}

same node node_job
# A package.json of its own: without it npm would look for one in the folders above.
echo '{"private":true}' >"$SJ_WORK/package.json"
if command -v npm >/dev/null 2>&1 && timeout 100 npm install --silent --no-audit --no-fund --ignore-scripts \
    tape minimist concat-map defined is-regex qs iconv-lite mock-property has-override-mistake es-value-fixtures has-property-descriptors safer-buffer has-symbols >"$SJ_WORK/npm.log" 2>&1; then
    same node_packages package_tests
else
    echo "# the npm packages could not be fetched; their tests are left out"
fi
finish
