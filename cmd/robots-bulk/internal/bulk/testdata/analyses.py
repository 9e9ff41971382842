"""Computes five published analyses of robots.txt files from archives: analyses.py ANSWERS ARCHIVE...

Each analysis reads the bytes as its published program does; the code is our own. ANSWERS has the answers of
the queries in docs/analyses.md, as NAME.csv. For each analysis the script also reads the bytes after one class of
lines after the other was changed into what crawlers read, and counts the captures whose figures that changes.
After the last class each figure must be that of the query; else the script prints the differences."""
import collections
import dataclasses
import functools
import os
import re
import sys

import count

BOTS = "GPTBot ChatGPT-User Google-Extended CCBot Amazonbot anthropic-ai Claude-Web ClaudeBot cohere-ai FacebookBot ia_archiver Googlebot".split()
FIGURE_3 = "GPTBot CCBot Google-Extended ChatGPT-User anthropic-ai ClaudeBot Claude-Web PerplexityBot Bytespider omgili".split()


@dataclasses.dataclass(frozen=True)
class Page:
    """A response with status 200, and what the classes of changes made of it."""
    body: bytes
    content_type: str  # None if there is none
    identified: str
    truncated: bool
    kept: bytes  # the body in the table
    incomplete: bool = False  # the archive has only the beginning
    size: int = None  # in bytes; None counts characters
    groups: bytes = None  # the body that groups are read from, if it is another one
    exact: bool = False  # paths are tested as proofs do


def decode(body):
    return body.decode("utf-8", "replace")


# Consent in Crisis: parse_robots.py, and agent_to_status in robots_util.py.
WANTED = {bot.lower() for bot in BOTS} | {"*"}


def consent(page):
    spelled, rules, names = {}, {}, []
    for line in decode(page.body).splitlines():
        name, colon, value = line.split("#", 1)[0].strip().partition(":")
        name, value = name.lower(), value.strip()
        if name == "user-agent" and colon and value.lower() in WANTED:
            rules.setdefault(spelled.setdefault(value.lower(), value), ([], []))
            names.append(value.lower())
        elif name in ("allow", "disallow") and colon:
            for named in names:  # of the whole file so far
                rules[spelled[named]][name == "disallow"].append(value)
    figures = collections.Counter()
    for bot in ["*"] + BOTS:
        figures[bot + " observed"] = bot in rules
        figures[f"{bot} {judge(*rules.get(bot, rules.get('*', ([], []))))}"] = 1
    return figures


def judge(allow, disallow):
    allow, disallow = ([path for path in paths if "?" not in path] for paths in (allow, disallow))
    if not disallow or disallow == [""] or allow == disallow:
        return "none"
    return "all" if "/" in disallow and not allow else "some"


# Common Crawl: robotstxt_statistics.py.
PLAIN = "text/x-robots text/plain message/rfc822 text/text text/txt text plain/text text/pain text/plan".split()
KNOWN = re.compile(rb"^\s*(user-agent|disallow|allow|crawl-delay|sitemap|clean-param|host|noindex)\s*:\s*([^\r#]*)", re.I)
UNKNOWN = re.compile(rb"^\s*([a-z_]+(?:-[a-z_]+)*)\s*:", re.I)
HTML = re.compile(rb"^(?:<html|<!DOCTYPE html)\b", re.I)


def statistics(page):
    figures = collections.Counter()
    if (page.identified or (page.content_type or "").split(";")[0].strip().lower()) not in PLAIN:
        return figures
    lines = page.body.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    if lines and lines[0].startswith(b"\xef\xbb\xbf"):
        figures["(bom stripped)"] = 1
        lines[0] = lines[0][3:]
        if not lines[0] and len(lines) == 1:
            return figures
    if lines and HTML.match(lines[0]):
        return figures
    for line in lines:
        if re.match(rb"\s*#", line):
            figures["(comment line)"] += 1
        elif not line.strip():
            figures["(empty line)"] += 1
        elif match := KNOWN.match(line):
            name = decode(match[1].lower())
            figures[name] += 1
            if name == "user-agent":
                figures["user-agent " + " ".join(decode(match[2]).split())] += 1
        elif match := UNKNOWN.match(line):
            figures["(unknown directive) " + decode(match[1].lower())] += 1
        else:
            figures["(unknown line)"] += 1
    return figures


# HTTP Archive: robots_txt.js, and robots-txt-size-2025.sql and robots-txt-user-agent-usage-2025.sql of the Web Almanac.
ENDS = "\n\r\u2028\u2029"
SPACE = "\t\v\f \xa0\u1680\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B))) + ENDS  # those of JavaScript
COMMENT = re.compile(f"(\\A#[^{ENDS}]*)|[{SPACE}]+(#[^{ENDS}]*)?")
RECORD = re.compile(f"([a-z0-9_-]+)[{SPACE}]*:[{SPACE}]*([^{ENDS}]*)\\Z")


def records(text):
    text = COMMENT.sub(lambda match: "" if match[1] or match[2] else match[0], text)
    for line in re.split(r"[\r\n]+", text.strip(SPACE).lower()):
        if match := RECORD.match(line):
            yield match[1], match[2].strip(SPACE)
        elif line:
            yield "other", line


def almanac(page):
    text = decode(page.body.removeprefix(b"\xef\xbb\xbf"))
    size = page.size if page.size is not None else len(text.encode("utf-16-le", "surrogatepass")) // 2
    bins = ["0", "100", "200", "300", "400", "500", ">500"]
    figures = collections.Counter({"size " + bins[min(-(-size // 102_400), 6)]: 1, "comments": sum(map(any, COMMENT.findall(text)))})
    for name, _ in records(text):
        figures["type " + name.replace("-", "_")] += 1
    names, last, seen = [], None, set()
    for name, value in records(text if page.groups is None else decode(page.groups.removeprefix(b"\xef\xbb\xbf"))):
        if name == "user-agent":
            names = names + [value] if last == name else [value]
            seen.add(value)
        elif name in ("allow", "disallow", "crawl-delay"):
            for named in names:
                figures[f"{name} of {named}"] += 1
        last = name
    figures.update("agent " + name for name in seen)
    return figures


# Dinzinger and Granitzer: RobotsParser.java.
SPELLINGS = {name: kind for kind, names in {
    "user-agent": "user-agent,useragent,useg-agent,ser-agent,users-agent,user agent,user-agnet,user-agents",
    "disallow": "disallow,desallow,dissallow,dissalow,disalow,dssalow,dsallow,diasllow,disallaw,diallow,disallows,disllow",
    "allow": "allow", "crawl-delay": "crawl-delay,crawl delay,clawl-delay,craw-delay,crawl-deley", "sitemap": "sitemap,sitemaps",
}.items() for name in names.split(",")}
TOKEN = re.compile("(" + "|".join(sorted(SPELLINGS, key=len, reverse=True)) + r")(?:[ \t]*:[ \t]*|[ \t]+)(.*)", re.I | re.S)


def longitudinal(page):
    figures = collections.Counter({"files": 1, "bytes": len(page.body) if page.size is None else page.size})
    if not page.body or (page.content_type or "").lower().startswith("text/html"):
        return figures
    text = decode(page.body.removeprefix(b"\xef\xbb\xbf"))
    if page.body[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = page.body[2:].decode("utf-16-le" if page.body[0] == 0xFF else "utf-16-be", "replace")
    lines = list(filter(None, re.split("[\n\r\x85\u2028\u2029]", text)))
    names, run, agents, star, delays = [], False, set(), [], []
    for line in lines:
        match = TOKEN.match(line.split("#")[0].strip("".join(map(chr, range(33)))))
        if not match:
            continue
        name, value = SPELLINGS[match[1].lower()], match[2].strip("".join(map(chr, range(33))))
        if name == "user-agent":
            names = names + [value.lower()] if run else [value.lower()]
            agents.add(value.lower())
            run = True
        elif name in ("allow", "disallow"):
            run = False
            if value or name == "disallow":
                figures[name if value else "empty disallow"] += 1
                star += [(name, value)] * names.count("*")
        elif name == "sitemap":
            figures["sitemap"] += 1
        elif re.fullmatch(r"[+-]?\d+", value):
            delays.append(int(value))
    blocked = len(star) == 1 and star[0][0] == "disallow" and star[0][1] and covers(star[0][1].encode(), b"/42")
    figures.update(lines=len(lines), agents=len(agents), disallow_all=bool(blocked))
    figures.update("agent " + name for name in agents)
    if delays and max(delays) >= 0:
        figures[f"delay {max(delays)}"] = 1
    return figures


# Liu et al.: robots_analysis_final.py, with Google's parser.
@functools.lru_cache(1 << 16)
def pattern(value):
    """What a path must begin with, and an expression that it must match, or None."""
    end = value.endswith(b"$")
    if b"*" not in value and not end:
        return value, None
    parts = re.split(rb"\*+", value[:-1] if end else value)
    return b"", re.compile(b".*?".join(map(re.escape, parts)) + (b"\\Z" if end else b""), re.S)


def covers(value, path):
    begin, expression = pattern(value)
    return path.startswith(begin) if expression is None else expression.match(path) is not None


def escaped(value):
    value = re.sub(rb"%[0-9a-fA-F]{2}", lambda m: m[0].upper(), value)
    return re.sub(rb"[\x80-\xff]", lambda m: b"%%%02X" % m[0][0], value)


def google(body):
    """The lines that Google's parser reads: kind and value."""
    body = re.sub(rb"\A\xef(?:\xbb\xbf?)?", b"", body)
    for line in re.split(rb"\r\n|\r|\n", body):
        line = line[:2083 * 8 - 1].split(b"#")[0].strip(b" \t\v\f\0")
        name, colon, value = line.partition(b":")
        if not colon:
            words = line.split()
            if len(words) != 2:
                continue
            name, value = words
        name, value = name.strip().lower(), value.strip()
        for kind, names in GOOGLE_NAMES:
            if name.startswith(names):
                yield kind, value if kind == "user-agent" else escaped(value)
                break


GOOGLE_NAMES = [("user-agent", (b"user-agent", b"useragent", b"user agent")), ("allow", (b"allow",)),
                ("disallow", (b"disallow", b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw"))]


def rules_for(lines, bot):
    """The rules of the group that applies to a crawler, and whether one names it."""
    specific, everyone, named = [], [], False
    is_specific = is_global = separator = False
    for kind, value in lines:
        if kind == "user-agent":
            if separator:
                is_specific = is_global = separator = False
            if re.match(rb"\*(\s|\Z)", value):
                is_global = True
            elif re.match(rb"[a-zA-Z_-]*", value)[0].lower() == bot:
                is_specific = named = True
        elif is_specific or is_global:
            separator = True
            if is_specific:
                specific.append((kind, value))
            if is_global:
                everyone.append((kind, value))
    return tuple(specific if named else everyone), named


def ordered(rules):
    """The rules in order of precedence, each with what a path must begin with, and match."""
    pairs = [(value, kind) for kind, value in rules if value]
    for kind, value in rules:
        slash = value.rfind(b"/")
        if kind == "allow" and slash >= 0 and value[slash:].startswith(b"/index.htm"):
            pairs.append((value[:slash + 1] + b"$", kind))
    pairs.sort(key=lambda pair: (-len(pair[0]), pair[1]))
    return [(*pattern(value), kind == "allow") for value, kind in pairs]


def allows(rules, path):
    for begin, expression, allow in rules:
        if path.startswith(begin) and (expression is None or expression.match(path)):
            return allow
    return True


def tested_paths(body):
    paths = {b"/"}
    for line in body.split(b"\n"):
        lower = line.lower()
        if b"allow: " in lower:
            words = line.split()
            if len(words) > 1:
                paths.add(words[1])
        elif b"allow:" in lower:
            paths.add(line.split(b":")[1])
    return paths


def request_path(path):
    """What Google's parser compares of https://HOST + path."""
    match = re.search(rb"[/?;]", path)
    mark = path.find(b"#")
    if not match or 0 <= mark < match.start():
        return b"/"
    return (b"" if match[0] == b"/" else b"/") + path[match.start():mark if mark >= 0 else None]


def exact_paths(rules):
    """Paths that each pattern covers, one of which shows whether rules allow all or nothing."""
    for _, value in rules:
        for text in (b"", b"x", b"/x"):
            path = value.removesuffix(b"$").replace(b"*", text)
            yield path if path.startswith(b"/") else b"/" + path
            yield (path if path.startswith(b"/") else b"/" + path) + b"x"


@functools.lru_cache(2)
def read_google(body):
    """The rules of each crawler with whether one names it, and the paths that the program tests."""
    lines = list(google(body))
    paths = [request_path(path.removesuffix(b"$")) for path in tested_paths(body)] + [b"/dummy-testing-path-54321"]
    return [(bot, *rules_for(lines, bot.lower().encode())) for bot in FIGURE_3], paths


def somesite(page):
    if page.body is None:
        return collections.Counter()
    bots, paths = read_google(page.body)
    figures, answers = collections.Counter(), {}
    for bot, rules, named in bots:
        if rules not in answers:
            decisions = ordered(rules)
            root = allows(decisions, b"/")
            same = all(allows(decisions, path) == root for path in paths)
            if same and page.exact:
                same = all(allows(decisions, path) == root for path in exact_paths(rules))
            answers[rules] = "partially" if not same else "no restrictions" if root else "fully"
        figures[f"{bot} {answers[rules]} {'named' if named else 'by *'}"] = 1
    return figures


# The classes of changes, each a class of lines that the program reads otherwise than crawlers.
def change(body=lambda body: body, **values):
    def changed(page):
        return dataclasses.replace(page, body=body(page.body), groups=page.groups and body(page.groups), **values)
    return changed


def replace(expression, by):
    """A change of the lines of a body whose lines end in LF."""
    expression = re.compile(expression, re.M)
    return change(lambda body: expression.sub(by, body))


def pages(page):
    lines = count.split(count.complete(page.kept, page.truncated).removeprefix(b"\xef\xbb\xbf"))
    if count.other_format(page.kept, lines):
        return dataclasses.replace(page, body=b"")
    return change(lambda body: re.sub(rb"\A(\xef\xbb\xbf)?<", rb"\1?", body))(page)  # a page with a line User-agent


def limit(page):
    return change(lambda _: count.complete(page.kept, page.truncated))(page)


def line_ends(body):
    return re.sub(rb"[\v\f\x1c\x1d\x1e]|\xc2\x85|\xe2\x80[\xa8\xa9]", b"?", body.replace(b"\r\n", b"\n").replace(b"\r", b"\n"))


def utf8(body):
    return count.text(body).encode()


WITHOUT_COLON = rb"^[^:#\n]*[^:#\s][^:#\n]*(?:#.*\n?|\n|\Z)"
CLASSES = {
    "page or another format": pages,
    "beyond 512,000 bytes, or truncated": limit,
    "size in characters": lambda page: dataclasses.replace(page, size=len(page.kept)),
    "line ends": change(line_ends),
    "spaces before or after the name": replace(rb"^[ \t]*([^\s#:][^#:\n]*?)[ \t]*:[ \t]*", rb"\1: "),
    "spaces in an empty line": replace(rb"^[ \t]+$", b""),
    "comment directly after a value": replace(rb"^([^#\n]*[^#\s])#", rb"\1 #"),
    "byte order mark": change(lambda body: body.removeprefix(b"\xef\xbb\xbf")),
    "bytes that are not UTF-8": change(utf8),
    "text between lines User-agent": lambda page: dataclasses.replace(page, groups=re.sub(WITHOUT_COLON, b"", page.body, flags=re.M)),
    "no colon after the name": replace(rb"(?i)^[ \t]*(?:" + TOKEN.pattern[1:].split(")")[0].encode() + rb")[ \t]+(?![ \t]*:).*", b"#"),
    "truncated": lambda page: dataclasses.replace(page, body=None) if page.incomplete else page,
    "paths tested": lambda page: dataclasses.replace(page, exact=True),
}
ENDING = ["beyond 512,000 bytes, or truncated", "page or another format", "line ends"]
ANALYSES = {
    "consent": (consent, [*ENDING, "spaces before or after the name", "byte order mark"]),
    "statistics": (statistics, [*ENDING, "spaces before or after the name", "bytes that are not UTF-8"]),
    "almanac": (almanac, ["size in characters", *ENDING, "spaces before or after the name", "spaces in an empty line",
                          "comment directly after a value", "bytes that are not UTF-8", "text between lines User-agent"]),
    "longitudinal": (longitudinal, ["size in characters", *ENDING, "spaces in an empty line", "bytes that are not UTF-8",
                                    "no colon after the name"]),
    "somesite": (somesite, ["truncated", "paths tested"]),
}


def responses(archives):
    """The responses with status 200, equal ones counted."""
    seen = count.bodies(archives)
    pages = collections.Counter()
    for archive in archives:
        for head, block in count.records(archive):
            top, _, body = block.partition(b"\r\n\r\n")
            if head[b"warc-type"] != b"response" or not top.startswith(b"HTTP/1.1 200"):
                continue
            types = re.findall(rb"(?im)^content-type: *([^\r\n]*?) *\r?$", top)
            key, _, incomplete = count.identify(head, body)
            kept, truncated = seen[key]
            identified = head.get(b"warc-identified-payload-type", b"").decode()
            pages[Page(body, types[0].decode() if types else None, identified, truncated, kept, incomplete)] += 1
    return pages


def run(name, pages):
    """Prints how the answer of a query relates to the published definition. It returns how many figures are not explained."""
    analysis, classes = ANALYSES[name]
    published, final, changed, memory = collections.Counter(), collections.Counter(), collections.Counter(), {}
    for page, n in pages.items():
        if analysis not in (statistics, longitudinal):
            page = dataclasses.replace(page, content_type=None, identified="")
        if page not in memory:
            steps, figures, differ = [page], [+analysis(page)], []
            for step in classes:
                steps.append(CLASSES[step](steps[-1]))
                figures.append(figures[-1] if steps[-1] == steps[-2] else +analysis(steps[-1]))
                if figures[-1] != figures[-2]:
                    differ.append(step)
            memory[page] = figures[0], figures[-1], differ
        before, after, differ = memory[page]
        for total, figures in (published, before), (final, after):
            for figure, value in figures.items():
                total[figure] += value * n
        changed.update({step: n for step in differ})
    lines = open(f"{sys.argv[1]}/{name}.csv", encoding="utf-8").read().rstrip("\n").split("\n")[1:]
    answer = collections.Counter({figure: int(value) for value, _, figure in (line.partition(",") for line in lines)})
    names = sorted(answer.keys() | published.keys() | final.keys())
    wrong = [figure for figure in names if answer[figure] != final[figure]]
    for figure in wrong[:20]:
        print(f"{name}: {figure}: the query has {answer[figure]}, the script {final[figure]}", file=sys.stderr)
    other = [figure for figure in names if published[figure] != answer[figure]]
    other.sort(key=lambda figure: -abs(published[figure] - answer[figure]))
    print(f"== {name}\n{pages.total():,} responses, {len(names):,} figures, {len(names) - len(other):,} as published; of the others")
    for figure in other[:4]:
        print(f"  {figure}: {published[figure]:,} published, {answer[figure]:,} in the tables")
    print("responses whose figures each class changes:")
    for step in classes:
        print(f"  {changed[step]:6,} {step}")
    return len(wrong)


if __name__ == "__main__":
    names = [name for name in ANALYSES if os.path.exists(f"{sys.argv[1]}/{name}.csv")]
    pages = responses(sys.argv[2:])
    sys.exit(sum([run(name, pages) for name in names]) > 0)
