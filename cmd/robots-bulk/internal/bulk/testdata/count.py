"""Compares the tables about files of a snapshot in JSON Lines with a plain count of the archives: count.py SNAPSHOT ARCHIVE...

It prints each kind of difference with an example, and at last how many values it compared. Tokens are compared where a
name is one word, and signals where their line is a plain list."""
import collections
import glob
import gzip
import hashlib
import json
import re
import sys

MOST = 512_000
FIELDS = "user-agent allow disallow sitemap crawl-delay request-rate visit-time clean-param host content-signal content-usage license".split()
GLOBAL = {"sitemap", "clean-param", "host"}


def records(name):
    data = gzip.open(name).read()
    at = 0
    while at < len(data):
        end = data.index(b"\r\n\r\n", at)
        head = {k.lower(): v.strip() for k, _, v in (line.partition(b":") for line in data[at:end].split(b"\r\n")[1:])}
        size = int(head[b"content-length"])
        yield head, data[end + 4:end + 4 + size]
        at = end + 4 + size + 4


def text(b):
    return "".join(b.decode("utf-8", "surrogateescape")).translate({c: 0xFFFD for c in range(0xDC80, 0xDD00)})


def split(body):
    """Lines with their ends."""
    return re.findall(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z", body)


def other_format(body, lines):
    if body[:2] in (b"\xfe\xff", b"\xff\xfe") or len(body) > 3 and (body[0] | body[2] == 0 or body[1] | body[3] == 0):
        return "UTF-16"
    if body[:2] == b"\x1f\x8b" or body[:5] == b"\x1f\xef\xbf\xbd\x08":
        return "gzip"
    if any(field(line)[0] == "user-agent" for line in lines):
        return None
    body = body.removeprefix(b"\xef\xbb\xbf").removeprefix(b"\xc3\xaf\xc2\xbb\xc2\xbf").lstrip(b" \t\r\n\v\f")
    if body[:1] == b"<":
        return "HTML or XML"
    if body[:1] == b"{" or body[:1] == b"[" and not body.startswith(b"[User-agent"):
        return "JSON"
    return None


def field(line):
    before = line.rstrip(b"\r\n").split(b"#")[0]
    name, colon, value = before.partition(b":")
    name = name.strip(b" \t")
    if not colon or not name:
        return None, b"", b""
    known = name.decode("latin-1").lower()
    return (known if known in FIELDS else ""), name, value.strip(b" \t")


def token(value):
    """The product token, as far as this script is sure; None if it is not."""
    if value == b"*":
        return "*"
    return value.decode().lower() if re.fullmatch(rb"[A-Za-z_-]+", value) else None


TAGS = b"<!DOCTYPE HTML,<HTML,<HEAD,<SCRIPT,<IFRAME,<H1,<DIV,<FONT,<TABLE,<A,<STYLE,<TITLE,<B,<BODY,<BR,<P,<!--".split(b",")


def kind(body):
    """What the first bytes are, as in the MIME Sniffing Standard, as far as texts and pages go."""
    head = body[:512]
    if not head:
        return "empty"
    start = head.lstrip(b"\t\n\f\r ")
    if any(start[:len(tag)].upper() == tag and start[len(tag):len(tag) + 1] in (b" ", b">") for tag in TAGS):
        return "html"
    marks = (b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe", b"%!PS-Adobe-")
    if head.startswith(marks) or not re.search(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]|\A(?:%PDF-|\x1f\x8b\x08)", head):
        return "binary" if head.startswith(b"%PDF-") else "text"
    return "binary"


def google_name(line):
    """The value of a line that Google's parser reads as User-agent, else None."""
    text = line.rstrip(b"\r\n").split(b"#")[0].strip(b" \t\v\f")
    name, colon, value = text.partition(b":")
    if not colon:
        words = text.split()
        if len(words) != 2:
            return None
        name, value = words
    return value.strip(b" \t\v\f") if name.strip(b" \t\v\f").lower().startswith((b"user-agent", b"useragent", b"user agent")) else None


def google_token(value):
    """The token that Google's parser reads, None for none."""
    if re.match(rb"\*(\s|\Z)", value):
        return "*"
    return re.match(rb"[a-zA-Z_-]*", value)[0].decode().lower() or None


def complete(body, truncated):
    """The lines of a body that are complete and in the first 512,000 bytes."""
    shown = body[:MOST]
    if len(body) > MOST or truncated:
        end = max(shown.rfind(b"\n"), shown.rfind(b"\r")) + 1
        shown = body[:end + (body[end - 1:end + 1] == b"\r\n")]
    return shown


def count(body, size, truncated):
    rest = complete(body, truncated).removeprefix(b"\xef\xbb\xbf")
    lines = split(rest)
    ends = {re.search(rb"[\r\n]*\Z", line).group() for line in lines} - {b""}
    row = {"bytes": size, "truncated": truncated, "bom": body.startswith(b"\xef\xbb\xbf"), "lines": len(lines), "longest_line": max((len(line.rstrip(b"\r\n")) for line in lines), default=0)}
    row["line_ends"] = None if not ends else "mixed" if len(ends) > 1 else {b"\n": "lf", b"\r\n": "crlf", b"\r": "cr"}[ends.pop()]
    row["other_format"] = other_format(body, lines)
    row.update(rules_rows=[], tokens={}, agents_rows={}, sitemaps_rows=[], signals_rows=[])
    if row["other_format"]:
        return row
    row.update(comments=0, groups=0, user_agents=0, rules=0, sitemaps=0, unknown_fields=0, blank_lines=0, other_lines=0)
    row["read_lines"] = collections.Counter(text(value) for line in lines if (value := google_name(line) or (field(line)[2] if field(line)[0] == "user-agent" else b"")))
    run = False
    names = []
    for number, line in enumerate(lines, 1):
        row["comments"] += b"#" in line
        known, name, value = field(line)
        if known is None:
            row["blank_lines"] += not line.strip(b" \t\r\n")
            row["other_lines"] += line.split(b"#")[0].strip(b" \t\r\n") != b""
            continue
        row["unknown_fields"] += known == ""
        row["user_agents"] += known == "user-agent"
        row["rules"] += known in ("allow", "disallow")
        row["sitemaps"] += known == "sitemap" and value != b""
        if known == "user-agent":
            row["groups"] += not run
            names = names if run else []
            names.append(token(value) if value else "")
            run = True
            if value:
                row["agents_rows"].setdefault(text(value), [number, token(value)])
        elif known in ("allow", "disallow"):
            run = False
        group = row["groups"] if known and known not in GLOBAL and row["groups"] else None
        if group and known in ("allow", "disallow") and None not in names:
            row["tokens"][number] = " ".join(dict.fromkeys(filter(None, names))) or None
        if known == "content-signal" and re.fullmatch(rb"(/\S*\s+)?[\w-]+\s*=\s*\w+(\s*,\s*[\w-]+\s*=\s*\w+)*", value):
            path = text(value.split()[0]) if value.startswith(b"/") else None
            for name, given in re.findall(rb"([\w-]+)\s*=\s*(\w+)", value if path is None else value.split(maxsplit=1)[1]):
                row["signals_rows"].append([number, known, text(name).lower(), text(given).lower(), path, "group" if group else "file"])
        if known == "license" and b"://" in value:
            row["signals_rows"].append([number, known, None, text(value), None, "group" if group else "file"])
        row["rules_rows"].append([number, known or text(name), known != "", group, text(value) or None])
        if known == "sitemap" and value:
            row["sitemaps_rows"].append([number, text(value)])
    return row


def identify(head, body):
    """The hash of the body of a record, the kept bytes, and whether it is truncated."""
    truncated = b"warc-truncated" in head
    if truncated and len(body) <= MOST:
        body = body[:max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    return hashlib.sha256(body).hexdigest(), body, truncated or len(body) > MOST + 1024


def bodies(archives):
    """Yields the hash of each body of a successful response, the kept bytes, the size, and whether it is truncated."""
    seen = {}
    for archive in archives:
        for head, body in records(archive):
            if head[b"warc-type"] == b"response":
                top, _, body = body.partition(b"\r\n\r\n")
                if not top.startswith(b"HTTP/1.1 200"):
                    continue
            key, body, truncated = identify(head, body)
            if key not in seen or seen[key][1] and not truncated:
                seen[key] = body, truncated
    return seen


def table(name):
    rows = collections.defaultdict(list)
    for part in glob.glob(f"{sys.argv[1]}/{name}/*.jsonl"):
        for line in open(part, encoding="utf-8"):
            row = json.loads(line)
            rows[row["sha256"]].append(row)
    return rows


compared = 0
different = collections.Counter()


def same(what, key, got, want):
    global compared
    compared += 1
    if got != want:
        different[what] += 1
        if different[what] == 1:
            print(f"{what} of {key}: the table has {str(got)[:500]}, the count {str(want)[:500]}")


def count_captures(archives):
    """Compares what captures has of the header of each response that is no redirect."""
    rows = {}
    for part in glob.glob(f"{sys.argv[1]}/captures/*.jsonl"):
        for line in open(part, encoding="utf-8"):
            row = json.loads(line)
            rows[row["input"].rsplit("/")[-1], row["url"]] = row
    for archive in archives:
        for head, block in records(archive):
            url = head[b"warc-target-uri"].decode()
            row = rows.pop((archive.rsplit("/")[-1], url))
            host = url.split("/")[2]
            same("site", url, row["site"], None if host[0].isdigit() else host.split(".", 1)[1])
            top = block.partition(b"\r\n\r\n")[0].split(b"\r\n")
            if head[b"warc-type"] == b"response" and b" 301 " not in top[0]:
                types = [value.strip().decode() for name, _, value in (line.partition(b":") for line in top[1:]) if name.lower() == b"content-type"]
                same("content_type", url, row["content_type"], types[0] if types else None)
                same("identified_type", url, row["identified_type"], text(head[b"warc-identified-payload-type"]) if b"warc-identified-payload-type" in head else None)
    same("captures", "captures", list(rows), [])


def main():
    files, rules, agents, sitemaps, signals = (table(name) for name in ("files", "rules", "agents", "sitemaps", "signals"))
    seen = bodies(sys.argv[2:])
    same("bodies", "files", sorted(files), sorted(seen))
    for key, (body, truncated) in seen.items():
        row = count(body, len(body), truncated)
        if len(files[key]) != 1:
            same("rows of files", key, len(files[key]), 1)
            continue
        for column in "bytes truncated bom lines longest_line line_ends other_format comments groups user_agents rules sitemaps unknown_fields blank_lines other_lines".split():
            same(column, key, files[key][0][column], row.get(column))
        same("kind", key, files[key][0]["kind"], kind(body))
        columns = lambda rows, *names: [[r[name] for name in names] for r in rows]
        same("rules", key, columns(rules[key], "line", "field", "known", "group_number", "value"), row["rules_rows"])
        same("sitemaps", key, columns(sitemaps[key], "line", "url"), row["sitemaps_rows"])
        for r in sitemaps[key]:
            known = re.match(r"(https?://[a-z0-9-]+(?:\.[a-z][a-z0-9-]*)+)/", r["url"])
            if known or "/" not in r["url"][:8]:
                same("origin of a sitemap", key, r["origin"], known[1] if known else None)
        listed = {number for number, *_ in row["signals_rows"]}
        same("signals", key, columns([r for r in signals[key] if r["line"] in listed], "line", "field", "name", "value", "path", "scope"), row["signals_rows"])
        for r in rules[key]:
            if r["line"] in row["tokens"]:
                same("tokens", key, r["group_tokens"], row["tokens"][r["line"]])
        by_name = {r["name"]: r for r in agents[key]}
        same("names", key, sorted(name for name, r in by_name.items() if r["rfc9309"] and name not in row["agents_rows"]), [])
        for name, (line, word) in row["agents_rows"].items():
            same("line of a name", key, name in by_name and by_name[name]["line"] <= line, True)
            if word and name in by_name:
                same("token", key, by_name[name]["rfc9309"], word)
        for name, r in by_name.items():
            same("lines of a name", key, r["lines"], row["read_lines"][name])
            same("token of google", key, r["google"], google_token(name.encode()))
    count_captures(sys.argv[2:])
    for what, n in different.items():
        print(f"{what}: {n} differences")
    print(f"{len(seen)} bodies, {compared} values")


if __name__ == "__main__":
    main()
