"""Runs a query of docs/bulk.md on tables in JSON Lines, for machines without DuckDB: query.py FOLDER < SQL"""
import csv
import datetime
import json
import re
import sqlite3
import sys

db = sqlite3.connect(":memory:")
for table in ("verdicts", "joined", "changes"):
    rows = [json.loads(line) for line in open(f"{sys.argv[1]}/{table}.jsonl", encoding="utf-8")]
    head = list(rows[0])
    db.execute(f"create table {table} ({', '.join(head)})")
    db.executemany(f"insert into {table} values ({', '.join('?' * len(head))})", ([row[name] for name in head] for row in rows))
# Functions of DuckDB. A time stays text.
db.create_function("epoch_us", 1, lambda t: t)
db.create_function("make_timestamp", 1, lambda t: t)
db.create_function("strftime", 2, lambda t, form: datetime.datetime.strptime(t, "%Y-%m-%dT%H:%M:%S.%fZ").strftime(form))
db.create_function("split_part", 3, lambda s, sep, i: s.split(sep)[i - 1])
answer = db.execute(re.sub(r"'(\w+)/\w+/\*\.\w+'", r"\1", sys.stdin.read()))
out = csv.writer(sys.stdout, lineterminator="\n")
out.writerow(column[0] for column in answer.description)
out.writerows(answer)
