"""Writes crawls of four months, of sites with real files: months.py CORPUS OUTPUT [FILES]

The same folder gives the same archives: every choice is of a seeded generator."""
import gzip
import os
import random
import sys

CORPUS, OUTPUT = sys.argv[1], sys.argv[2]
MOST = int(sys.argv[3]) if len(sys.argv) > 3 else None
SUFFIXES = ("com", "co.uk", "de", "github.io", "example")
TYPES = ("text/plain", "text/plain; charset=utf-8", "text/html", "TEXT/PLAIN", "")

rng = random.Random(52)
files = sorted(os.path.join(folder, name) for folder, _, names in os.walk(CORPUS) for name in names)
rng.shuffle(files)
bodies = [open(name, "rb").read() for name in files[:MOST]]


def record(kind, url, at, block, fields=()):
    head = [b"WARC/1.1", b"WARC-Type: " + kind, b"WARC-Target-URI: " + url.encode(), b"WARC-Date: " + at.encode(), *fields]
    head.append(b"Content-Length: %d" % len(block))
    return b"\r\n".join(head) + b"\r\n\r\n" + block + b"\r\n\r\n"


def http(status, body=b"", *fields):
    return b"HTTP/1.1 %d X\r\n" % status + b"".join(f + b"\r\n" for f in fields) + b"\r\n" + body


hosts = [f"www{i % 3 or ''}.s{i}.{SUFFIXES[i % len(SUFFIXES)]}" for i in range(len(bodies))]
hosts[0] = "192.0.2.1"
os.makedirs(OUTPUT, exist_ok=True)
for month in range(6, 10):
    with open(f"{OUTPUT}/2026-{month:02d}.warc.gz", "wb") as out:
        for i, host in enumerate(hosts):
            fate = rng.random()
            url = f"https://{host}/robots.txt"
            at = f"2026-{month:02d}-{rng.randrange(1, 28):02d}T00:00:{i % 60:02d}Z"
            kind, fields = b"response", []
            if fate < 0.80:
                body = bodies[i if rng.random() < 0.85 else rng.randrange(len(bodies))]
                media = rng.choice(TYPES)
                block = http(200, body, *([b"Content-Type: " + media.encode()] if media else []))
                if rng.random() < 0.5:
                    fields.append(b"WARC-Identified-Payload-Type: text/plain")
            elif fate < 0.82 and bodies[i]:
                cut = rng.randrange(len(bodies[i]))
                block = http(200, bodies[i][:cut])
                fields.append(b"WARC-Truncated: length")
            elif fate < 0.88:
                block = http(404, b"gone", b"Content-Type: text/html")
            elif fate < 0.90:
                block = http(503)
            elif fate < 0.94:
                block = http(301, b"", f"Location: https://{rng.choice(hosts)}/robots.txt".encode())
            elif fate < 0.95:
                kind, block = b"resource", bodies[i]
                fields.append(b"Content-Type: text/x-robots")
            else:
                continue
            out.write(gzip.compress(record(kind, url, at, block, fields), 1, mtime=0))
