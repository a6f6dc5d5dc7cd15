-- SPDX-License-Identifier: MIT
-- The bundled job of `./dev run`: a shop's customers, products and orders, made by arithmetic alone, so that the answers
-- are the same everywhere. It is of a size that takes a second or so and allocates in many sizes.
PRAGMA synchronous = OFF;

CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL);
CREATE TABLE product (id INTEGER PRIMARY KEY, label TEXT NOT NULL, cents INTEGER NOT NULL);
CREATE TABLE line (id INTEGER PRIMARY KEY, customer INTEGER NOT NULL, product INTEGER NOT NULL, pieces INTEGER NOT NULL,
                   note TEXT NOT NULL);

BEGIN;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000)
INSERT INTO customer SELECT i, printf('customer %06d', (i * 7919) % 4001), printf('city %02d', (i * 104729) % 97) FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
INSERT INTO product SELECT i, printf('product %04d', (i * 6007) % 503), 100 + (i * 3571) % 9900 FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120000)
INSERT INTO line SELECT i, 1 + (i * 48271) % 4000, 1 + (i * 69621) % 500, 1 + (i * 31) % 9,
                        substr('acorns, larvae, a lost button, a piece of string, pine nuts, ', 1 + i % 40, i % 23) FROM n;
CREATE INDEX line_customer ON line (customer);
CREATE INDEX line_product ON line (product, pieces);
COMMIT;

SELECT 'customers', count(*) FROM customer;
SELECT 'lines', count(*), sum(pieces), sum(length(note)) FROM line;
SELECT 'best city', city, sum(pieces * cents) AS cents FROM line
    JOIN customer ON customer.id = line.customer JOIN product ON product.id = line.product
    GROUP BY city ORDER BY cents DESC, city LIMIT 3;
SELECT 'longest list', customer.name, length(group_concat(label, '/')) AS bytes FROM line
    JOIN customer ON customer.id = line.customer JOIN product ON product.id = line.product
    GROUP BY customer.id ORDER BY bytes DESC, customer.id LIMIT 3;
SELECT 'notes', count(DISTINCT note), max(note) FROM line;
DELETE FROM line WHERE id % 3 = 0;
UPDATE line SET note = note || ' (checked)' WHERE id % 5 = 0;
SELECT 'kept', count(*), sum(length(note)) FROM line;
VACUUM;
PRAGMA integrity_check;

-- The dump, restored into another database, must hold the same.
.output dump.sql
.dump
.output stdout
.open restored.db
.read dump.sql
PRAGMA integrity_check;
SELECT 'restored', count(*), sum(length(note)) FROM line;
SELECT 'cheapest', label, cents FROM product ORDER BY cents, label LIMIT 2;
