// The crawlers of the table.

import { $, element, narrow } from './dom.js';
import { short } from './matrix.js';
import { message, question, were } from './messages.js';
import { changed, complain, engine } from './questions.js';
import { auto, columns, historic, inTable, mostCrawlers, state, stated, titles, written } from './state.js';
import { undo } from './steps.js';
import { chosen, shown } from './table.js';
import { openCrawler } from './typed.js';
import { setURLs } from './urls.js';

const mostOffered = 100; // crawlers of the file that are suggested

// begin adds the first crawlers and URL for one's own file.
export function begin(names) {
  state.begin = false;
  state.crawlers = names.map((name) => ({ dialect: auto, tokens: [name] }));
  if (!state.urls.length) {
    setURLs(['/']);
  }
  undo.amend();
  changed();
}

// addCrawlers adds crawlers that are typed: product tokens with commas, most specific first, a full User-Agent header, or a name
// that people use. The engine reads them. asTyped adds them whatever they resemble.
export function addCrawlers(texts, asTyped) {
  engine.ask('crawler', () => [texts.join('\n'), inTable()], (answer) => {
    if (answer.error) {
      complain(answer);
      return;
    }
    const fresh = [];
    answer.crawlers.forEach((mention, i) => {
      const open = (!asTyped || mention.duplicate !== null) && openCrawler(mention, texts[i], { add: (text) => addCrawlers([text], true), exactly: () => addCrawlers([texts[i]], true) });
      if (!open) {
        fresh.push({ dialect: auto, tokens: mention.tokens });
      } else if (texts.length === 1) {
        question(...open, $('newcrawler'));
      }
    });
    pushCrawlers(fresh);
  });
}

function pushCrawlers(fresh) {
  const room = Math.max(0, mostCrawlers - state.crawlers.length);
  if (fresh.length > room) {
    message('The table has at most ' + mostCrawlers + ' crawlers; ' + were(fresh.length - room) + ' not added.');
  }
  const added = fresh.slice(0, room);
  if (added.length) {
    question.close();
    state.picked = narrow.matches && chosen() ? { url: chosen().url, crawler: written(added[0]), news: '' } : state.picked;
    undo.step('adding ' + (added.length === 1 ? added[0].tokens[0] : added.length + ' crawlers'), () => state.crawlers.push(...added));
    changed();
  }
}

function remove(i) {
  const kept = chosen();
  state.picked = kept && { url: kept.url, crawler: written(kept.crawler), news: '' };
  undo.step('removing ' + (state.crawlers[i].tokens[0] || '*'), () => state.crawlers.splice(i, 1));
  state.refocus = !state.crawlers.length ? '#newcrawler' : narrow.matches ? '.picker' : 'select[data-crawler="' + Math.min(i, state.crawlers.length - 1) + '"]';
  changed();
}

// sortButton is the title of a column, which orders the rows.
export function sortButton(sort, column, title) {
  const order = shown.order(sort, column);
  return element('button', { type: 'button', class: 'quiet sort', 'data-sort': sort + column, title: sort === 'url' ? 'Sort by URL' : 'Sort by verdict, blocked first', onclick() {
    state.refocus = '[data-sort="' + sort + column + '"]';
    shown.press(sort, column);
  } }, element('span', {}, title), element('span', { 'aria-hidden': 'true', class: 'order' }, { ascending: '↑', descending: '↓' }[order] || '↕'));
}

// heads returns the heads of the columns.
export function heads() {
  return columns().map((c) => {
    const crawler = state.crawlers[c.of];
    if (!c.first) {
      return [element('span', { class: 'name' }, element('span', {}, c.name)), element('span', { class: 'dialect' }, titles[c.dialect])];
    }
    const option = (d) => element('option', { value: d, selected: d === crawler.dialect }, d === auto && c.reads !== auto ? titles[c.reads] + ' (auto)' : titles[d]);
    const select = element('select', { 'aria-label': 'Dialect of ' + c.name, 'data-crawler': c.of }, ...stated.filter((d) => !historic.includes(d)).map(option), element('optgroup', { label: 'Historic and libraries' }, ...historic.map(option)));
    select.addEventListener('change', () => {
      const kept = chosen();
      undo.step('the dialect of ' + c.name, () => { crawler.dialect = select.value; });
      state.picked = kept && { url: kept.url, crawler: written(kept.crawler.of === c.of ? crawler : kept.crawler), news: '' };
      state.refocus = 'select[data-crawler="' + c.of + '"]';
      changed();
    });
    const column = columns().findIndex((other) => other.of === c.of);
    return [element('span', { class: 'name', title: (state.read.get(written(c))?.tokens || c.tokens).join(', then ') }, sortButton('verdict', column, c.name),
      element('button', { type: 'button', class: 'quiet', 'aria-label': 'Remove ' + c.name, onclick: () => remove(c.of) }, '×')), select, ...short(state.read.get(written(c))).map((text) => element('span', { class: 'dialect remark' }, text))];
  });
}

$('addcrawler').addEventListener('submit', (event) => {
  event.preventDefault();
  addTyped();
  $('newcrawler').focus();
});

// Choosing from the list fires input without a key.
$('newcrawler').addEventListener('input', (event) => (!event.inputType || event.inputType === 'insertReplacementText') && addTyped());

function addTyped() {
  const name = $('newcrawler').value.trim();
  if (name && !/[\t\r\n]/.test(name)) {
    $('newcrawler').value = '';
    addCrawlers([name]);
  }
}

// offer lists crawlers in the field for one: those of the file and of the directory.
export function offer() {
  const seen = new Set(state.crawlers.map((c) => (c.tokens[0] || '*').toLowerCase()));
  const offered = [];
  for (const name of [...state.facts.names.slice(0, mostOffered), ...[...state.directory.values()].map((c) => c.name)]) {
    if (!seen.has(name.toLowerCase())) {
      seen.add(name.toLowerCase());
      offered.push(name);
    }
  }
  const list = $('known');
  if ([...list.options].map((o) => o.value).join() !== offered.join()) {
    list.replaceChildren(...offered.map((n) => element('option', { value: n })));
  }
}
