// The page: its state, the questions to the engine, and the buttons.

import { createEngine, request } from './engine.js';
import { createEditor, units } from './editor.js';
import { because, copies, createMatrix, element, groupOf, inWords, loading, narrow, short, words } from './matrix.js';
import * as link from './link.js';
import { capital, panels } from './panels.js';
import { readURLs } from './lists.js';
import { concat, decode, encode } from './text.js';
import shop from '../../../../../examples/shop.txt';
import blog from '../../../../../examples/blog.txt';
import tricky from '../../../../../examples/tricky.txt';

const $ = (id) => document.getElementById(id);

const dialects = ['rfc9309', 'google', 'google-cpp', 'google-2019', 'google-legacy', 'seznam', 'bing', 'yandex'];
const auto = 'auto'; // instead of a dialect: all that the directory documents of the crawler
const all = 'all'; // instead of a dialect: one column becomes eight
const stated = [auto, ...dialects, all];
const titles = { auto: 'Auto', rfc9309: 'RFC 9309', google: 'Google', 'google-cpp': 'Google C++ library', 'google-2019': 'Google 2019', 'google-legacy': 'Google before 2019', seznam: 'Seznam', bing: 'Bing', yandex: 'Yandex', all: 'All dialects' };

const mostURLs = 1000;
const mostCrawlers = 20;
const mostTokens = 20; // of one crawler
const mostOffered = 100; // crawlers of the file that are suggested
const mostFile = 8 << 20; // bytes of a file that is opened
const pause = 120; // ms without a change until the other questions than for verdicts are asked
const idle = 300; // likewise until the slow ones are, at least
const mostIdle = 2000; // and at most
const mostVersions = 20; // of the text, kept in this browser
const mostVersion = 100 << 10; // characters of one

const examples = {
  shop: {
    text: shop, title: 'Shop',
    crawlers: [['auto', 'Googlebot'], ['auto', 'GPTBot'], ['auto', 'SeznamBot']],
    urls: ['/basket', '/list?sort=price', '/list?sort=new', '/account/register', '/images/products/1.jpg', '/about'],
  },
  blog: {
    text: blog, title: 'Blog',
    crawlers: [['auto', 'Googlebot'], ['auto', 'GPTBot'], ['auto', 'CCBot']],
    urls: ['/', '/search', '/search/about', '/about', '/caf\u00e9/archiv/1', '/drafts/next'],
  },
  tricky: {
    text: tricky, title: 'Mistakes',
    crawlers: [['auto', 'MyBot'], ['auto', 'Googlebot'], ['auto', 'MJ12bot'], ['auto', 'FirstBot'], ['auto', 'TieBot']],
    urls: ['/misspelled/', '/no-colon/', '/private/', '/admin/', '/printer', '/page.html', '/both/'],
  },
};

const state = {
  bytes: null, // the file as it came, until it is edited
  encoded: null, // the edited text as bytes
  crawlers: [],
  urls: [],
  before: null, // the bytes to compare with
  pristine: true, // the text is an example: a paste replaces it
  file: 0, // counts changes of the text
  version: 0, // counts changes of anything
  answered: -1, // the version that the results are about
  facts: { kinds: '', notes: [], names: [] },
  read: new Map(), // columns of answers, by crawler as written: how it reads the file
  findings: null,
  never: [], // lines of rules that never decide
  mode: '',
  hovered: null,
  tab: 'why',
  topic: 'ai',
  live: null, // the file of the site that was fetched last
};

const nonce = document.querySelector('script[nonce]')?.nonce || '';

// Messages.

let lastSaid = 0;
let sayLater;
// say announces a sentence to screen readers, at most one a second.
function say(sentence) {
  clearTimeout(sayLater);
  sayLater = setTimeout(() => {
    lastSaid = Date.now();
    $('said').textContent = sentence;
  }, Math.max(0, lastSaid + 1000 - Date.now()));
}

function message(sentence) {
  $('message').hidden = !sentence;
  $('message').replaceChildren(...(sentence ? [element('span', {}, sentence), element('button', { type: 'button', 'aria-label': 'Dismiss', onclick: () => message('') }, '×')] : []));
}

// The file.

function file() {
  if (state.bytes) {
    return state.bytes;
  }
  state.encoded ||= encode(editor.text());
  return state.encoded;
}

const text = () => editor.text();

function setFile(bytes, undoable) {
  remember();
  message('');
  editor.replace(decode(bytes), undoable);
  state.bytes = bytes;
  state.pristine = false;
  $('record').hidden = true;
  changed();
}

const editor = createEditor($('text'), nonce, {
  onChange(byProgram) {
    state.file++;
    state.bytes = null;
    state.encoded = null;
    if (!byProgram) {
      state.pristine = false;
      changed();
    }
  },
  onLine(line) {
    if (state.hoveredLine !== line) {
      state.hoveredLine = line;
      matrix.light(line);
    }
  },
  onPaste(event) {
    const text = event.clipboardData?.getData('text/plain');
    const pasted = event.clipboardData?.files?.[0];
    if (pasted) {
      event.preventDefault();
      openFile(pasted);
      return true;
    }
    if (!text || !state.pristine) {
      return false;
    }
    event.preventDefault();
    setFile(encode(text), true);
    return true;
  },
  onLeave() {
    view('results');
    matrix.focus();
  },
});

async function openFile(blob) {
  if (blob.size > mostFile) {
    message('The file has ' + blob.size.toLocaleString('en') + ' bytes; this page opens at most ' + mostFile.toLocaleString('en') + '.');
    return;
  }
  const bytes = new Uint8Array(await blob.arrayBuffer());
  if (blob.name?.endsWith('.robots.json')) {
    try {
      restore(link.restored(JSON.parse(decode(bytes)), stated));
    } catch {
      message('The file was not saved by this page.');
    }
    return;
  }
  setFile(bytes, true);
}

// The crawlers and URLs.

const written = (c) => [c.dialect, ...c.tokens].join('\t');

// columns are the crawlers; one that is read in all dialects has eight columns. The engine names them, and the dialect in which they
// read the file.
function columns() {
  return state.crawlers.flatMap(({ dialect, tokens }, of) => (dialect === all ? dialects : [dialect]).map((d, i) => {
    const read = state.read.get(written({ dialect: d, tokens }));
    return { name: read?.name || tokens[0] || '*', dialect: d, reads: read?.dialect || d, tokens, of, first: i === 0 };
  })).slice(0, 60);
}

let directory = new Map(); // of crawlers, by their names in lower case
let checks = new Map(); // of lint, by their ids

// crawlerOf returns the crawler that a user types: product tokens with commas, most specific first, or a full User-Agent header.
function crawlerOf(text) {
  const list = /[(/]/.test(text) ? [] : text.split(',').map((t) => t.trim()).filter(Boolean);
  return { dialect: auto, tokens: list.length > 1 ? list.slice(0, mostTokens) : [text] };
}

const were = (n) => n.toLocaleString('en') + (n === 1 ? ' was' : ' were');

function addCrawlers(list) {
  const names = new Set(state.crawlers.map((c) => (c.tokens[0] || '*').toLowerCase()));
  const fresh = list.filter((c) => !names.has((c.tokens[0] || '*').toLowerCase()));
  const room = Math.max(0, mostCrawlers - state.crawlers.length);
  state.crawlers.push(...fresh.slice(0, room));
  if (fresh.length > room) {
    message('The table has at most ' + mostCrawlers + ' crawlers; ' + were(fresh.length - room) + ' not added.');
  }
  changed();
}

function remove(i) {
  const kept = chosen();
  picked = kept && { url: kept.url, crawler: written(kept.crawler), news: '' };
  state.crawlers.splice(i, 1);
  refocus = !state.crawlers.length ? '#newcrawler' : narrow.matches ? '.picker' : 'select[data-crawler="' + Math.min(i, state.crawlers.length - 1) + '"]';
  changed();
}

// heads returns the heads of the columns, and of the one in which a crawler is added.
function heads() {
  const parts = columns().map((c) => {
    const crawler = state.crawlers[c.of];
    if (!c.first) {
      return [element('span', { class: 'name' }, element('span', {}, c.name)), element('span', { class: 'dialect' }, titles[c.dialect])];
    }
    const select = element('select', { 'aria-label': 'Dialect of ' + c.name, 'data-crawler': c.of }, ...stated.map((d) => element('option', { value: d, selected: d === crawler.dialect }, d === auto && c.reads !== auto ? titles[c.reads] + ' (auto)' : titles[d])));
    select.addEventListener('change', () => {
      const kept = chosen();
      crawler.dialect = select.value;
      picked = kept && { url: kept.url, crawler: written(kept.crawler.of === c.of ? crawler : kept.crawler), news: '' };
      refocus = 'select[data-crawler="' + c.of + '"]';
      changed();
    });
    return [element('span', { class: 'name', title: (state.read.get(written(c))?.tokens || c.tokens).join(', then ') }, element('span', {}, c.name),
      element('button', { type: 'button', class: 'quiet', 'aria-label': 'Remove ' + c.name, onclick: () => remove(c.of) }, '×')), select, ...short(state.read.get(written(c))).map((text) => element('span', { class: 'dialect remark' }, text))];
  });
  const input = element('input', { id: 'newcrawler', type: 'text', list: 'known', 'aria-label': 'Add a crawler', placeholder: '+', title: 'Product tokens with commas, most specific first, or a full User-Agent header', autocomplete: 'off', spellcheck: 'false', value: $('newcrawler')?.value || null });
  const add = () => {
    const name = input.value.trim();
    if (name && !/[\t\r\n]/.test(name)) {
      input.value = '';
      refocus = '#newcrawler';
      const crawler = crawlerOf(name);
      picked = narrow.matches && chosen() ? { url: chosen().url, crawler: written(crawler), news: '' } : picked;
      addCrawlers([crawler]);
    }
  };
  input.addEventListener('keydown', (event) => event.key === 'Enter' && add());
  // Choosing from the list fires input without a key.
  input.addEventListener('input', (event) => (!event.inputType || event.inputType === 'insertReplacementText') && add());
  return [...parts, [input, element('datalist', { id: 'known' })]];
}

// offer lists crawlers in the field for one: those of the file and of the directory.
function offer() {
  const seen = new Set(state.crawlers.map((c) => (c.tokens[0] || '*').toLowerCase()));
  const offered = [];
  for (const name of [...state.facts.names.slice(0, mostOffered), ...[...directory.values()].map((c) => c.name)]) {
    if (!seen.has(name.toLowerCase())) {
      seen.add(name.toLowerCase());
      offered.push(name);
    }
  }
  const list = $('known');
  if (list && [...list.options].map((o) => o.value).join() !== offered.join()) {
    list.replaceChildren(...offered.map((n) => element('option', { value: n })));
  }
}

// card returns what an open card shows of a result, and buttons for it.
function card(row, cell, column, explain) {
  const button = (label, onclick) => element('button', { type: 'button', onclick }, label);
  return [
    element('p', {}, cell.error || (cell.line ? element('code', {}, text().split(/\r\n?|\n/)[cell.line - 1] || '') : capital(because(cell)))),
    element('p', { class: 'soft' }, capital(groupOf(column))),
    element('div', { class: 'tools' }, cell.line ? button('Show line ' + cell.line, () => reveal(cell.line)) : null,
      button('Why', () => {
        openTab('why');
        explain();
      }),
      button('Edit', () => document.querySelector('input.url[data-row="' + row + '"]').focus()),
      button('Remove', () => {
        setURLs(state.urls.filter((u, i) => i !== row));
        refocus = state.urls.length ? '.picked[data-row="' + Math.min(row, state.urls.length - 1) + '"]' : '#newurl';
        changed();
      })),
  ];
}

let picked = null; // the URL that is selected after the table is drawn anew, for a crawler or the selected one
let refocus = ''; // what has the focus after the table is drawn anew

// setURLs replaces the URLs of the table.
function setURLs(urls) {
  if (urls.length > mostURLs) {
    message('The table has at most ' + mostURLs.toLocaleString('en') + ' URLs; the other ' + were(urls.length - mostURLs) + ' left out.');
  }
  state.urls = urls.slice(0, mostURLs);
}

function addURLs(text) {
  const urls = readURLs(text);
  const fresh = urls.filter((u) => !state.urls.includes(u));
  if (urls.length) {
    picked = { url: fresh[0] || urls[0], news: fresh.length ? '' : 'Already in the table: ' };
    setURLs([...state.urls, ...fresh]);
    changed();
  }
}

$('adding').addEventListener('submit', (event) => {
  event.preventDefault();
  addURLs($('newurl').value);
  $('newurl').value = '';
  $('newurl').focus();
});
$('newurl').addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && !event.shiftKey) {
    event.preventDefault();
    $('adding').requestSubmit();
  }
});
$('newurl').addEventListener('paste', (event) => {
  const text = event.clipboardData?.getData('text/plain') || '';
  if (/[\r\n]/.test(text.trim())) {
    event.preventDefault();
    addURLs(text);
  }
});

// The questions.

const isStatic = document.documentElement.dataset.engine === 'static'; // files alone, without a server
const engine = createEngine(document.documentElement.dataset.engine !== 'server', onMode, !isStatic);

// Proofs can take seconds, so they have a separate worker, and no verdict waits for one. It uses the server only if the other
// one does, which the page then says; while the engine loads, nothing is sent.
let prover = null;

function prove(kind, args, done) {
  const byServer = !isStatic && (state.mode === 'server' || state.mode === 'failed');
  prover ||= createEngine(!byServer, () => {}, byServer);
  prover.ask(kind, args, done);
}

function onMode(mode, why) {
  if (mode === state.mode && mode !== 'failed') {
    return;
  }
  state.mode = mode;
  $('loading').hidden = true;
  clearTimeout(onMode.late);
  document.body.dataset.engine = mode;
  if (mode === 'server') {
    prover = null;
    askSlow();
  }
  const privacy = {
    loading: 'Your text stays in this browser.',
    wasm: 'Your text stays in this browser.',
    server: 'Results come from ' + location.host + ': your text is sent there, and not stored.',
    failed: capital(why || '') + '.',
  };
  $('privacy').textContent = privacy[mode];
  $('privacy').title = mode === 'server' && why ? 'The engine does not run in this browser: ' + why : '';
  if (mode === 'loading') {
    onMode.late = setTimeout(() => { $('loading').hidden = false; }, 3000);
  }
  if (mode === 'wasm' && !isStatic && 'serviceWorker' in navigator) {
    navigator.serviceWorker.register('page/sw.js', { scope: './' }).catch(() => {}); // without it the page needs its server
  }
}

let later;

// askLater asks what the verdicts do not need once nothing has changed for a moment, so that the next keystroke does not wait for it.
function askLater() {
  clearTimeout(later);
  later = setTimeout(() => {
    later = 0;
    askWhy();
    engine.ask('parse', () => [file()], withFile((facts) => {
      state.facts = facts;
      offer();
      editor.kinds(facts.kinds);
      $('about').hidden = !facts.notes.length;
      $('about').textContent = facts.notes.map((n) => capital(n.text) + '.').join(' ');
      status();
    }));
    askMatrix('engines');
  }, pause);
}

let slow;
let took = 0; // ms, to find the mistakes in the text before

// askSlow asks the slow questions once nothing has changed for a moment, or for as long as they take: they use a core that the
// verdicts need.
function askSlow() {
  clearTimeout(slow);
  slow = setTimeout(() => {
    slow = 0;
    let begun;
    prove('lint', () => {
      begun = Date.now();
      return [file()];
    }, withFile((answer, version) => {
      took = Date.now() - begun;
      state.findings = { ...answer, file: version };
      drawFindings();
      editor.findings(answer.findings, fix);
      status();
    }));
    askNever();
    askShow();
    askDiff();
    askAccess();
  }, Math.min(Math.max(idle, took), mostIdle));
}

// changed asks everything again; until the answers come, the old ones are marked.
function changed() {
  state.version++;
  show.blocking(null); // it is about an earlier text
  matrix.stale(true);
  document.body.classList.add('waiting');
  askMatrix();
  askLater();
  askSlow();
}

// withFile calls done with answers about the current text only.
function withFile(done) {
  const version = state.file;
  return (answer) => {
    if (answer.error) {
      complain(answer);
    } else if (version === state.file) {
      done(answer, version);
    }
  };
}

// complain shows the error of an answer. If the engine gives no answer, the line about privacy says so.
function complain(answer) {
  if (!answer.unanswered || state.answered < 0) {
    message(capital(answer.error) + '.');
  }
}

// drawWithout draws the table without results.
function drawWithout(pending) {
  const names = columns();
  matrix.show({ columns: names.map(() => ({ group: null })), rows: state.urls.map((url) => ({ url, cells: names.map(() => ({ pending })) })), rules: {} }, names);
}

// askMatrix asks for the verdicts, and as the kind engines also for the dialects that differ.
function askMatrix(kind = 'matrix') {
  let asked;
  let names;
  engine.ask(kind, () => {
    asked = state.version;
    names = columns();
    return [file(), names.map(written).join('\n'), state.urls.join('\n'), JSON.stringify({ engines: kind === 'engines' })];
  }, (answer) => {
    if (answer.error) {
      complain(answer);
      if (state.answered < 0) {
        drawWithout('no result');
      }
      return;
    }
    answer.rows.forEach((row, i) => { row.url = state.urls[i] ?? row.url; });
    state.answered = asked;
    state.read = new Map(answer.columns.map((c, i) => [written(names[i]), c]));
    names = names.map((n, i) => ({ ...n, name: answer.columns[i].name, reads: answer.columns[i].dialect }));
    state.names = names;
    matrix.show(answer, names, kind === 'engines');
    const fresh = asked === state.version;
    matrix.stale(!fresh);
    document.body.classList.toggle('waiting', !fresh);
    if (fresh && kind === 'engines') {
      drawCounts();
    }
    if (picked && fresh && names.length && state.urls.includes(picked.url)) {
      const col = names.findIndex((c) => written(c) === picked.crawler);
      matrix.choose(state.urls.indexOf(picked.url), col < 0 ? matrix.chosen()?.col || 0 : col);
      if (!refocus) {
        document.querySelector('#grid [aria-selected=true]').scrollIntoView({ block: 'nearest', inline: 'nearest' });
      }
      sayChosen(picked.news);
      picked = null;
      askWhy();
    } else if (!matrix.chosen()) {
      if (answer.rows.length && names.length) {
        matrix.choose(0, 0);
      }
      askWhy();
    }
    if (refocus) {
      document.querySelector(refocus)?.focus();
      refocus = '';
    }
    summary();
  });
}

function drawCounts() {
  const n = new Map();
  for (const row of matrix.answer().rows) {
    for (const cell of row.cells) {
      if (cell.line) {
        n.set(cell.line, (n.get(cell.line) || 0) + 1);
      }
    }
  }
  const list = [...n].map(([line, k]) => [line, k, false]);
  for (const line of state.never) {
    if (!n.has(line)) {
      list.push([line, 0, true]);
    }
  }
  editor.counts(list);
}

function askNever() {
  prove('decides', () => [file(), columns().map(written).join('\n')], withFile((answer) => {
    state.never = answer.lines;
    drawCounts();
  }));
}

// chosen is the crawler and URL of the chosen cell.
function chosen() {
  const at = matrix.chosen();
  const crawler = at && columns()[at.col];
  return crawler && state.urls[at.row] !== undefined ? { crawler, url: state.urls[at.row], at } : null;
}

function askWhy() {
  if (!chosen()) {
    $('why').replaceChildren();
    $('rates').replaceChildren();
    $('sitemaps').replaceChildren();
    editor.light(0, []);
    askOutlook();
    return;
  }
  let cell;
  engine.ask('explain', () => {
    cell = chosen() || { crawler: { dialect: auto, tokens: [], name: '*' }, url: '/' };
    return [file(), written(cell.crawler), cell.url];
  }, (answer) => {
    if (!answer.unanswered && chosen()) {
      show.why(answer, cell);
      light(answer);
    }
  });
  askOutlook();
}

function light(answer) {
  if (answer.error) {
    editor.light(0, []);
    return;
  }
  editor.light(answer.rule?.line || 0, answer.matches.filter((m) => !m.won).map((m) => m.line));
}

function hover(row, col) {
  const crawler = columns()[col];
  const url = state.urls[row];
  const key = row + ',' + col + ',' + state.version;
  if (!crawler || url === undefined || state.hovered === key) {
    return;
  }
  state.hovered = key;
  engine.ask('hover', () => [file(), written(crawler), url], (answer) => state.hovered === key && light(answer));
}

// askShow asks what the file declares for a crawler: its crawl rate and sitemaps.
function askShow() {
  const crawler = chosen()?.crawler || columns()[0];
  if (!crawler || state.tab !== 'more' || !['rates', 'sitemaps'].includes(state.topic)) {
    return;
  }
  engine.ask('show', () => [file(), written(crawler), String(Math.floor(Date.now() / 1000))], withFile((facts) => {
    show.rates(facts, crawler);
    show.sitemaps(facts);
  }));
}

// askAccess asks for the access of AI crawlers.
function askAccess() {
  if (state.tab === 'more' && state.topic === 'ai') {
    prove('access', () => [file()], withFile((table) => show.ai(table, directory)));
  }
}

// askOutlook asks what a search engine can do with the selected URL if it answers with the pasted headers.
function askOutlook() {
  const cell = chosen();
  if (!cell || state.tab !== 'more' || state.topic !== 'page' || !$('headers').value.trim()) {
    $('outlook').replaceChildren();
    return;
  }
  engine.ask('outlook', () => [file(), written(cell.crawler), cell.url, $('headers').value], withFile((answer) => show.outlook(answer, cell)));
}
$('headers').addEventListener('input', askOutlook);

// drawFindings draws the findings only where they are seen: a hostile file has hundreds.
function drawFindings() {
  if (state.findings && state.tab === 'lint') {
    show.lint(state.findings, checks);
  }
}

// Comparing: with the text at one time, an earlier version, the file of a site, or any other text.

const versions = () => {
  try {
    return JSON.parse(localStorage.getItem('robots-versions')) || [];
  } catch {
    return [];
  }
};

// remember keeps the text in this browser, to compare with later.
function remember() {
  const now = text();
  const list = versions();
  if (state.pristine || !now.trim() || now.length > mostVersion || list[0]?.text === now) {
    return;
  }
  try {
    localStorage.setItem('robots-versions', JSON.stringify([{ at: Date.now(), text: now }, ...list].slice(0, mostVersions)));
  } catch {} // no room, or not permitted: there are no earlier versions then
}
addEventListener('visibilitychange', () => document.visibilityState === 'hidden' && remember());

function compareWith(bytes) {
  state.before = bytes;
  $('before').value = bytes ? decode(bytes) : '';
  drawComparing();
  askDiff();
}

function drawComparing() {
  const comparing = Boolean(state.before);
  $('compare').setAttribute('aria-pressed', String(comparing));
  $('before').hidden = $('stop').hidden = !comparing;
  const option = (value, label) => element('option', { value }, label);
  $('version').replaceChildren(option('', comparing ? 'the text below' : 'choose…'), option('now', 'the text as it is now'), option('other', 'another text'),
    ...state.live ? [option('live', 'the live file of ' + state.live.host)] : [],
    ...versions().map((v, i) => option(String(i), 'version of ' + new Date(v.at).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' }) + ', ' + v.text.length.toLocaleString('en') + ' characters')),
    ...versions().length ? [option('forget', 'delete all earlier versions')] : []);
}

$('version').addEventListener('change', () => {
  const choice = $('version').value;
  if (choice === 'now') {
    compareWith(file().slice());
  } else if (choice === 'other') {
    compareWith(new Uint8Array());
    $('before').focus();
  } else if (choice === 'live') {
    compareWith(state.live.bytes);
  } else if (choice === 'forget') {
    localStorage.removeItem('robots-versions');
    drawComparing();
  } else if (choice) {
    compareWith(encode(versions()[choice].text));
  }
});
$('before').addEventListener('input', () => {
  state.before = encode($('before').value);
  askDiff();
});
$('stop').addEventListener('click', () => compareWith(null));

function askDiff() {
  if (!state.before) {
    show.changes(null);
    return;
  }
  let compared;
  prove('diff', () => {
    compared = columns();
    return [state.before, file(), compared.map(written).join('\n')];
  }, withFile((answer) => show.changes(answer, compared, directory)));
}

// fix applies the edits of a finding to the bytes that they are about.
function fix(finding) {
  if (!state.findings || state.findings.file !== state.file) {
    return;
  }
  const bytes = file();
  const parts = [];
  let at = 0;
  for (const e of [...finding.fix.edits].sort((a, b) => a.start - b.start)) {
    parts.push(bytes.subarray(at, e.start), e.text_b64 ? link.fromBase64(e.text_b64) : encode(e.text));
    at = e.end;
  }
  parts.push(bytes.subarray(at));
  editor.edit(decode(concat(parts)));
  say('Fixed line ' + finding.line);
}

function fixAll() {
  prove('fix', () => [file()], withFile((answer) => editor.edit(decode(link.fromBase64(answer.body)))));
}

function reveal(line) {
  view('file');
  editor.reveal(line);
  editor.focus();
}

const show = panels({
  reveal,
  fix,
  fixAll,
  addCrawlers,
  blockTraining() {
    const before = file().slice();
    prove('block', () => [file()], withFile((answer) => {
      if (answer.added) {
        setFile(link.fromBase64(answer.body), true);
      }
      show.blocking(answer, answer.added ? () => setFile(before, true) : null);
      say(answer.added ? 'Crawlers for AI training are blocked' : 'Nothing was changed');
    }));
  },
  addURL(url, crawler) {
    picked = { url, crawler: written(crawler), news: '' };
    if (!state.urls.includes(url)) {
      setURLs([url, ...state.urls]);
    }
    addCrawlers([crawler]);
    view('results');
  },
});

const matrix = createMatrix($('grid'), {
  heads,
  card,
  onChoose(explain) {
    summary();
    sayChosen('');
    askWhy();
    askShow();
    if (state.tab !== 'more') {
      openTab('why');
    }
    if (explain) {
      view('details');
      $('panel-' + state.tab).focus({ preventScroll: true });
      scrollTo(0, 0);
    }
  },
  onHover: hover,
  onLeave() {
    state.hovered = null;
    askWhy();
  },
  onURL(row, value) {
    const url = value.trim();
    if (url === state.urls[row]) {
      return;
    }
    setURLs(state.urls.flatMap((u, i) => (i !== row ? [u] : url ? readURLs(url) : [])));
    changed();
  },
});

function sayChosen(news) {
  const now = chosen();
  if (!now) {
    return; // it was removed, and the table is not drawn anew yet
  }
  const cell = matrix.answer().rows[now.at.row].cells[now.at.col];
  say(news + now.crawler.name + ', ' + now.url + ': ' + (cell.verdict ? words[cell.verdict] + (cell.line ? ' by ' : ', ') + because(cell) : inWords(cell)));
}

function summary() {
  const { rows } = matrix.answer();
  const names = state.names || [];
  const blocked = (col) => rows.filter((r) => r.cells[col]?.verdict === 'disallow').length;
  const parts = names.slice(0, 4).map((n, i) => n.name + ' ' + (i ? blocked(i) : blocked(i) + ' of ' + rows.length + ' blocked'));
  $('summary').textContent = !rows.length || !names.length ? '' : narrow.matches ? blocked(matrix.chosen()?.col) + ' of ' + rows.length + ' URLs blocked' : parts.join(' · ') + (names.length > 4 ? ' …' : '');
  state.cells = rows.length * names.length;
  status();
}

function status() {
  if (state.facts.bytes === undefined) {
    return; // there is no answer yet
  }
  const found = state.findings?.findings.length;
  const parts = [state.facts.bytes.toLocaleString('en') + (state.facts.bytes === 1 ? ' byte' : ' bytes'), (state.cells || 0).toLocaleString('en') + (state.cells === 1 ? ' result' : ' results')];
  if (found !== undefined) {
    parts.push(found + (found === 1 ? ' problem' : ' problems'));
  }
  $('status').textContent = parts.join(' · ');
  $('tab-lint').textContent = 'Lint' + (found ? ' ' + found : '');
  document.querySelector('.views [data-view=details]').textContent = 'Why · ' + $('tab-lint').textContent;
}

// Tabs and views.

const tabs = ['why', 'changes', 'lint', 'more'];
const topics = ['ai', 'rates', 'sitemaps', 'page'];

function openTab(name) {
  state.tab = name;
  for (const t of tabs) {
    $('tab-' + t).setAttribute('aria-selected', String(t === name));
    $('tab-' + t).tabIndex = t === name ? 0 : -1;
    $('panel-' + t).hidden = t !== name;
  }
  if (name === 'changes') {
    drawComparing();
  }
  askShow();
  askAccess();
  askOutlook();
  drawFindings();
}

function openTopic(name) {
  state.topic = name;
  for (const t of topics) {
    document.querySelector('[data-topic=' + t + ']').setAttribute('aria-pressed', String(t === name));
    $(t).hidden = t !== name;
  }
  askShow();
  askAccess();
  askOutlook();
}
topics.forEach((t) => document.querySelector('[data-topic=' + t + ']').addEventListener('click', () => openTopic(t)));

tabs.forEach((t, i) => {
  $('tab-' + t).addEventListener('click', () => openTab(t));
  $('tab-' + t).addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) {
      event.preventDefault();
      const next = tabs[(i + step + tabs.length) % tabs.length];
      openTab(next);
      $('tab-' + next).focus();
    }
  });
  $('panel-' + t).addEventListener('keydown', (event) => {
    if (event.key === 'Escape') {
      view('results');
      matrix.focus();
    }
  });
});

// view chooses the part that a narrow window shows.
function view(name) {
  document.body.dataset.view = name;
  document.querySelectorAll('.views button').forEach((b) => (b.dataset.view === name ? b.setAttribute('aria-current', 'true') : b.removeAttribute('aria-current')));
  editor.measure();
}
document.querySelectorAll('.views button').forEach((b) => b.addEventListener('click', () => view(b.dataset.view)));

// A narrow window has one menu.
const fold = () => { $('actions').open = !narrow.matches; };
narrow.addEventListener('change', () => {
  fold();
  summary();
  const now = matrix.chosen();
  now && matrix.choose(now.row, now.col);
});
fold();

// Buttons.

const openMenus = () => [...document.querySelectorAll('details.menu[open]')].filter((m) => narrow.matches || m.id !== 'actions');

document.addEventListener('keydown', (event) => {
  if (event.key === '?' && !event.target.closest('input, textarea, select, [contenteditable=true]')) {
    event.preventDefault();
    $('helping').showModal();
  } else if (event.key === 'Escape') {
    const open = openMenus().at(-1);
    if (open) {
      open.open = false;
      open.querySelector('summary').focus();
    }
  }
});
document.addEventListener('click', (event) => {
  openMenus().forEach((m) => {
    if (!m.contains(event.target) || event.target.closest('.sheet button')) {
      m.open = false;
    }
  });
});
$('help').addEventListener('click', () => $('helping').showModal());

$('open').addEventListener('click', () => $('upload').click());
$('upload').addEventListener('change', () => {
  if ($('upload').files[0]) {
    openFile($('upload').files[0]);
  }
  $('upload').value = '';
});
$('paste').addEventListener('click', async () => {
  try {
    setFile(encode(await navigator.clipboard.readText()), true);
  } catch {
    message('This browser does not let the page read the clipboard: paste into the text with Ctrl+V.');
    editor.focus();
  }
});
document.addEventListener('dragover', (event) => {
  event.preventDefault();
  document.body.classList.add('dropping');
});
document.addEventListener('dragleave', (event) => {
  if (!event.relatedTarget) {
    document.body.classList.remove('dropping');
  }
});
document.addEventListener('drop', (event) => {
  document.body.classList.remove('dropping');
  const dropped = event.dataTransfer?.files?.[0];
  const text = event.dataTransfer?.getData('text/plain');
  if (dropped || text) {
    event.preventDefault();
    event.stopPropagation();
    if (dropped) {
      openFile(dropped);
    } else {
      setFile(encode(text), true);
    }
  }
}, true);

for (const [key, example] of Object.entries(examples)) {
  document.querySelector('#examples .sheet').append(element('button', { type: 'button', onclick: () => useExample(key, true) }, example.title));
}

$('compare').addEventListener('click', () => {
  openTab('changes');
  view('details');
  if (state.before) {
    compareWith(null);
  } else {
    compareWith(file().slice());
    say('Comparing with the text as it is now');
  }
});

async function clipboard(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    say(what + ' copied');
    $('status').textContent = what + ' copied.';
  } catch {
    message('This browser does not let the page copy. The text is: ' + text.slice(0, 2000));
  }
}

function snapshot() {
  return { file: file(), urls: state.urls, crawlers: state.crawlers, before: state.before };
}

async function copyLink() {
  const fragment = await link.write(snapshot());
  if (fragment.length > link.mostLink) {
    const address = URL.createObjectURL(new Blob([JSON.stringify(link.portable(snapshot()))], { type: 'application/json' }));
    element('a', { href: address, download: 'page.robots.json' }).click();
    URL.revokeObjectURL(address);
    message('The link would have ' + fragment.length.toLocaleString('en') + ' characters. Everything was saved to page.robots.json instead; “Open” reads it.');
    return;
  }
  history.replaceState(null, '', fragment);
  await clipboard(location.href, 'Link');
  if (location.href.length > link.noteAbove) {
    message('The link was copied. It has ' + location.href.length.toLocaleString('en') + ' characters; some mail programs truncate links over ' + link.noteAbove.toLocaleString('en') + '.');
  }
}

const quoted = (s) => "'" + s.replaceAll("'", "'\\''") + "'";

// curl is a command that gets the selected result from the API, with the text as it is.
function curl({ tokens, dialect }, url) {
  const question = { url, agent: tokens.length ? tokens : '*', dialect };
  try {
    question.robots = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(file());
  } catch {
    question.robots_b64 = btoa(Array.from(file(), (b) => String.fromCharCode(b)).join(''));
  }
  const server = isStatic ? 'http://127.0.0.1:8780/' : location.href;
  return 'curl -s -H ' + quoted('Content-Type: application/json') + ' -d ' + quoted(JSON.stringify({ questions: [question] })) + ' ' + quoted(new URL('v1/check', server).href);
}

// sentence is the selected result for a ticket.
function sentence(crawler, url, cell) {
  const rule = cell.line ? ' by line ' + cell.line + ' of robots.txt (' + (text().split(/\r\n?|\n/)[cell.line - 1] || '').trim() + ')' : ': ' + because(cell);
  return url + ' is ' + words[cell.verdict] + ' for ' + crawler.name + rule + ', as ' + titles[crawler.reads] + ' reads it.';
}

document.querySelectorAll('[data-copy]').forEach((b) => b.addEventListener('click', () => {
  const kind = b.dataset.copy;
  if (kind === 'link') {
    copyLink();
    return;
  }
  const answer = matrix.answer();
  const at = matrix.chosen() || { row: 0, col: 0 };
  const cell = answer.rows[at.row]?.cells[at.col];
  if (!cell) {
    message('There is no result to copy yet.');
  } else if (kind === 'curl') {
    clipboard(curl(state.names[at.col], state.urls[at.row]), 'Command');
  } else if (kind === 'sentence') {
    clipboard(cell.error ? state.urls[at.row] + ' is not a valid URL.' : sentence(state.names[at.col], state.urls[at.row], cell), 'Sentence');
  } else {
    clipboard(copies[kind](answer, state.names, at.col), b.textContent);
    const { dialect } = state.names[at.col];
    const others = state.names.filter((n) => n.dialect !== dialect).map((n) => n.name + ' as ' + titles[n.dialect]);
    if (kind === 'tests' && others.length) {
      message('A test file has one dialect. This one is for ' + titles[dialect] + ', without ' + others.join(', ') + '.');
    }
  }
}));

// Fetching a site: the only thing that leaves the browser.

const site = () => {
  const typed = $('site').value.trim();
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(typed) ? typed : 'https://' + typed;
};

$('fetching').addEventListener('submit', (event) => {
  event.preventDefault();
  fetchSite();
});

// fetchSite shows the robots.txt of a site, which the server fetches. The path of the URL, if there is one, becomes the first URL.
async function fetchSite() {
  const url = site();
  let parsed;
  try {
    parsed = new URL(url);
  } catch {
    message('“' + $('site').value.trim() + '” is not a valid URL.');
    return;
  }
  $('fetchgo').disabled = true;
  message('');
  try {
    const query = 'v1/robots?url=' + encodeURIComponent(url);
    const record = await (await request(query)).json();
    if (record.outcome === 'refused') {
      throw new Error('this server may not fetch that address, which crawlers might reach: ' + record.note);
    }
    const body = await fetch(query + '&body=1');
    const bytes = body.ok ? new Uint8Array(await body.arrayBuffer()) : encode(replacement(record, parsed.host));
    state.live = { host: parsed.host, bytes };
    setFile(bytes, true);
    const path = parsed.pathname + parsed.search;
    if (path !== '/' && path !== '/robots.txt') {
      setURLs([path, ...state.urls.filter((u) => u !== path)]);
      changed();
    }
    show.record(record, url);
    view('results');
    say('robots.txt of ' + parsed.host + ' loaded');
  } catch (error) {
    message(capital(error.message) + '.');
  } finally {
    $('fetchgo').disabled = false;
  }
}

// replacement is the text for a site whose robots.txt is missing or unavailable: it has the same effect.
function replacement(record, host) {
  return record.outcome === 'unavailable'
    ? '# ' + host + ' has no robots.txt, so every URL is allowed.\n'
    : '# The robots.txt of ' + host + ' is unavailable, so every URL is blocked for now.\nUser-agent: *\nDisallow: /\n';
}

addEventListener('offline', () => message('You are offline: everything works except fetching a site.'));
addEventListener('online', () => message(''));

// Start.

// useExample shows an example. URLs and crawlers that are not of an example stay in the table.
function useExample(key, undoable) {
  const e = examples[key];
  const { u, c } = link.portable(snapshot());
  const own = (list, kind) => (Object.values(examples).some((x) => JSON.stringify(x[kind]) === JSON.stringify(list)) ? [] : list);
  const crawlers = (list) => list.map(([dialect, ...tokens]) => ({ dialect, tokens }));
  setFile(encode(e.text), undoable);
  setURLs([...new Set([...own(u, 'urls'), ...e.urls])]);
  state.crawlers = crawlers(own(c, 'crawlers'));
  addCrawlers(crawlers(e.crawlers));
  state.pristine = true;
}

function restore(saved) {
  state.crawlers = saved.crawlers;
  state.before = saved.before;
  setURLs(saved.urls);
  setFile(saved.file, false);
  $('before').value = state.before ? decode(state.before) : '';
  if (state.before) {
    openTab('changes');
  }
}

// fromFragment shows the content of the link, if it has some that can be read; instead says what is shown if not.
async function fromFragment(instead) {
  if (location.hash.length < 2) {
    return;
  }
  try {
    restore(await link.read(location.hash, stated));
  } catch (error) {
    message(`${error.message} ${instead}`);
  }
}

addEventListener('hashchange', () => fromFragment('Nothing has changed.'));

useExample('shop', false);
await fromFragment('The example is shown.');
show.changes(null);
if (state.answered < 0) { // the table is there before the engine
  drawWithout(loading);
}
engine.ask('directory', () => [], (answer) => {
  directory = new Map((answer.crawlers || []).map((c) => [c.name.toLowerCase(), c]));
  checks = new Map((answer.checks || []).map((c) => [c.id, c]));
  offer();
  drawFindings();
});

// For the tests of the page.
const busy = () => Boolean(later || slow) || engine.busy() || Boolean(prover?.busy());
globalThis.page = { copies, decode, encode, matrix, units, snapshot, link, restore, busy, state, readURLs, setURLs, changed, curl, file, insert: (t) => editor.edit(t + text()) };
