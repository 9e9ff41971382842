// The panels. Text from files is text here, never markup and never a link: it can contain javascript: or anything else.

import { element, mark, words } from './matrix.js';

const mostDrawn = 200; // findings
const mostSpans = 24;

export const capital = (s) => s && s[0].toUpperCase() + s.slice(1);
const count = (n, one, many) => n.toLocaleString('en') + ' ' + (n === 1 ? one : many);

export function panels({ reveal, fix, fixAll, addURL, addCrawlers, insert }) {
  const at = (id) => document.getElementById(id);
  const lineButton = (line) => (line ? element('button', { type: 'button', class: 'line', onclick: () => reveal(line) }, 'line ' + line) : null);
  const clause = (id) => (id ? element('span', { class: 'clause', title: 'the clause behind this: robots clause ' + id }, id) : null);
  const list = (kind, items) => element(kind, {}, ...items);

  function why(e, { crawler, url }) {
    if (e.error) {
      at('why').replaceChildren(element('p', { class: 'lead' }, capital(e.error) + '.'));
      return;
    }
    const head = { allow: 'Allowed', disallow: 'Blocked', undefined: 'Undefined' }[e.word] + ' for ';
    const parts = [
      element('p', { class: 'lead ' + e.word }, mark(e.word), element('span', {}, head, element('strong', {}, crawler.name), e.line ? ' by line ' + e.line : '')),
      element('p', {}, element('code', {}, url)),
      element('p', { class: 'rule' }, ...e.line ? [lineButton(e.line), ' ', element('code', {}, e.rule)] : [ capital(e.sentence.replace(/^(allowed|disallowed|undefined): /, '')) + '.']),
      element('h3', {}, 'Steps'),
      element('ol', { class: 'steps' }, ...e.steps.map((s) => element('li', {}, element('span', {}, capital(s.text) + '.'), ' ', clause(s.clause)))),
    ];
    if (e.matches.length) {
      parts.push(element('h3', {}, 'Matching rules'), element('ul', { class: 'matches' }, ...e.matches.map((m) => element('li', { class: m.won ? 'winner ' + (m.allows ? 'allow' : 'disallow') : 'loser' },
        element('p', {}, lineButton(m.line), ' ', element('code', {}, m.rule)), element('p', {}, element('strong', {}, m.won ? 'won' : 'lost'), ': ' + m.why + ' ', clause(m.clause))))));
      if (e.more) {
        parts.push(element('p', { class: 'soft' }, 'and ' + count(e.more, 'more', 'more')));
      }
    }
    if (e.notes.length) {
      parts.push(element('h3', {}, 'Notes'), element('ul', { class: 'notes' }, ...e.notes.map((n) => element('li', {}, lineButton(n.line), n.line ? ' ' : null, capital(n.text) + '. ', clause(n.clause)))));
    }
    parts.push(element('h3', {}, 'In each dialect'), element('ul', { class: 'dialects' }, ...e.others.map((o) => element('li', { class: o.dialect === crawler.dialect ? 'own' : null }, mark(o.word), element('span', {}, o.dialect), element('span', { class: 'soft' }, words[o.word] + (o.line ? ', line ' + o.line : ''))))));
    at('why').replaceChildren(...parts);
  }

  function direction(title, d, word, crawler) {
    if (!d.changes.length) {
      return null;
    }
    return element('div', { class: 'direction' }, element('h3', {}, mark(word), title), element('ul', {}, ...d.changes.map((c) => element('li', {},
      element('button', { type: 'button', class: 'witness', title: 'Add it to the table', onclick: () => addURL(c.path, crawler) }, c.path),
      element('span', { class: 'soft' }, ' before: ' + c.old + '; now: ' + c.new)))), d.more ? element('p', { class: 'soft' }, 'and ' + d.more + ' more rules') : null);
  }

  function changes(answer) {
    if (!answer) {
      at('changes').replaceChildren(element('p', { class: 'lead' }, 'See what an edit blocks or allows.'),
        element('p', {}, 'Compare the text with its current state, an earlier version or any other robots.txt. For each crawler you see the shortest URLs that are newly blocked or newly allowed, or a proof that no URL changes.'));
      return;
    }
    const differing = answer.crawlers.filter((c) => c.result === 'differs').length;
    const undecided = answer.crawlers.filter((c) => !c.complete).length;
    at('changes').replaceChildren(
      element('p', { class: 'lead' }, differing ? 'URLs change for ' + differing + ' of ' + count(answer.crawlers.length, 'crawler', 'crawlers') + '.' : undecided ? 'No change found, but not everything is proved.' : 'No URL changes for these crawlers (proved).'),
      element('ul', { class: 'changes' }, ...answer.crawlers.map((c) => element('li', {},
        element('p', { class: 'who' }, element('strong', {}, c.tokens[0] || '*'), ' ', element('span', { class: 'dialect' }, c.dialect), ' ',
          c.result === 'same' ? element('span', { class: 'same' }, '= no change (proved)') : c.result === 'undecided' ? element('span', { class: 'undecided' }, '? undecided') : element('span', { class: 'differs' }, '≠ changes')),
        direction('newly blocked', c.blocked, 'disallow', c), direction('newly allowed', c.opened, 'allow', c),
        c.complete ? null : element('p', { class: 'soft' }, 'Not everything is decided: the proof stopped after ' + answer.budget.toLocaleString('en') + ' steps. Use robots diff --budget for more.')))));
  }

  function lint(answer) {
    const hidden = Math.max(0, answer.findings.length - mostDrawn) + answer.dropped;
    const safe = answer.findings.filter((f) => f.fix?.safe).length;
    at('lint').replaceChildren(
      element('p', { class: 'lead' }, answer.findings.length ? count(answer.findings.length, 'problem', 'problems') + ' found.' : 'No problems found.'),
      safe ? element('p', {}, element('button', { type: 'button', onclick: fixAll }, 'Apply all safe fixes'), element('span', { class: 'soft' }, ' They change no verdict for any crawler in any dialect (proved).')) : '',
      element('ul', { class: 'found' }, ...answer.findings.slice(0, mostDrawn).map((f) => element('li', { class: f.severity },
        element('p', {}, element('span', { class: 'severity' }, { error: '✕ error', warning: '! warning', note: 'i note' }[f.severity] || f.severity), ' ', lineButton(f.line), ' ', element('span', {}, capital(f.message) + '.')),
        f.advice ? element('p', {}, capital(f.advice) + '.') : null,
        element('p', { class: 'soft' }, f.why, ' ', element('span', { class: 'clause' }, f.id), ' ', clause(f.clause)),
        f.fix ? element('p', {}, element('button', { type: 'button', onclick: () => fix(f) }, f.fix.safe ? 'Fix' : 'Change'),
          element('span', { class: 'soft' }, f.fix.safe ? ' changes no verdict (proved)' : f.fix.change ? ' ' + f.fix.change : ' might change verdicts')) : null))),
      hidden > 0 ? element('p', { class: 'soft' }, 'and ' + count(hidden, 'more', 'more')) : '',
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
    const most = Math.max(...answer.hours.map((h) => h.pages), 1);
    const minutes = -new Date().getTimezoneOffset();
    const offset = minutes / 60;
    const height = 120;
    const width = 24;
    const two = (n) => String(n).padStart(2, '0');
    const short = (n) => (n >= 10000 ? Math.round(n / 1000) + 'k' : String(Math.round(n * 10) / 10));
    const bars = answer.hours.flatMap((h, i) => {
      const y = h.pages > 0 ? Math.max(2, (h.pages / most) * height) : 0;
      return [
        svg('rect', { class: 'bar', x: i * width + 2, y: 10 + height - y, width: width - 4, height: y, rx: 2 }, svg('title', {}, two(i) + ':00 UTC, ' + short(h.pages) + ' pages: ' + h.spans.join('; '))),
        svg('text', { x: i * width + width / 2, y: height + 26, 'text-anchor': 'middle' }, two(i)),
        svg('text', { class: 'local', x: (i + 0.5 + Math.ceil(offset) - offset) * width, y: height + 42, 'text-anchor': 'middle' }, two((i + Math.ceil(offset) + 24) % 24)),
      ];
    });
    const spans = answer.hours.flatMap((h) => h.spans).filter((s, i, all) => !i || s.slice(6) !== all[i - 1].slice(6)); // such as "18:00 closed"
    const until = (i) => (spans[i + 1] || '24:00').slice(0, 5);
    at('rates').replaceChildren(
      element('p', { class: 'lead' }, element('strong', {}, crawler.name), ' now: ', answer.pace + '.'),
      element('p', {}, answer.pages.toLocaleString('en') + ' pages take ', element('strong', {}, answer.takes), ' if every response is immediate.'),
      element('figure', {}, svg('svg', { viewBox: '0 0 ' + 24 * width + ' ' + (height + 46), role: 'img', 'aria-label': 'Pages per hour, from ' + short(Math.min(...answer.hours.map((h) => h.pages))) + ' to ' + short(most) },
        ...bars), element('figcaption', { class: 'soft' }, 'Pages per hour, at most ' + short(most) + '. Upper row: UTC; lower row: your time zone (UTC' + (offset < 0 ? '−' : '+') + Math.floor(Math.abs(offset)) + (minutes % 60 ? ':' + two(Math.abs(minutes % 60)) : '') + ').')),
      element('ul', { class: 'paces' }, ...spans.slice(0, mostSpans).map((s, i) => element('li', {}, (spans.length > 1 ? s.slice(0, 5) + '–' + until(i) + ' UTC: ' : 'all day: ') + s.slice(6)))),
      spans.length > mostSpans ? element('p', { class: 'soft' }, 'and ' + count(spans.length - mostSpans, 'more', 'more')) : '',
      answer.entries.length ? element('h3', {}, 'Declared in the file') : '',
      answer.entries.length ? element('ul', { class: 'entries' }, ...answer.entries.map((e) => element('li', {}, lineButton(e.line), ' ', element('code', {}, e.field + ': ' + e.value), ' ', element('span', { class: 'soft' }, e.fate + (e.why ? ': ' + e.why : ''))))) : '');
  }

  function sitemaps(facts) {
    at('sitemaps').replaceChildren(element('p', { class: 'lead' }, facts.sitemaps.length ? count(facts.sitemaps.length, 'sitemap', 'sitemaps') + '.' : 'The file names no sitemap.'),
      list('ul', facts.sitemaps.map((s) => element('li', {}, element('code', {}, s)))));
  }

  const categories = [['ai-training', 'AI training', 'collect text to train models'], ['ai-search', 'AI search', 'build an index that AI answers are based on'], ['search', 'Search', 'build a search index']];

  // ai shows the crawlers of the AI categories: which of them the file names, which group applies to the others, and how to block
  // training without blocking search.
  function ai(crawlers, facts, text) {
    const named = new Set(facts.crawlers.map((c) => c.tokens[0].toLowerCase()));
    const isNamed = (c) => named.has(c.tokens[0].toLowerCase().split(' ')[0]); // a product token ends at a space
    const add = (list) => addCrawlers(list.map(({ dialect, tokens }) => ({ dialect, tokens })));
    const sections = categories.map(([purpose, title, does]) => {
      const all = crawlers.filter((c) => c.purpose === purpose);
      const inFile = all.filter(isNamed);
      const others = all.length - inFile.length;
      return element('div', { class: 'category' }, element('h3', {}, title), element('p', { class: 'soft' }, count(all.length, 'crawler', 'crawlers') + ' that ' + does + '. '
        + (inFile.length ? 'The file names ' + inFile.length + '; ' : 'The file names none of them; ') + 'the group for * applies to ' + (inFile.length ? 'the other ' + others + '.' : 'all of them.')),
        element('ul', {}, ...inFile.map((c) => element('li', {}, element('strong', {}, c.tokens[0]), element('span', { class: 'soft' }, ' ' + c.operator
          + (c.token_only ? '; an opt-out token: it sends no requests' : '') + (c.obeys === 'no' ? '; does not obey robots.txt' : ''))))),
        element('div', { class: 'tools' }, element('button', { type: 'button', onclick: () => add(inFile.length ? inFile : all.slice(0, 5)) }, inFile.length ? 'Add these to the table' : 'Add the first five to the table')));
    });
    const training = crawlers.filter((c) => c.purpose === 'ai-training' && c.obeys !== 'no' && !isNamed(c));
    const lines = (text.trim() ? '\n' : '') + '# AI training\n' + training.map((c) => 'User-agent: ' + c.tokens[0] + '\n').join('') + 'Disallow: /\n';
    at('ai').replaceChildren(element('p', {}, 'Rules do not bind crawlers that do not obey robots.txt. Opt-out tokens such as Google-Extended send no requests: they limit how an operator uses what other crawlers fetch.'), ...sections,
      element('h3', {}, 'Block training, keep search'),
      training.length ? element('p', {}, element('button', { type: 'button', onclick: () => insert(lines) }, 'Add a group for ' + count(training.length, 'training crawler', 'training crawlers')), element('span', { class: 'soft' }, ' that the file does not name yet. Search crawlers keep their groups.'))
        : element('p', {}, 'The file names every known training crawler that obeys.'));
  }

  // outlook shows what a search engine can do with a page that has these headers.
  function outlook(o, { crawler, url }) {
    if (o.error) {
      at('outlook').replaceChildren(element('p', {}, capital(o.error) + '.'));
      return;
    }
    at('outlook').replaceChildren(element('p', { class: 'lead' }, element('strong', {}, crawler.name), ' and ', element('code', {}, url)),
      o.hidden ? element('p', { class: 'about' }, 'robots.txt blocks this URL, so the crawler cannot read “' + o.hidden + '”. The URL can still be listed. To keep it out of the index, allow crawling and keep noindex.') : '',
      element('ul', { class: 'entries' }, ...o.answers.map((a) => element('li', {}, element('strong', {}, a.what + ': ' + (a.is === 'address' ? 'the address only' : a.is)), element('span', { class: 'soft' }, ' (' + a.why + ')')))),
      o.directives.length ? element('h3', {}, 'Directives') : element('p', { class: 'soft' }, 'No directives were found in the text.'),
      element('ul', { class: 'entries' }, ...o.directives.map((d) => element('li', {}, element('code', {}, d.text), element('span', { class: 'soft' }, ' ' + d.effect)))));
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

  return { why, changes, lint, rates, sitemaps, ai, outlook, record };
}
