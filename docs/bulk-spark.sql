-- The tables of robots-bulk for Spark SQL; generated from cmd/robots-bulk/internal/bulk: make docs
CREATE TABLE captures (
  surt STRING NOT NULL COMMENT 'the site''s key in archive indexes, such as com,example for https://www.example.com; several origins share one',
  origin STRING NOT NULL COMMENT 'scheme, host, and port if it is not the default',
  url STRING NOT NULL COMMENT 'requested',
  fetched TIMESTAMP NOT NULL COMMENT 'time of the request',
  outcome STRING NOT NULL COMMENT 'success, unavailable (no robots.txt: everything is allowed), unreachable, or, if the archive lacks the target, redirect-unresolved or revisit-unresolved',
  cause STRING NOT NULL COMMENT 'why the outcome is so, such as ok, status, not-archived',
  status INT COMMENT 'that of the last response, null if only its body was archived',
  location STRING COMMENT 'the absolute target of the request''s redirect, null without one',
  hops INT NOT NULL COMMENT 'followed redirects',
  resolved_from STRING COMMENT 'the last URL of the redirect chain, null without a redirect',
  sha256 STRING COMMENT 'that of the whole body in hexadecimal, the key of bodies and of the tables about files; null without a body. Of a body that the archive truncated, or a compressed one, it is that of the kept bytes',
  bytes BIGINT NOT NULL COMMENT 'size of the whole body, 0 without one',
  truncated BOOLEAN NOT NULL COMMENT 'bodies has only the beginning of the body',
  kind STRING COMMENT 'that of the body by its first bytes: text, html, empty, binary; null without a body',
  input STRING NOT NULL COMMENT 'file of the archive',
  warc_offset BIGINT NOT NULL COMMENT 'position of the record in it',
  site STRING COMMENT 'the registered domain by the Public Suffix List with its private suffixes, null for an IP address and for a public suffix',
  content_type STRING COMMENT 'the Content-Type of the last response as sent, null if it has none',
  identified_type STRING COMMENT 'the media type that the crawler identified (WARC-Identified-Payload-Type), null if the record has none'
) USING PARQUET LOCATION 'snap/captures';
CREATE TABLE bodies_parts (
  sha256 STRING NOT NULL COMMENT 'as in captures',
  body BINARY NOT NULL COMMENT 'the first 513,024 bytes at most'
) USING PARQUET LOCATION 'snap/bodies';
CREATE VIEW bodies AS SELECT DISTINCT * FROM bodies_parts;
CREATE TABLE files_parts (
  sha256 STRING NOT NULL COMMENT 'of the body, as in captures and bodies',
  bytes BIGINT NOT NULL COMMENT 'size of the body',
  truncated BOOLEAN NOT NULL COMMENT 'bodies has only its beginning',
  kind STRING NOT NULL COMMENT 'text, html, empty, binary: as in captures',
  other_format STRING COMMENT 'UTF-16, gzip, HTML or XML, or JSON; null for a robots.txt. A page with a user-agent line is a robots.txt: crawlers read its rules',
  bom BOOLEAN NOT NULL COMMENT 'it begins with the byte order mark of UTF-8',
  line_ends STRING COMMENT 'lf, crlf, cr or mixed; null without a line end',
  lines INT NOT NULL COMMENT 'physical lines',
  longest_line INT NOT NULL COMMENT 'bytes, without the line end',
  comments INT COMMENT 'lines with a comment, null in another format',
  groups INT COMMENT 'runs of lines User-agent with their rules, null in another format',
  user_agents INT COMMENT 'lines User-agent, null in another format',
  rules INT COMMENT 'lines Allow and Disallow, null in another format',
  sitemaps INT COMMENT 'lines Sitemap with a value, null in another format',
  unknown_fields INT COMMENT 'lines with an unknown field, null in another format',
  lint STRING COMMENT 'complete or undecided (the proofs took too many steps: there might be more findings), null without --lint',
  blank_lines INT COMMENT 'lines of spaces and tabs only, null in another format',
  other_lines INT COMMENT 'text before any comment, but no field, so crawlers ignore them; null in another format'
) USING PARQUET LOCATION 'snap/files';
CREATE VIEW files AS SELECT DISTINCT * FROM files_parts;
CREATE TABLE rules_parts (
  sha256 STRING NOT NULL COMMENT 'of the file',
  line INT NOT NULL COMMENT 'from 1',
  field STRING NOT NULL COMMENT 'a known name in lower case, an unknown one as written',
  known BOOLEAN NOT NULL COMMENT 'the field is known',
  group_number INT COMMENT 'the number of the group in the file, from 1; null outside of groups, and for fields that apply to the whole file, such as Sitemap',
  group_tokens STRING COMMENT 'the product tokens to which the line applies, separated by spaces: those of its group, of a line User-agent its own, of a Crawl-delay between lines User-agent those directly above it. They are null if there are none, or more than 1,000',
  value STRING COMMENT 'without comment, null if empty'
) USING PARQUET LOCATION 'snap/rules';
CREATE VIEW rules AS SELECT DISTINCT * FROM rules_parts;
CREATE TABLE agents_parts (
  sha256 STRING NOT NULL COMMENT 'of the file',
  name STRING NOT NULL COMMENT 'as written',
  rfc9309 STRING COMMENT 'first product token that rfc9309 reads, in lower case, null if none',
  google STRING COMMENT 'likewise in google, null if none',
  line INT NOT NULL COMMENT 'of the first line, from 1',
  lines INT NOT NULL COMMENT 'lines with this value that either dialect reads as User-agent',
  crawler STRING COMMENT 'the name of the crawler in the directory, null if it has none',
  operator STRING COMMENT 'of the crawler, null without one, or unknown',
  purpose STRING COMMENT 'of the crawler, null without one, or unknown',
  access STRING COMMENT 'all, part, none or undecided, as in verdicts for rfc9309; null without --access, and if rfc9309 reads no token'
) USING PARQUET LOCATION 'snap/agents';
CREATE VIEW agents AS SELECT DISTINCT * FROM agents_parts;
CREATE TABLE signals_parts (
  sha256 STRING NOT NULL COMMENT 'of the file',
  line INT NOT NULL COMMENT 'from 1',
  field STRING NOT NULL COMMENT 'content-signal, content-usage or license',
  name STRING COMMENT 'of the preference, null for a license',
  value STRING NOT NULL COMMENT 'such as yes, no, y or n; the URL of a license',
  path STRING COMMENT 'pattern of the paths to which it applies, null for all',
  scope STRING NOT NULL COMMENT 'file or group',
  known BOOLEAN NOT NULL COMMENT 'the document that defines the field has this name and value',
  group_tokens STRING COMMENT 'as in rules, null for scope file'
) USING PARQUET LOCATION 'snap/signals';
CREATE VIEW signals AS SELECT DISTINCT * FROM signals_parts;
CREATE TABLE sitemaps_parts (
  sha256 STRING NOT NULL COMMENT 'of the file',
  line INT NOT NULL COMMENT 'from 1',
  url STRING NOT NULL COMMENT 'as written',
  origin STRING COMMENT 'of the URL, null if it is not an absolute URL of http, https or ftp'
) USING PARQUET LOCATION 'snap/sitemaps';
CREATE VIEW sitemaps AS SELECT DISTINCT * FROM sitemaps_parts;
CREATE TABLE findings_parts (
  sha256 STRING NOT NULL COMMENT 'of the file',
  id STRING NOT NULL COMMENT 'of the check',
  severity STRING NOT NULL COMMENT 'error, warning or note',
  findings INT NOT NULL COMMENT 'at most 1,000'
) USING PARQUET LOCATION 'snap/findings';
CREATE VIEW findings AS SELECT DISTINCT * FROM findings_parts;
CREATE TABLE verdicts (
  surt STRING NOT NULL COMMENT 'as in captures',
  origin STRING NOT NULL COMMENT 'likewise',
  fetched TIMESTAMP NOT NULL COMMENT 'likewise',
  outcome STRING NOT NULL COMMENT 'likewise',
  agent STRING NOT NULL COMMENT 'tokens of the crawler, separated by spaces',
  dialect STRING NOT NULL COMMENT 'in which the file is read',
  path STRING NOT NULL COMMENT 'as given with --path',
  verdict STRING COMMENT 'allow, disallow or undefined (historic dialects), null without a response',
  reason STRING COMMENT 'as in docs/batch.md, such as unreachable; null if the archive lacks the response, and for a truncated file whose verdict needs the missing part',
  line INT COMMENT 'that of the rule that decided, from 1, null if none did',
  directive STRING COMMENT 'allow or disallow, of the rule that decided, null if none did',
  pattern STRING COMMENT 'the path of the rule that decided, null if none did, or if it is empty',
  group_name STRING COMMENT 'the token of the crawler''s group, null if it has none',
  access STRING NOT NULL COMMENT 'all, part or none (nothing but /robots.txt), proved over all URLs of the site; undecided (too many steps of the proof, or a truncated file) or unknown (no response)',
  crawl_delay DOUBLE COMMENT 'the delay in seconds that the crawler''s group declares, null if it declares none',
  engine STRING NOT NULL COMMENT 'version of the program and a hash of its dialects',
  input STRING NOT NULL COMMENT 'of the capture',
  warc_offset BIGINT NOT NULL COMMENT 'likewise',
  site STRING COMMENT 'of the capture, null if that is'
) USING PARQUET LOCATION 'verdicts/verdicts';
CREATE TABLE joined (
  url STRING NOT NULL COMMENT 'as in the list',
  asked_at TIMESTAMP NOT NULL COMMENT 'of the list',
  age_s BIGINT COMMENT 'seconds from the capture to asked_at, null without a capture',
  surt STRING NOT NULL COMMENT 'site key of the URL',
  origin STRING COMMENT 'of the URL, null if it has none',
  fetched TIMESTAMP COMMENT 'of the capture, null without one',
  outcome STRING COMMENT 'likewise null without a capture',
  agent STRING NOT NULL COMMENT 'tokens of the crawler, separated by spaces',
  dialect STRING NOT NULL COMMENT 'in which the file is read',
  path STRING NOT NULL COMMENT 'of the URL, with its query',
  verdict STRING COMMENT 'allow, disallow or undefined (historic dialects), null without a response',
  reason STRING COMMENT 'as in docs/batch.md, such as unreachable; null if the archive lacks the response, and for a truncated file whose verdict needs the missing part',
  line INT COMMENT 'that of the rule that decided, from 1, null if none did',
  directive STRING COMMENT 'allow or disallow, of the rule that decided, null if none did',
  pattern STRING COMMENT 'the path of the rule that decided, null if none did, or if it is empty',
  group_name STRING COMMENT 'the token of the crawler''s group, null if it has none',
  access STRING NOT NULL COMMENT 'all, part or none (nothing but /robots.txt), proved over all URLs of the site; undecided (too many steps of the proof, or a truncated file) or unknown (no response)',
  crawl_delay DOUBLE COMMENT 'as in verdicts, null if the group declares none',
  engine STRING NOT NULL COMMENT 'version of the program and a hash of its dialects',
  input STRING COMMENT 'of the capture, null without one',
  warc_offset BIGINT COMMENT 'likewise null without a capture'
) USING PARQUET LOCATION 'joined/joined';
CREATE TABLE changes (
  origin STRING NOT NULL COMMENT 'of the site',
  agent STRING NOT NULL COMMENT 'tokens of the crawler, separated by spaces',
  dialect STRING NOT NULL COMMENT 'in which the files are read',
  change STRING NOT NULL COMMENT 'same or changed, both proved over all URLs for the last responses; appeared or gone, if one snapshot lacks the site; undecided, if one has no response or the proof takes too many steps',
  witness STRING COMMENT 'a shortest path whose verdict changed, null unless changed',
  line_before INT COMMENT 'of the rule that decides the witness, null if none does',
  line_after INT COMMENT 'likewise, null if none does',
  site STRING COMMENT 'registered domain, null as in captures'
) USING PARQUET LOCATION 'changes/changes';
