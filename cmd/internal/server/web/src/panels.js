// What stands under the tabs. Text of files is text here, never markup, and never a
// link: it may say javascript: or anything else.

import { element, mark, words } from './matrix.js';

const mostDrawn = 200; // findings

const capital = (s) => s && s[0].toUpperCase() + s.slice(1);
const count = (n, one, many) => n.toLocaleString('en') + ' ' + (n === 1 ? one : many);

export function panels({ reveal, fix, fixAll, addURL }) {
  const at = (id) => document.getElementById(id);
  const lineButton = (line) => (line ? element('button', { type: 'button', class: 'line', onclick: () => reveal(line) }, 'line ' + line) : null);
  const clause = (id) => (id ? element('span', { class: 'clause', title: 'the statement behind it: robots clause ' + id }, id) : null);
  const list = (kind, items) => element(kind, {}, ...items);

  function why(e, { crawler, url }) {
    if (e.error) {
      at('why').replaceChildren(element('p', { class: 'lead' }, capital(e.error) + '.'));
      return;
    }
    const may = { allow: ' may fetch ', disallow: ' may not fetch ', undefined: ' has no defined answer for ' }[e.word];
    const parts = [
      element('p', { class: 'lead ' + e.word }, mark(e.word), element('span', {}, element('strong', {}, crawler.name), may, element('code', {}, url))),
      element('p', { class: 'rule' }, ...e.line ? [lineButton(e.line), ' ', element('code', {}, e.rule)] : [ capital(e.sentence.replace(/^(allowed|disallowed|undefined): /, '')) + '.']),
      element('h3', {}, 'Step by step'),
      element('ol', { class: 'steps' }, ...e.steps.map((s) => element('li', {}, element('span', {}, capital(s.text) + '.'), ' ', clause(s.clause)))),
    ];
    if (e.matches.length) {
      parts.push(element('h3', {}, 'Rules that match'), element('table', { class: 'matches' },
        element('thead', {}, element('tr', {}, ...['', 'Line', 'Rule', 'Why'].map((h) => element('th', { scope: 'col' }, h || element('span', { class: 'unseen' }, 'Result'))))),
        element('tbody', {}, ...e.matches.map((m) => element('tr', { class: m.won ? 'winner ' + (m.allows ? 'allow' : 'disallow') : 'loser' },
          element('td', {}, m.won ? 'won' : 'lost'), element('td', {}, lineButton(m.line) || '–'), element('td', {}, element('code', {}, m.rule)), element('td', {}, m.why + ' ', clause(m.clause)))))));
      if (e.more) {
        parts.push(element('p', { class: 'soft' }, 'and ' + count(e.more, 'more', 'more')));
      }
    }
    if (e.notes.length) {
      parts.push(element('h3', {}, 'Worth knowing'), element('ul', { class: 'notes' }, ...e.notes.map((n) => element('li', {}, lineButton(n.line), n.line ? ' ' : null, capital(n.text) + '. ', clause(n.clause)))));
    }
    parts.push(element('h3', {}, 'The same name in all dialects'), element('ul', { class: 'dialects' }, ...e.others.map((o) => element('li', { class: o.dialect === crawler.dialect ? 'own' : null }, mark(o.word), element('span', {}, o.dialect), element('span', { class: 'soft' }, words[o.word] + (o.line ? ', line ' + o.line : ''))))));
    at('why').replaceChildren(...parts);
  }

  function direction(title, d, word) {
    if (!d.changes.length) {
      return null;
    }
    return element('div', { class: 'direction' }, element('h4', {}, mark(word), title), element('ul', {}, ...d.changes.map((c) => element('li', {},
      element('button', { type: 'button', class: 'witness', title: 'Add it to the table', onclick: () => addURL(c.path) }, c.path),
      element('span', { class: 'soft' }, ' before: ' + c.old + '; now: ' + c.new)))), d.more ? element('p', { class: 'soft' }, 'and ' + d.more + ' more rules') : null);
  }

  function changes(answer) {
    if (!answer) {
      at('changes').replaceChildren(element('p', { class: 'lead' }, 'What does an edit block or open?'),
        element('p', {}, '“Compare” pins the present text. From then on every crawler says here that all URLs are answered as before, which is proved, or shows URLs that are newly blocked or newly open.'));
      return;
    }
    const differing = answer.crawlers.filter((c) => c.result === 'differs').length;
    const undecided = answer.crawlers.filter((c) => !c.complete).length;
    at('changes').replaceChildren(
      element('p', { class: 'lead' }, differing ? count(differing, 'crawler', 'crawlers') + ' of ' + answer.crawlers.length + ' would be answered otherwise.' : undecided ? 'No difference was found, and not all is proved.' : 'All crawlers are answered as before: proved for all URLs.'),
      element('ul', { class: 'changes' }, ...answer.crawlers.map((c) => element('li', {},
        element('p', { class: 'who' }, element('strong', {}, c.tokens[0] || '*'), ' ', element('span', { class: 'dialect' }, c.dialect), ' ',
          c.result === 'same' ? element('span', { class: 'same' }, '= same (proved)') : c.result === 'undecided' ? element('span', { class: 'undecided' }, '? undecided') : element('span', { class: 'differs' }, '≠ differs')),
        direction('newly blocked', c.blocked, 'disallow'), direction('newly open', c.opened, 'allow'),
        c.complete ? null : element('p', { class: 'soft' }, 'Not all is decided: a proof gave up after ' + answer.budget.toLocaleString('en') + ' steps. robots diff --budget takes more.')))));
  }

  function findings(answer) {
    const hidden = Math.max(0, answer.findings.length - mostDrawn) + answer.dropped;
    const safe = answer.findings.filter((f) => f.fix?.safe).length;
    at('findings').replaceChildren(
      element('p', { class: 'lead' }, answer.findings.length ? count(answer.findings.length, 'finding', 'findings') + '.' : 'Nothing was found that is wrong.'),
      safe ? element('p', {}, element('button', { type: 'button', onclick: fixAll }, 'Make all proved fixes'), element('span', { class: 'soft' }, ' They change no verdict of any crawler in any dialect.')) : '',
      element('ul', { class: 'findings' }, ...answer.findings.slice(0, mostDrawn).map((f) => element('li', { class: f.severity },
        element('p', {}, element('span', { class: 'severity' }, { error: '✕ error', warning: '! warning', note: 'i note' }[f.severity] || f.severity), ' ', lineButton(f.line), ' ', element('span', {}, capital(f.message) + '.')),
        f.advice ? element('p', {}, capital(f.advice) + '.') : null,
        element('p', { class: 'soft' }, f.why, ' ', element('span', { class: 'clause' }, f.id), ' ', clause(f.clause)),
        f.fix ? element('p', {}, element('button', { type: 'button', onclick: () => fix(f) }, f.fix.safe ? 'Fix' : 'Change'),
          element('span', { class: 'soft' }, f.fix.safe ? ' changes no verdict: proved' : f.fix.change ? ' ' + f.fix.change : ' may change verdicts')) : null))),
      hidden > 0 ? element('p', { class: 'soft' }, 'and ' + count(hidden, 'more', 'more')) : '',
      answer.undecided ? element('p', { class: 'soft' }, 'The file is hard: not every proof was finished, so more rules may be without effect.') : '');
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
    const offset = -new Date().getTimezoneOffset() / 60;
    const height = 120;
    const width = 24;
    const short = (n) => (n >= 10000 ? Math.round(n / 1000) + 'k' : String(Math.round(n * 10) / 10));
    const bars = answer.hours.flatMap((h, i) => {
      const y = h.pages > 0 ? Math.max(2, (h.pages / most) * height) : 0;
      const two = (n) => String(n).padStart(2, '0');
      return [
        svg('rect', { class: 'bar', x: i * width + 2, y: 10 + height - y, width: width - 4, height: y, rx: 2 }, svg('title', {}, two(i) + ':00 UTC, ' + short(h.pages) + ' pages: ' + h.spans.join('; '))),
        svg('text', { x: i * width + width / 2, y: height + 26, 'text-anchor': 'middle' }, two(i)),
        svg('text', { class: 'local', x: i * width + width / 2, y: height + 42, 'text-anchor': 'middle' }, two((((i + Math.floor(offset)) % 24) + 24) % 24)),
      ];
    });
    const texts = new Map();
    answer.hours.forEach((h, i) => h.spans.forEach((s) => {
      const what = s.slice(6);
      if (!texts.has(what)) {
        texts.set(what, []);
      }
      texts.get(what).push(s.slice(0, 5));
    }));
    at('rates').replaceChildren(
      element('p', { class: 'lead' }, element('strong', {}, crawler.name), ' now: ', answer.pace + '.'),
      element('p', {}, answer.pages.toLocaleString('en') + ' pages take ', element('strong', {}, answer.takes), ', if every answer comes at once.'),
      element('figure', {}, svg('svg', { viewBox: '0 0 ' + 24 * width + ' ' + (height + 46), role: 'img', 'aria-label': 'Pages an hour, from ' + short(Math.min(...answer.hours.map((h) => h.pages))) + ' to ' + short(most) },
        ...bars), element('figcaption', { class: 'soft' }, 'Pages an hour, at most ' + short(most) + '. Upper hours: UTC; lower: your clock (UTC' + (offset < 0 ? '−' : '+') + Math.abs(offset) + ').')),
      element('ul', { class: 'paces' }, ...[...texts].slice(0, 12).map(([what, from]) => element('li', {}, (texts.size > 1 ? 'from ' + from[0] + ': ' : 'all day: ') + what))),
      answer.entries.length ? element('h3', {}, 'What the file says') : '',
      answer.entries.length ? element('ul', { class: 'entries' }, ...answer.entries.map((e) => element('li', {}, lineButton(e.line), ' ', element('code', {}, e.field + ': ' + e.value), ' ', element('span', { class: 'soft' }, e.fate + (e.why ? ': ' + e.why : ''))))) : '');
  }

  function sitemaps(facts) {
    at('sitemaps').replaceChildren(element('p', { class: 'lead' }, facts.sitemaps.length ? count(facts.sitemaps.length, 'sitemap is', 'sitemaps are') + ' named.' : 'No sitemap is named.'),
      list('ul', facts.sitemaps.map((s) => element('li', {}, element('code', {}, s)))));
  }

  // told is a fetch in one sentence.
  function told(r) {
    const time = (t) => new Date(t).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });
    const over = (r.hops || []).length - 1;
    switch (r.outcome) {
      case 'success':
        return 'has this file' + (over > 0 ? ', behind ' + over + (over === 1 ? ' redirect' : ' redirects') + ' at ' + r.final_url : '') + (r.expires ? '. It holds until ' + time(r.expires) + '.' : '.');
      case 'unavailable':
        return 'has no robots.txt' + (r.status ? ' (status ' + r.status + ')' : '') + ': everything may be fetched.';
    }
    const why = r.status ? 'answers with status ' + r.status : 'cannot be asked: ' + r.note;
    const since = r.failing_since ? ' since ' + time(r.failing_since) : '';
    return why + since + (r.last_good ? '. Its last good file, of ' + time(r.last_good.fetched) + ', still holds.' : '. Nothing may be fetched for now.');
  }

  // record shows what came of a fetch: every member that is a value, redirects in
  // their order.
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
    at('record').replaceChildren(element('details', {}, element('summary', {}, element('strong', {}, new URL(url).host), ' ', told(r)),
      element('dl', {}, ...rows.slice(0, 40).map(([k, v]) => element('div', {}, element('dt', {}, k), element('dd', {}, v))))));
  }

  return { why, changes, findings, rates, sitemaps, record };
}
