-- Views of the tables of robots-bulk for DuckDB; generated from cmd/robots-bulk/internal/bulk: make docs
create or replace view captures as select 
  surt::VARCHAR as surt,
  origin::VARCHAR as origin,
  url::VARCHAR as url,
  fetched::TIMESTAMP WITH TIME ZONE as fetched,
  outcome::VARCHAR as outcome,
  cause::VARCHAR as cause,
  status::INTEGER as status,
  location::VARCHAR as location,
  hops::INTEGER as hops,
  resolved_from::VARCHAR as resolved_from,
  sha256::VARCHAR as sha256,
  bytes::BIGINT as bytes,
  truncated::BOOLEAN as truncated,
  kind::VARCHAR as kind,
  input::VARCHAR as input,
  warc_offset::BIGINT as warc_offset,
  site::VARCHAR as site,
  content_type::VARCHAR as content_type,
  identified_type::VARCHAR as identified_type
from 'snap/captures/*.parquet';
create or replace view bodies as select distinct 
  sha256::VARCHAR as sha256,
  body::BLOB as body
from 'snap/bodies/*.parquet';
create or replace view files as select distinct 
  sha256::VARCHAR as sha256,
  bytes::BIGINT as bytes,
  truncated::BOOLEAN as truncated,
  kind::VARCHAR as kind,
  other_format::VARCHAR as other_format,
  bom::BOOLEAN as bom,
  line_ends::VARCHAR as line_ends,
  lines::INTEGER as lines,
  longest_line::INTEGER as longest_line,
  comments::INTEGER as comments,
  groups::INTEGER as groups,
  user_agents::INTEGER as user_agents,
  rules::INTEGER as rules,
  sitemaps::INTEGER as sitemaps,
  unknown_fields::INTEGER as unknown_fields,
  lint::VARCHAR as lint,
  blank_lines::INTEGER as blank_lines,
  other_lines::INTEGER as other_lines
from 'snap/files/*.parquet';
create or replace view rules as select distinct 
  sha256::VARCHAR as sha256,
  line::INTEGER as line,
  field::VARCHAR as field,
  known::BOOLEAN as known,
  group_number::INTEGER as group_number,
  group_tokens::VARCHAR as group_tokens,
  value::VARCHAR as value
from 'snap/rules/*.parquet';
create or replace view agents as select distinct 
  sha256::VARCHAR as sha256,
  name::VARCHAR as name,
  rfc9309::VARCHAR as rfc9309,
  google::VARCHAR as google,
  line::INTEGER as line,
  lines::INTEGER as lines,
  crawler::VARCHAR as crawler,
  operator::VARCHAR as operator,
  purpose::VARCHAR as purpose,
  access::VARCHAR as access
from 'snap/agents/*.parquet';
create or replace view signals as select distinct 
  sha256::VARCHAR as sha256,
  line::INTEGER as line,
  field::VARCHAR as field,
  name::VARCHAR as name,
  value::VARCHAR as value,
  path::VARCHAR as path,
  scope::VARCHAR as scope,
  known::BOOLEAN as known,
  group_tokens::VARCHAR as group_tokens
from 'snap/signals/*.parquet';
create or replace view sitemaps as select distinct 
  sha256::VARCHAR as sha256,
  line::INTEGER as line,
  url::VARCHAR as url,
  origin::VARCHAR as origin
from 'snap/sitemaps/*.parquet';
create or replace view findings as select distinct 
  sha256::VARCHAR as sha256,
  id::VARCHAR as id,
  severity::VARCHAR as severity,
  findings::INTEGER as findings
from 'snap/findings/*.parquet';
create or replace view verdicts as select 
  surt::VARCHAR as surt,
  origin::VARCHAR as origin,
  fetched::TIMESTAMP WITH TIME ZONE as fetched,
  outcome::VARCHAR as outcome,
  agent::VARCHAR as agent,
  dialect::VARCHAR as dialect,
  path::VARCHAR as path,
  verdict::VARCHAR as verdict,
  reason::VARCHAR as reason,
  line::INTEGER as line,
  directive::VARCHAR as directive,
  pattern::VARCHAR as pattern,
  group_name::VARCHAR as group_name,
  access::VARCHAR as access,
  crawl_delay::DOUBLE as crawl_delay,
  engine::VARCHAR as engine,
  input::VARCHAR as input,
  warc_offset::BIGINT as warc_offset,
  site::VARCHAR as site
from 'verdicts/verdicts/*.parquet';
create or replace view joined as select 
  url::VARCHAR as url,
  asked_at::TIMESTAMP WITH TIME ZONE as asked_at,
  age_s::BIGINT as age_s,
  surt::VARCHAR as surt,
  origin::VARCHAR as origin,
  fetched::TIMESTAMP WITH TIME ZONE as fetched,
  outcome::VARCHAR as outcome,
  agent::VARCHAR as agent,
  dialect::VARCHAR as dialect,
  path::VARCHAR as path,
  verdict::VARCHAR as verdict,
  reason::VARCHAR as reason,
  line::INTEGER as line,
  directive::VARCHAR as directive,
  pattern::VARCHAR as pattern,
  group_name::VARCHAR as group_name,
  access::VARCHAR as access,
  crawl_delay::DOUBLE as crawl_delay,
  engine::VARCHAR as engine,
  input::VARCHAR as input,
  warc_offset::BIGINT as warc_offset
from 'joined/joined/*.parquet';
create or replace view changes as select 
  origin::VARCHAR as origin,
  agent::VARCHAR as agent,
  dialect::VARCHAR as dialect,
  change::VARCHAR as change,
  witness::VARCHAR as witness,
  line_before::INTEGER as line_before,
  line_after::INTEGER as line_after,
  site::VARCHAR as site
from 'changes/changes/*.parquet';
