-- law: Δ(n% SAMPLE S) = {s ∈ ΔS : h(name, number(s)) < n/100 · 2³²}
-- operator: Sampling
-- node: Sample(s, 100 * 2027612768 / 2**32, "s")
-- means: istream SELECT * FROM {s Sampled(100 * 2027612768 / 2**32, 's')}
-- stream s(k INTEGER):
--   0: (1) (1) (NULL) (2) (3); 1: (1) (2) (2) (4); 3: (1) (5) (NULL) (1)
--   4: (6) (2) (6) (7); 5: (1) (8) (8) (9) (1) (2) (NULL)
--   8: (7) (1) (2) (3) (4) (5) (6) (7)
-- ticks: 1, 2, 4, 5, 8
-- gives:
--   0: (1) (2) (3) (NULL)
--   1: (2)
--   3: 2(1)
--   4: 2(6) (7)
--   5: (1) (2) (8)
--   8: (7)
-- same, no number of these is beyond 2³²; that of an instant below is:
--   elements: ((_cql_seq >> 32) & 4294967295) * 739982445 -> ((_cql_seq >> 32) & 4294967295)
--   elements: _cql_seq >> 32 with 33
--   elements: (_cql_seq >> 32) & 4294967295 with 4294967296
--   elements: ((_cql_seq >> 32) & 4294967295) * 739982445 with 739982446
--   elements: (((_cql_seq >> 32) & 4294967295) * 739982445) & 4294967295 with 4294967296
----
-- elements
SELECT k, _ts, _weight
FROM (
  SELECT k, _ts, _weight,
    (XOR(XOR(_cql_hash, _cql_hash >> 15), 3178415476) * 1935289751) & 4294967295 AS _cql_hash
  FROM (
    SELECT k, _ts, _weight, (XOR(_cql_hash, _cql_hash >> 16) * 569420461) & 4294967295 AS _cql_hash
    FROM (
      SELECT k, _ts, _weight, XOR(
          XOR(_cql_seq & 4294967295, (((_cql_seq >> 32) & 4294967295) * 739982445) & 4294967295),
          2272344580
        ) AS _cql_hash FROM delta_s
    ) AS stream
  ) AS stream
) AS stream WHERE ((XOR(_cql_hash, _cql_hash >> 15) * 739982445) & 4294967295) < 2027612768;

-- law: an element of a derived stream has its instant and its place there for a number
-- operator: Sampling
-- node: Sample(s, 100 * 2338334607 / 2**32, "s")
-- means: istream SELECT * FROM {s Sampled(100 * 2338334607 / 2**32, 's')}
-- begin: 4294967293
-- stream s(k INTEGER) is_numbered=False has_unit_elements=False:
--   4294967293: 2(1) (NULL); 4294967294: (2) 2(3); 4294967295: (3) (1) (2); 4294967296: 3(NULL)
--   4294967297: (1) (2) (4); 4294967298: (2) 2(1); 4294967299: (3) (1) (2); 4294967300: (1) 2(3)
-- ticks: 4294967293, 4294967295, 4294967296, 4294967298, 4294967300
-- gives:
--   4294967293: 2(1)
--   4294967294: (2) (3)
--   4294967296: 2(NULL)
--   4294967298: 2(1) (2)
--   4294967299: (3)
--   4294967300: 2(3)
-- same, no number of these is beyond 2³²; the instants are:
--   elements: ((_cql_seq >> 32) & 4294967295) * 739982445 -> ((_cql_seq >> 32) & 4294967295)
--   elements: _cql_seq >> 32 with 33
--   elements: (_cql_seq >> 32) & 4294967295 with 4294967296
--   elements: ((_cql_seq >> 32) & 4294967295) * 739982445 with 739982446
--   elements: (((_cql_seq >> 32) & 4294967295) * 739982445) & 4294967295 with 4294967296
----
-- elements
SELECT k, _ts, _weight
FROM (
  SELECT k, _ts, _weight,
    (XOR(XOR(_cql_hash, _cql_hash >> 15), 3178415476) * 1935289751) & 4294967295 AS _cql_hash
  FROM (
    SELECT k, _ts, _weight, (XOR(_cql_hash, _cql_hash >> 16) * 569420461) & 4294967295 AS _cql_hash
    FROM (
      SELECT k, _ts, _weight, XOR(
          XOR(_cql_seq & 4294967295, (((_cql_seq >> 32) & 4294967295) * 739982445) & 4294967295),
          (XOR(_cql_hash, _cql_hash >> 15) * 739982445) & 4294967295
        ) AS _cql_hash
      FROM (
        SELECT k, _ts, _weight, _cql_seq,
          (XOR(XOR(_cql_hash, _cql_hash >> 15), 3178415476) * 1935289751) & 4294967295 AS _cql_hash
        FROM (
          SELECT k, _ts, _weight, _cql_seq,
            (XOR(_cql_hash, _cql_hash >> 16) * 569420461) & 4294967295 AS _cql_hash
          FROM (
            SELECT k, _ts, _weight, _cql_seq, XOR(
                XOR(_ts & 4294967295, (((_ts >> 32) & 4294967295) * 739982445) & 4294967295),
                2272344580
              ) AS _cql_hash
            FROM (
              SELECT k, _ts, CAST(1 AS BIGINT) AS _weight,
                ROW_NUMBER() OVER (PARTITION BY _ts ORDER BY k) AS _cql_seq
              FROM (SELECT k, _ts, UNNEST(RANGE(_weight)) AS _cql_copy FROM delta_s) AS copies
            ) AS stream
          ) AS stream
        ) AS stream
      ) AS stream
    ) AS stream
  ) AS stream
) AS stream WHERE ((XOR(_cql_hash, _cql_hash >> 15) * 739982445) & 4294967295) < 2338334607;
