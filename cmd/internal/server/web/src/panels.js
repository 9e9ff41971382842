// The panels. Text from files is text here, never markup and never a link: it can contain javascript: or anything else.

import { aiPanel } from './ai.js';
import { element } from './dom.js';
import { mark, remarks, words } from './matrix.js';
import { capital } from './text.js';

const mostDrawn = 200; // findings
const mostPhases = 24;
const mostValues = 10; // of a field, in a comparison

const count = (n, one, many) => n.toLocaleString('en') + ' ' + (n === 1 ? one : many);

export function panels({ titles, reveal, fix, fixAll, addURL, addCrawlers, blockTraining }) {
  const at = (id) => document.getElementById(id);
  const lineButton = (line) => (line ? element('button', { type: 'button', class: 'line', onclick: () => reveal(line) }, 'line ' + line) : null);
  // reference links a clause or a check to its document.
  const anchor = (title) => '#' + title.toLowerCase().replace(/[^a-z0-9 -]/g, '').replaceAll(' ', '-');
  const reference = (name, title, text, about) => element('a', { class: 'clause', target: '_blank', rel: 'noopener', title: about, href: 'docs/' + name + '.html' + anchor(title) }, text);
  const clause = (id) => (id ? reference('clauses', id, id, 'The clause behind this (robots clause ' + id + ')') : null);
  const list = (kind, items) => element(kind, {}, ...items);
  // written is a rule as a line; controls and what reorders text are escaped.
  const written = (rule) => capital(rule.directive) + ': ' + rule.pattern.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (c) => '\\u{' + c.codePointAt(0).toString(16) + '}');

  const more = (n) => (n ? element('p', { class: 'soft' }, 'and ' + count(n, 'more', 'more')) : '');

  const notes = (list) => element('ul', { class: 'notes' }, ...list.map((n) => element('li', {}, lineButton(n.line), n.line ? ' ' : null, capital(n.text) + '. ', clause(n.clause))));
  const near = (list) => (list.length ? [element('h3', {}, list.length === 1 ? 'Near miss' : 'Near misses'), notes(list)] : []);

  function why(e, { crawler, url }) {
    if (e.error) {
      at('why').replaceChildren(element('p', { class: 'lead' }, capital(e.error) + '.'));
      return;
    }
    const head = { allow: 'Allowed', disallow: 'Blocked', undefined: 'Undefined' }[e.verdict] + ' for ';
    const parts = [
      element('p', { class: 'lead ' + e.verdict }, mark(e.verdict), element('span', {}, head, element('strong', {}, crawler.name), e.rule ? ' by line ' + e.rule.line : '')),
      element('p', {}, element('code', {}, url)),
      element('p', { class: 'rule' }, ...e.rule ? [lineButton(e.rule.line), ' ', element('code', {}, written(e.rule))] : [capital(e.summary) + '.']),
      ...near(e.notes.slice(0, e.near)),
      ...remarks(e).map((text) => (text === e.fallback_reason ? element('p', {}, text + '. ', clause('D-62')) : element('p', {}, capital(text) + '.'))),
      element('h3', {}, 'Steps'),
      element('ol', { class: 'steps' }, ...e.steps.map((s) => element('li', {}, element('span', {}, capital(s.text) + '.'), ' ', clause(s.clause)))),
    ];
    if (e.matches.length) {
      parts.push(element('h3', {}, 'Matching rules'), element('ul', { class: 'matches' }, ...e.matches.map((m) => element('li', { class: m.won ? 'winner ' + m.directive : 'loser' },
        element('p', {}, lineButton(m.line), ' ', element('code', {}, written(m))), element('p', {}, element('strong', {}, m.won ? 'won' : 'lost'), ': ' + m.why + ' ', clause(m.clause))))), more(e.matches_dropped));
    }
    if (e.notes.length > e.near) {
      parts.push(element('h3', {}, 'Notes'), notes(e.notes.slice(e.near)), more(e.dropped));
    }
    if (e.signals.length) {
      parts.push(element('h3', {}, 'Signals'), element('ul', { class: 'notes' }, ...e.signals.map((s) => element('li', {}, lineButton(s.line), ' ', element('code', {}, s.field + ': ' + (s.name ? s.name + '=' : '') + s.value), s.known ? null : ' ' + s.source.document + ' does not define this'))), more(e.signals_dropped));
    }
    const inDialects = (list) => element('ul', { class: 'dialects' }, ...list.map((d) => element('li', { class: d.dialect === e.dialect ? 'own' : null }, mark(d.verdict), element('span', {}, titles[d.dialect]), element('span', { class: 'soft' }, words[d.verdict] + (d.line ? ', line ' + d.line : '')))));
    const old = e.dialects.filter((d) => !d.current);
    parts.push(element('h3', {}, 'In each dialect'), inDialects(e.dialects.filter((d) => d.current)),
      element('details', { class: 'fold', open: old.some((d) => d.dialect === e.dialect) }, element('summary', {}, 'Historic dialects and libraries'), inDialects(old)));
    at('why').replaceChildren(...parts);
  }

  const decision = ({ allowed, rule }) => (allowed ? 'allowed' : 'blocked') + (rule ? ' by line ' + rule.line + ', ' + written(rule) : ', no rule');

  function direction(title, list, word, crawler) {
    if (!list.length) {
      return null;
    }
    return element('div', { class: 'direction' }, element('h3', {}, mark(word), title), element('ul', {}, ...list.map((c) => element('li', {},
      element('button', { type: 'button', class: 'witness', title: 'Add it to the table', onclick: () => addURL(c.path, crawler) }, c.path),
      element('span', { class: 'soft' }, ' before: ' + decision(c.old) + '; now: ' + decision(c.new))))));
  }

  // declared lists the values of a field that one of two files has.
  function declared(d) {
    const only = (list, others) => {
      const shown = list.filter((v) => !others.has(v));
      return shown.slice(0, mostValues).join(', ') + (shown.length > mostValues ? ' and ' + (shown.length - mostValues) + ' more' : '');
    };
    const changes = [['removed: ', only(d.old, new Set(d.new))], ['added: ', only(d.new, new Set(d.old))]];
    return element('p', {}, element('code', {}, d.field), ' ' + changes.filter(([, text]) => text).map(([verb, text]) => verb + text).join('; '));
  }

  // changes shows an answer for these columns, whose differences come first. The directory has the spelling of the other names.
  function changes(answer, columns, directory) {
    if (!answer) {
      at('changes').replaceChildren(element('p', { class: 'lead' }, 'See what an edit blocks or allows.'),
        element('p', {}, 'Compare the text with its current state, an earlier version or any other robots.txt. For each crawler you see the shortest URLs that are newly blocked or newly allowed, or a proof that no URL changes.'));
      return;
    }
    const differing = answer.crawlers.filter((c) => c.result === 'differs').length;
    const undecided = answer.crawlers.filter((c) => !c.complete).length;
    at('changes').replaceChildren(
      element('p', { class: 'lead' }, differing ? 'URLs change for ' + differing + ' of ' + count(answer.crawlers.length, 'crawler', 'crawlers') + '.' : undecided ? 'No change found, but not everything is proved.' : 'No URL changes for these crawlers (proved).'),
      element('ul', { class: 'changes' }, ...answer.crawlers.map((c, i) => {
        const crawler = columns[i] || { dialect: 'auto', tokens: [directory.get(c.agent.toLowerCase())?.name || c.agent] };
        return element('li', {},
          element('p', { class: 'who' }, element('strong', {}, crawler.name || crawler.tokens[0]), ' ', element('span', { class: 'dialect' }, titles[c.dialect]), ' ',
            c.result === 'same' ? element('span', { class: 'same' }, '= no change (proved)') : c.result === 'undecided' ? element('span', { class: 'undecided' }, '? undecided') : element('span', { class: 'differs' }, '≠ changes')),
          direction('newly blocked', c.newly_blocked, 'disallow', crawler), direction('newly allowed', c.newly_allowed, 'allow', crawler),
          ...c.declared.map(declared),
          ...c.notes.map((n) => element('p', { class: 'soft' }, capital(n) + '.')),
          more(c.dropped),
          c.complete ? null : element('p', { class: 'soft' }, 'Not everything is decided: the proof stopped after ' + answer.budget.toLocaleString('en') + ' steps. Use robots diff --budget for more.'));
      })),
      answer.dropped ? element('p', { class: 'soft' }, 'and ' + count(answer.dropped, 'more crawler', 'more crawlers')) : '');
  }

  const severities = { error: '✕ error', warning: '! warning', note: 'i note' };

  // claim is the sentence about a fix. Of several safe fixes it is proved what all of them do together.
  const claim = (fix, several) => !fix.safe ? fix.change || 'might change verdicts' : several ? 'changes no verdict with all other safe fixes (proved)' : 'changes no verdict (proved)';

  const finding = (f, check, several) => element('li', { class: f.severity },
    element('p', {}, element('span', { class: 'severity' }, severities[f.severity]), ' ', lineButton(f.line), ' ', element('span', {}, capital(f.message) + '.')),
    f.advice ? element('p', {}, capital(f.advice) + '.') : null,
    element('p', { class: 'soft' }, check?.why, ' ', reference('lint', f.id + ' ' + f.name, f.id, 'The check ' + f.name), ' ', clause(check?.clause)),
    f.fix ? element('p', {}, element('button', { type: 'button', onclick: () => fix(f) }, f.fix.safe ? 'Fix' : 'Change'),
      element('span', { class: 'soft' }, ' ' + claim(f.fix, several))) : null);

  // lint shows findings, the worst first and notes folded; checks has why each matters, by its id. Done is what was applied before.
  function lint(answer, checks, done) {
    const found = ['error', 'warning', 'note'].flatMap((severity) => answer.findings.filter((f) => f.severity === severity));
    const drawn = found.slice(0, mostDrawn);
    const safe = answer.findings.filter((f) => f.fix?.safe).length;
    const several = safe > 1 || answer.dropped > 0;
    const list = (some) => element('ul', { class: 'found' }, ...some.map((f) => finding(f, checks.get(f.id), several)));
    const remarks = drawn.filter((f) => f.severity === 'note');
    const wasOpen = at('lint').querySelector('details')?.open;
    at('lint').replaceChildren(
      done ? element('p', { class: 'about' }, done) : '',
      element('p', { class: 'lead' }, answer.problems ? count(answer.problems, 'problem', 'problems') + ' found.' : 'No problems found.'),
      safe ? element('p', {}, element('button', { type: 'button', onclick: fixAll }, 'Apply all safe fixes'), element('span', { class: 'soft' }, ' They change no verdict for any crawler in any dialect (proved).')) : '',
      list(drawn.filter((f) => f.severity !== 'note')),
      remarks.length ? element('details', { class: 'fold', open: wasOpen || !answer.problems }, element('summary', {}, count(answer.remarks, 'note', 'notes')), list(remarks)) : '',
      more(found.length - drawn.length + answer.dropped),
      answer.undecided ? element('p', { class: 'soft' }, 'Not every proof was finished, so more rules might have no effect.') : '');
  }

  const svg = (name, attributes, ...children) => {
    const e = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) {
      e.setAttribute(key, value);
    }
    e.append(...children);
    return e;
  };

  function rates(answer, crawler) {
    const most = Math.max(...answer.hours, 1);
    const minutes = -new Date().getTimezoneOffset();
    const offset = minutes / 60;
    const height = 120;
    const width = 24;
    const two = (n) => String(n).padStart(2, '0');
    const short = (n) => (n >= 10000 ? Math.round(n / 1000) + 'k' : String(Math.round(n * 10) / 10));
    const bars = answer.hours.flatMap((pages, i) => {
      const y = pages > 0 ? Math.max(2, (pages / most) * height) : 0;
      return [
        svg('rect', { class: 'bar', x: i * width + 2, y: 10 + height - y, width: width - 4, height: y, rx: 2 }, svg('title', {}, two(i) + ':00 UTC, ' + short(pages) + ' pages')),
        svg('text', { x: i * width + width / 2, y: height + 26, 'text-anchor': 'middle' }, two(i)),
        svg('text', { class: 'local', x: (i + 0.5 + Math.ceil(offset) - offset) * width, y: height + 42, 'text-anchor': 'middle' }, two((i + Math.ceil(offset) + 24) % 24)),
      ];
    });
    const { pages, declared, dropped } = answer.delays;
    const stated = answer.stated ? [
      element('p', { class: 'lead' }, element('strong', {}, crawler.name), ' now: ', answer.pace + '.'),
      element('p', {}, pages.toLocaleString('en') + ' pages take ', element('strong', {}, answer.takes), ' if every response is immediate.'),
      element('figure', {}, svg('svg', { viewBox: '0 0 ' + 24 * width + ' ' + (height + 46), role: 'img', 'aria-label': 'Pages per hour, from ' + short(Math.min(...answer.hours)) + ' to ' + short(most) },
        ...bars), element('figcaption', { class: 'soft' }, 'Pages per hour, at most ' + short(most) + '. Upper row: UTC; lower row: your time zone (UTC' + (offset < 0 ? '−' : '+') + Math.floor(Math.abs(offset)) + (minutes % 60 ? ':' + two(Math.abs(minutes % 60)) : '') + ').')),
      element('ul', { class: 'paces' }, ...answer.phases.slice(0, mostPhases).map((p, i, all) => element('li', {}, (all.length > 1 ? p.from + '–' + p.to + ' UTC: ' : 'all day: ') + p.text))),
      more(Math.max(0, answer.phases.length - mostPhases)),
    ] : [
      element('p', { class: 'lead' }, 'The file sets no crawl rate that ', element('strong', {}, crawler.name), ' follows.'),
      element('p', {}, 'How often it sends a request is up to its operator. A crawler that is built with this toolkit then sends ' + answer.pace + ', unless it is set otherwise.'),
    ];
    at('rates').replaceChildren(...stated,
      declared.length ? element('h3', {}, 'Declared in the file') : '',
      declared.length ? element('ul', { class: 'entries' }, ...declared.map((d) => element('li', {}, lineButton(d.line), ' ', element('code', {}, d.field + ': ' + d.value), ' ', element('span', { class: 'soft' }, d.fate + (d.why ? ': ' + d.why : ''))))) : '',
      more(dropped));
  }

  function sitemaps(facts) {
    const n = facts.sitemaps.length + facts.sitemaps_dropped;
    at('sitemaps').replaceChildren(element('p', { class: 'lead' }, n ? count(n, 'sitemap', 'sitemaps') + '.' : 'The file names no sitemap.'),
      list('ul', facts.sitemaps.map((s) => element('li', {}, element('code', {}, s)))), more(facts.sitemaps_dropped));
  }

  const { ai, blocking } = aiPanel({ table: at('access'), result: at('blocking') }, { addCrawlers, block: blockTraining, lineButton, written, capital });

  // outlook shows what a search engine can do with a page that has these headers.
  function outlook(o, { crawler, url }) {
    if (o.error) {
      at('outlook').replaceChildren(element('p', {}, capital(o.error) + '.'));
      return;
    }
    const answers = [['crawl', 'Crawl'], ['index', 'Index'], ['follow', 'Follow links'], ['snippet', 'Snippet']];
    at('outlook').replaceChildren(element('p', { class: 'lead' }, element('strong', {}, crawler.name), ' and ', element('code', {}, url)),
      ...o.texts.map((text) => element('p', { class: 'about' }, text + '.')),
      element('ul', { class: 'entries' }, ...answers.map(([id, title]) => element('li', {}, element('strong', {}, title + ': ' + (o[id].answer === 'address' ? 'the address only' : o[id].answer)), element('span', { class: 'soft' }, ' (' + o.reasons[id] + ')')))),
      o.effects.length ? element('h3', {}, 'Rules of the page') : element('p', { class: 'soft' }, 'No rules were found in the text.'),
      element('ul', { class: 'entries' }, ...o.effects.map((r) => element('li', {}, element('code', {}, r.rule), element('span', { class: 'soft' }, ' ' + r.why)))));
  }

  // sentence describes a fetch.
  function sentence(r) {
    const time = (t) => new Date(t).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });
    const redirects = (r.hops || []).length - 1;
    switch (r.outcome) {
      case 'success':
        return 'has this file' + (redirects > 0 ? ', after ' + count(redirects, 'redirect', 'redirects') + ' at ' + r.final_url : '') + (r.expires ? '. It expires ' + time(r.expires) + '.' : '.');
      case 'unavailable':
        return 'has no robots.txt' + (r.status ? ' (status ' + r.status + ')' : '') + ', so every URL is allowed.';
    }
    const why = r.status ? 'responds with status ' + r.status : 'is unreachable: ' + r.note;
    const since = r.failing_since ? ' since ' + time(r.failing_since) : '';
    return why + since + (r.last_good ? '. Its last good file, of ' + time(r.last_good.fetched) + ', still applies.' : '. Every URL is blocked for now.');
  }

  // record shows the outcome of a fetch: every member with a value.
  function record(r, url) {
    const rows = [];
    const put = (name, value) => {
      if (value === null || value === undefined || value === '' || value === false) {
        return;
      }
      if (Array.isArray(value)) {
        if (value.length) {
          rows.push([name, value.map((v) => (typeof v === 'object' && v !== null ? Object.values(v).filter((x) => typeof x !== 'object').join(' ') : String(v))).join(' → ')]);
        }
      } else if (typeof value === 'object') {
        Object.entries(value).forEach(([k, v]) => put(name + ' ' + k, v));
      } else {
        rows.push([name, String(value)]);
      }
    };
    Object.entries(r).forEach(([k, v]) => put(k.replaceAll('_', ' '), v));
    at('record').hidden = false;
    at('record').replaceChildren(element('details', {}, element('summary', {}, element('strong', {}, new URL(url).host), ' ', sentence(r)),
      element('dl', {}, ...rows.slice(0, 40).map(([k, v]) => element('div', {}, element('dt', {}, k), element('dd', {}, v))))));
  }

  return { why, changes, lint, rates, sitemaps, ai, blocking, outlook, record };
}
