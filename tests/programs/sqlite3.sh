# shellcheck shell=bash disable=SC2317
# SPDX-License-Identifier: MIT
#
# What: the sqlite3 shell: tables, indexes, joins, window functions, JSON, full text, and an integrity check.
# Why this way: one script whose whole output must be the same.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need sqlite3:sqlite3

cat >"$SJ_WORK/job.sql" <<'SQL'
PRAGMA journal_mode = WAL;
CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT, city TEXT, age INT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
INSERT INTO person SELECT i, printf('name-%06d', i * 7919 % 30000), printf('city-%d', i % 97), i % 90 FROM n;
CREATE INDEX by_city ON person(city, age);
CREATE INDEX by_name ON person(name);
CREATE TABLE trade(id INTEGER PRIMARY KEY, person INT REFERENCES person, amount REAL);
INSERT INTO trade SELECT id, id * 31 % 30000 + 1, id * 1.25 FROM person;
SELECT city, count(*), sum(amount), group_concat(name) FROM person JOIN trade ON trade.person = person.id
  WHERE age < 10 GROUP BY city ORDER BY city LIMIT 40;
SELECT name, row_number() OVER (PARTITION BY city ORDER BY age DESC, name) AS r FROM person ORDER BY r DESC, name LIMIT 50;
UPDATE person SET name = upper(name) || hex(zeroblob(20)) WHERE id % 3 = 0;
DELETE FROM person WHERE id % 5 = 0;
SELECT count(*), max(name), min(name), total(length(name)) FROM person;
SELECT json_group_array(json_object('id', id, 'name', name)) FROM (SELECT * FROM person ORDER BY name LIMIT 500);
CREATE VIRTUAL TABLE words USING fts5(text);
INSERT INTO words SELECT name || ' ' || city || ' lives here for ' || age || ' years' FROM person LIMIT 4000;
SELECT count(*) FROM words WHERE words MATCH 'lives AND years';
SELECT snippet(words, 0, '[', ']', '...', 4) FROM words WHERE words MATCH '"city 13"' LIMIT 20;
CREATE TABLE blobs(b BLOB);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60) INSERT INTO blobs SELECT zeroblob(i * 5000) FROM n;
SELECT sum(length(b)), sum(b = zeroblob(length(b))) FROM blobs;
REINDEX;
VACUUM;
PRAGMA integrity_check;
SQL

sqlite3_job() { under "$1" sqlite3 "$PWD/job.db" <"$SJ_WORK/job.sql"; }

same sqlite3 sqlite3_job
finish
