-- SPDX-License-Identifier: MIT
-- Inserts, indexes, joins, JSON and text in memory; prints sums that depend on nothing but this file.

CREATE TABLE item (id INTEGER PRIMARY KEY, owner INTEGER, price INTEGER, label TEXT, body TEXT);
CREATE TABLE owner (id INTEGER PRIMARY KEY, name TEXT, document TEXT);

WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
INSERT INTO item
SELECT i, i * 7919 % 5000, i * 104729 % 10007, printf('item-%06d', i * 31 % 60000),
       printf('%.*c', 8 + i * 13 % 200, 'x')
FROM n;

WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 4999)
INSERT INTO owner
SELECT i, 'owner-' || i,
       json_object('id', i, 'tags', json_array(i % 3, i % 5, i % 7), 'note', printf('%08x', i * 40503))
FROM n;

CREATE INDEX item_owner ON item(owner, price);
CREATE INDEX item_label ON item(label);

SELECT count(*), sum(price), sum(length(body)) FROM item;
SELECT count(*), sum(total % 1009) FROM
    (SELECT o.name, sum(i.price) AS total FROM owner o JOIN item i ON i.owner = o.id GROUP BY o.name ORDER BY o.name);
SELECT sum(json_extract(document, '$.tags[1]')), max(json_extract(document, '$.note')) FROM owner;
SELECT sum(length(labels)) FROM
    (SELECT group_concat(label, ',') AS labels FROM (SELECT owner, label FROM item ORDER BY label) GROUP BY owner);
UPDATE item SET label = upper(label), price = price + 1 WHERE id % 3 = 0;
DELETE FROM item WHERE id % 7 = 0;
SELECT count(*), sum(price) FROM item WHERE label LIKE 'ITEM-0%';
WITH RECURSIVE walk(id, depth) AS
    (SELECT 1, 0 UNION SELECT (id * 3 + 1) % 20011, depth + 1 FROM walk WHERE depth < 30000)
SELECT count(*), max(id) FROM walk;
SELECT sum(place) FROM (SELECT rank() OVER (PARTITION BY owner ORDER BY price, id) AS place FROM item);
PRAGMA integrity_check;
