// The page: its state, and what becomes of the engine's answers.

import { createEngine } from './engine.js';
import { createEditor, units } from './editor.js';
import { copies, createMatrix, element } from './matrix.js';
import * as link from './link.js';
import { panels } from './panels.js';
import shop from '../../../../../examples/shop.txt';
import blog from '../../../../../examples/blog.txt';
import tricky from '../../../../../examples/tricky.txt';

const $ = (id) => document.getElementById(id);
const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

const dialects = ['rfc9309', 'google', 'google-cpp', 'google-2019', 'google-legacy', 'seznam', 'bing', 'yandex'];
const all = 'all'; // in place of a dialect: one column becomes eight

const mostURLs = 1000;
const mostFile = 8 << 20; // bytes that are opened
const idle = 300; // ms without a change until the slow questions are asked

const examples = {
  shop: {
    text: shop, title: 'Shop',
    crawlers: [['google', 'Googlebot'], ['rfc9309', 'GPTBot'], ['seznam', 'SeznamBot']],
    urls: ['/basket', '/list?sort=price', '/list?sort=new', '/account/register', '/images/products/1.jpg', '/about'],
  },
  blog: {
    text: blog, title: 'Blog',
    crawlers: [['google', 'Googlebot'], ['rfc9309', 'GPTBot'], ['rfc9309', 'CCBot']],
    urls: ['/', '/search', '/search/about', '/about', '/caf\u00e9/archiv/1', '/drafts/next'],
  },
  tricky: {
    text: tricky, title: 'Mistakes',
    crawlers: [['rfc9309', 'MyBot'], ['google', 'Googlebot'], ['rfc9309', 'MJ12bot'], ['rfc9309', 'FirstBot'], ['rfc9309', 'TieBot']],
    urls: ['/misspelt/', '/no-colon/', '/private/', '/admin/', '/printer', '/page.html', '/both/'],
  },
};

const state = {
  bytes: null, // the file as it came, until somebody edits it
  encoded: null, // what is sent of an edited one
  crawlers: [],
  urls: [],
  before: null, // the bytes that are compared with
  pristine: true, // the text is an example: a paste replaces it
  file: 0, // counts changes of the text
  version: 0, // counts changes of anything
  answered: -1,
  facts: { kinds: '', notes: [], crawlers: [], sitemaps: [] },
  findings: null,
  never: [],
  mode: '',
  hovered: null,
  tab: 'why',
};

const nonce = document.querySelector('script[nonce]')?.nonce || '';

// What is said to people.

let lastSaid = 0;
let sayLater;
// say tells screen readers a sentence, one a second at most.
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
  state.encoded ||= encoder.encode(editor.text());
  return state.encoded;
}

function setFile(bytes, undoable) {
  editor.replace(decoder.decode(bytes), undoable);
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
    setFile(encoder.encode(text), true);
    return true;
  },
  onLeave() {
    view('answers');
    matrix.focus();
  },
});

async function openFile(blob) {
  if (blob.size > mostFile) {
    message('This file has ' + blob.size.toLocaleString('en') + ' bytes; no robots.txt is so long, and this page opens at most ' + mostFile.toLocaleString('en') + '.');
    return;
  }
  const bytes = new Uint8Array(await blob.arrayBuffer());
  if (blob.name?.endsWith('.robots.json')) {
    try {
      restore(link.restored(JSON.parse(decoder.decode(bytes)), [...dialects, all]));
    } catch {
      message('This file is not one that this page has saved.');
    }
    return;
  }
  setFile(bytes, true);
}

// The crawlers and URLs.

// columns are the crawlers, of which one that is read in all dialects is eight.
function columns() {
  return state.crawlers.flatMap(({ dialect, tokens }) => (dialect === all ? dialects : [dialect]).map((d) => ({ name: tokens[0] || '*', dialect: d, tokens }))).slice(0, 60);
}

const written = (c) => [c.dialect, ...c.tokens].join('\t');

function addCrawler(dialect, tokens) {
  state.crawlers.push({ dialect, tokens });
  drawCrawlers();
  changed();
}

let directory = new Map(); // of crawlers, by their names in lower case

function drawCrawlers() {
  const taken = new Set(state.crawlers.map((c) => (c.tokens[0] || '*').toLowerCase()));
  const chips = state.crawlers.map((c, i) => {
    const name = c.tokens[0] || '*';
    const select = element('select', { 'aria-label': 'Dialect of ' + name }, ...[...dialects, all].map((d) => element('option', { value: d, selected: d === c.dialect }, d === all ? 'all dialects' : d)));
    select.addEventListener('change', () => {
      c.dialect = select.value;
      changed();
    });
    return element('span', { class: 'chip' }, element('span', { class: 'name', title: c.tokens.join(', then ') }, name), select,
      element('button', { type: 'button', class: 'quiet', 'aria-label': 'Remove ' + name, onclick: () => { state.crawlers.splice(i, 1); drawCrawlers(); changed(); $('newcrawler')?.focus(); } }, '×'));
  });
  const input = element('input', { id: 'newcrawler', type: 'text', list: 'known', 'aria-label': 'Add a crawler', placeholder: '+ crawler', autocomplete: 'off', spellcheck: 'false' });
  const add = () => {
    const name = input.value.trim();
    if (!name || /[\t\r\n]/.test(name) || state.crawlers.length >= 20) {
      return;
    }
    const known = directory.get(name.toLowerCase()) || state.facts.crawlers.find((c) => c.tokens[0].toLowerCase() === name.toLowerCase());
    addCrawler(known ? known.dialect : 'rfc9309', known ? known.tokens : [name]);
    $('newcrawler').focus();
  };
  input.addEventListener('keydown', (event) => event.key === 'Enter' && add());
  // Choosing from the list fires input without a key.
  input.addEventListener('input', (event) => (!event.inputType || event.inputType === 'insertReplacementText') && add());
  const offered = [...state.facts.crawlers.map((c) => c.tokens[0]), ...[...directory.values()].map((c) => c.tokens[0])].filter((n, i, list) => !taken.has(n.toLowerCase()) && list.indexOf(n) === i);
  $('crawlers').replaceChildren(...chips, input, element('datalist', { id: 'known' }, ...offered.slice(0, 600).map((n) => element('option', { value: n }))));
}

function readURLs() {
  const lines = $('urls').value.split(/\r\n?|\n/).map((l) => l.trim()).filter(Boolean);
  if (lines.length > mostURLs) {
    message('The table takes ' + mostURLs.toLocaleString('en') + ' URLs; the other ' + (lines.length - mostURLs).toLocaleString('en') + ' are left out.');
  }
  state.urls = lines.slice(0, mostURLs);
}

function fitURLs() {
  $('urls').rows = Math.max(2, Math.min(4, state.urls.length + 1));
}

// setURLs writes the list, of which the table follows.
function setURLs(urls) {
  state.urls = urls.slice(0, mostURLs);
  $('urls').value = state.urls.join('\n');
  fitURLs();
}

$('urls').addEventListener('input', () => {
  readURLs();
  changed();
});
$('urls').addEventListener('change', fitURLs);

// The questions.

const engine = createEngine(document.documentElement.dataset.engine === 'wasm', onMode, true);

// Proofs may take seconds, so they have a worker of their own: no verdict waits for
// one. It asks the server only where the other does, which the page then says: while
// the engine loads nobody knows yet, and nothing is sent.
let prover = null;

function prove(kind, args, done) {
  const byServer = state.mode === 'server' || state.mode === 'failed';
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
    server: 'The answers come from ' + location.host + ': your text is sent there, and not kept.',
    failed: 'The server does not answer.',
  };
  $('privacy').textContent = privacy[mode];
  $('privacy').title = mode === 'server' && why ? 'The engine does not run in this browser: ' + why : '';
  if (mode === 'loading') {
    onMode.late = setTimeout(() => { $('loading').hidden = false; }, 3000);
  }
  if (mode === 'wasm' && 'serviceWorker' in navigator) {
    navigator.serviceWorker.register('/page/sw.js', { scope: '/' }).catch(() => {}); // then the page needs its server, as all pages do
  }
}

let slow;

// askSlow asks what takes time, once nothing has changed for a moment.
function askSlow() {
  clearTimeout(slow);
  slow = setTimeout(() => {
    slow = 0;
    prove('lint', () => [file()], withFile((answer, version) => {
      state.findings = { ...answer, file: version };
      drawFindings();
      editor.findings(answer.findings, fix);
      status();
    }));
    askNever();
    askRates();
    askDiff();
  }, idle);
}

// changed asks everything anew; what is shown meanwhile is marked as old.
function changed() {
  state.version++;
  matrix.stale(true);
  document.body.classList.add('waiting');
  engine.ask('parse', () => [file()], withFile((facts) => {
    const fresh = JSON.stringify(facts.crawlers) !== JSON.stringify(state.facts.crawlers);
    state.facts = facts;
    editor.kinds(facts.kinds);
    $('about').hidden = !facts.notes.length;
    $('about').textContent = facts.notes.map((n) => n.text[0].toUpperCase() + n.text.slice(1) + '.').join(' ');
    show.sitemaps(facts);
    if (fresh && document.activeElement !== $('newcrawler')) {
      drawCrawlers();
    }
    status();
  }));
  askMatrix();
  askWhy();
  askSlow();
}

// withFile calls done with answers about the text that is there still.
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

// complain says what the engine finds wrong with a question. Where nobody answers,
// the line about privacy says so.
function complain(answer) {
  if (!answer.unanswered) {
    message(answer.error[0].toUpperCase() + answer.error.slice(1) + '.');
  }
}

function askMatrix() {
  let asked;
  let names;
  engine.ask('matrix', () => {
    asked = { version: state.version, file: state.file };
    names = columns();
    return [file(), names.map(written).join('\n'), state.urls.join('\n')];
  }, (answer) => {
    if (answer.error) {
      complain(answer);
      return;
    }
    answer.rows.forEach((row, i) => { row.url = state.urls[i] ?? row.url; });
    state.answered = asked.version;
    state.names = names;
    matrix.show(answer, names);
    const fresh = asked.version === state.version;
    matrix.stale(!fresh);
    document.body.classList.toggle('waiting', !fresh);
    summary(answer, names);
    if (asked.file === state.file) {
      drawCounts();
    }
    if (!matrix.chosen() && answer.rows.length && names.length) {
      matrix.choose(0, 0);
      askWhy();
    }
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
    state.never = answer.never;
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
    return;
  }
  let cell;
  engine.ask('explain', () => {
    cell = chosen() || { crawler: { dialect: 'rfc9309', tokens: [], name: '*' }, url: '/' };
    return [file(), written(cell.crawler), cell.url];
  }, (answer) => {
    if (!answer.unanswered) {
      show.why(answer, cell);
      light(answer);
    }
  });
}

function light(answer) {
  if (answer.error) {
    editor.light(0, []);
    return;
  }
  editor.light(answer.line, answer.matches.filter((m) => !m.won).map((m) => m.line));
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

function askRates() {
  const crawler = chosen()?.crawler || columns()[0];
  if (!crawler || state.tab !== 'rates') {
    return;
  }
  engine.ask('rates', () => [file(), written(crawler), String(Math.floor(Date.now() / 1000))], withFile((answer) => show.rates(answer, crawler)));
}

// drawFindings draws what is open: of a hostile file there are hundreds.
function drawFindings() {
  if (state.findings && state.tab === 'findings') {
    show.findings(state.findings);
  }
}

function askDiff() {
  $('compare').setAttribute('aria-pressed', String(Boolean(state.before)));
  if (!state.before) {
    show.changes(null);
    return;
  }
  prove('diff', () => [state.before, file(), columns().map(written).join('\n')], withFile((answer) => show.changes(answer)));
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
    parts.push(bytes.subarray(at, e.start), encoder.encode(e.text));
    at = e.end;
  }
  parts.push(bytes.subarray(at));
  new Blob(parts).arrayBuffer().then((b) => editor.edit(decoder.decode(b)));
  say('Fixed line ' + finding.line);
}

function fixAll() {
  prove('mend', () => [file()], withFile((answer) => editor.edit(answer.text)));
}

const show = panels({
  reveal(line) {
    view('file');
    editor.reveal(line);
    editor.focus();
  },
  fix,
  fixAll,
  addURL(url) {
    if (!state.urls.includes(url)) {
      setURLs([url, ...state.urls]);
      changed();
    }
    matrix.choose(state.urls.indexOf(url), 0);
    askWhy();
    view('answers');
  },
});

const matrix = createMatrix($('grid'), {
  onChoose(row, col, byKey) {
    askWhy();
    askRates();
    if (state.tab !== 'rates') {
      openTab('why');
    }
    if (byKey) {
      view('why');
      $('panel-' + state.tab).focus();
    }
  },
  onHover: hover,
  onLeave() {
    state.hovered = null;
    askWhy();
  },
});

function summary(answer, names) {
  const cells = answer.rows.flatMap((r) => r.cells).filter((c) => c.word);
  const blocked = cells.filter((c) => c.word === 'disallow').length;
  const text = cells.length ? blocked.toLocaleString('en') + ' of ' + cells.length.toLocaleString('en') + ' answers are blocked' : '';
  $('summary').textContent = text;
  state.cells = answer.rows.length * names.length;
  status();
  say(text);
}

function status() {
  if (state.facts.bytes === undefined) {
    return; // the engine has not said anything yet
  }
  const found = state.findings?.findings.length;
  const parts = [state.facts.bytes.toLocaleString('en') + (state.facts.bytes === 1 ? ' byte' : ' bytes'), (state.cells || 0).toLocaleString('en') + ' answers'];
  if (found !== undefined) {
    parts.push(found + (found === 1 ? ' finding' : ' findings'));
  }
  $('status').textContent = parts.join(' · ');
  $('tab-findings').textContent = 'Findings' + (found ? ' (' + found + ')' : '');
  $('tab-sitemaps').textContent = 'Sitemaps' + (state.facts.sitemaps.length ? ' (' + state.facts.sitemaps.length + ')' : '');
}

// Tabs and views.

const tabs = ['why', 'changes', 'findings', 'rates', 'sitemaps'];

function openTab(name) {
  state.tab = name;
  for (const t of tabs) {
    $('tab-' + t).setAttribute('aria-selected', String(t === name));
    $('tab-' + t).tabIndex = t === name ? 0 : -1;
    $('panel-' + t).hidden = t !== name;
  }
  askRates();
  drawFindings();
}

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
      view('answers');
      matrix.focus();
    }
  });
});

// view chooses which part a narrow window shows.
function view(name) {
  document.body.dataset.view = name;
  document.querySelectorAll('.views button').forEach((b) => (b.dataset.view === name ? b.setAttribute('aria-current', 'true') : b.removeAttribute('aria-current')));
  editor.measure();
}
document.querySelectorAll('.views button').forEach((b) => b.addEventListener('click', () => view(b.dataset.view)));

// Buttons.

document.addEventListener('keydown', (event) => {
  if (event.key === '?' && !event.target.closest('input, textarea, select, [contenteditable=true]')) {
    event.preventDefault();
    $('helping').showModal();
  } else if (event.key === 'Escape') {
    const open = document.querySelector('details.menu[open]');
    if (open) {
      open.open = false;
      open.querySelector('summary').focus();
    }
  }
});
document.addEventListener('click', (event) => {
  document.querySelectorAll('details.menu[open]').forEach((m) => {
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
    setFile(encoder.encode(await navigator.clipboard.readText()), true);
  } catch {
    message('This browser does not let the page read what you copied: paste it into the text by Ctrl+V.');
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
      setFile(encoder.encode(text), true);
    }
  }
}, true);

for (const [key, example] of Object.entries(examples)) {
  document.querySelector('#examples .sheet').append(element('button', { type: 'button', onclick: () => useExample(key, true) }, example.title));
}

$('compare').addEventListener('click', () => {
  state.before = state.before ? null : file().slice();
  openTab('changes');
  view('why');
  askDiff();
  say(state.before ? 'The present text is pinned: changes are shown from now on' : 'The comparison has ended');
});

async function clipboard(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    say(what + ' is copied');
    $('status').textContent = what + ' is copied.';
  } catch {
    message('This browser does not let the page copy: ' + text.slice(0, 2000));
  }
}

function snapshot() {
  return { file: file(), urls: state.urls, crawlers: state.crawlers, before: state.before };
}

$('link').addEventListener('click', async () => {
  const fragment = await link.write(snapshot());
  if (fragment.length > link.mostLink) {
    const address = URL.createObjectURL(new Blob([JSON.stringify(link.portable(snapshot()))], { type: 'application/json' }));
    element('a', { href: address, download: 'page.robots.json' }).click();
    URL.revokeObjectURL(address);
    message('The link would have ' + fragment.length.toLocaleString('en') + ' characters. All of it is in the file page.robots.json instead, which “Open” reads.');
    return;
  }
  history.replaceState(null, '', fragment);
  await clipboard(location.href, 'The link');
  if (location.href.length > link.noteAbove) {
    message('The link is copied. It has ' + location.href.length.toLocaleString('en') + ' characters: some mail programs cut links above ' + link.noteAbove.toLocaleString('en') + '.');
  }
});

document.querySelectorAll('[data-copy]').forEach((b) => b.addEventListener('click', () => {
  const answer = matrix.answer();
  const at = matrix.chosen() || { row: 0, col: 0 };
  if (!answer.rows.length || !answer.columns.length) {
    return;
  }
  if (b.dataset.copy === 'curl') {
    const { tokens, dialect } = state.names[at.col];
    const url = new URL('/v1/check', location.href);
    url.searchParams.set('url', /^[a-z][a-z0-9+.-]*:\/\//i.test(state.urls[at.row]) ? state.urls[at.row] : 'https://example.com' + state.urls[at.row]);
    tokens.forEach((t) => url.searchParams.append('agent', t));
    url.searchParams.set('dialect', dialect);
    clipboard("curl '" + url.href.replaceAll("'", '%27') + "'", 'The curl line');
    return;
  }
  clipboard(copies[b.dataset.copy](answer, state.names, at.col), b.textContent);
}));

// Fetching a site: the one thing that leaves the browser.

$('fetch').addEventListener('click', () => {
  $('fetchfailed').textContent = '';
  $('fetching').showModal();
});
$('fetchcancel').addEventListener('click', () => $('fetching').close());
$('site').addEventListener('input', () => {
  let host = '';
  try {
    host = new URL(site()).host;
  } catch {}
  $('towhom').textContent = host ? 'This server asks ' + host + ' for its robots.txt. Nothing else that you typed is sent.' : 'This is the only button that sends anything. Nothing that you typed is sent.';
});

const site = () => {
  const text = $('site').value.trim();
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : 'https://' + text;
};

// Sites of a demo, each by name with what there is to see.
const sites = JSON.parse(document.documentElement.dataset.sites || 'null') || [];
if (sites.length) {
  $('sites').hidden = false;
  $('sites').append(element('p', { class: 'soft' }, 'Sites of this demo:'), ...sites.map((s) => element('button', {
    type: 'button',
    onclick: () => {
      $('site').value = s.url;
      fetchSite(new URL(s.url).pathname + new URL(s.url).search);
    },
  }, element('strong', {}, s.name), ' ', s.see)));
}

$('fetching').addEventListener('submit', (event) => {
  event.preventDefault();
  fetchSite('');
});

// fetchSite shows what the server holds of a site, or fetches. A path that is given
// becomes the first URL.
async function fetchSite(path) {
  const url = site();
  $('fetchgo').disabled = true;
  $('fetchfailed').textContent = '';
  try {
    const query = '/v1/robots?url=' + encodeURIComponent(url);
    const answer = await fetch(query);
    const record = await answer.json().catch(() => ({}));
    if (!answer.ok) {
      throw new Error(record.detail || 'the server answers with status ' + answer.status);
    }
    const body = await fetch(query + '&body=1');
    const bytes = body.ok ? new Uint8Array(await body.arrayBuffer()) : encoder.encode(inPlace(record, url));
    setFile(bytes, true);
    if (path) {
      setURLs([path, ...state.urls.filter((u) => u !== path)]);
    }
    show.record(record, url);
    $('fetching').close();
    say('robots.txt of ' + new URL(url).host + ' is shown');
  } catch (error) {
    $('fetchfailed').textContent = error instanceof TypeError ? 'The server does not answer.' : error.message[0].toUpperCase() + error.message.slice(1) + '.';
  } finally {
    $('fetchgo').disabled = false;
  }
}

// inPlace is the text in place of a robots.txt that cannot be had: it says what holds.
function inPlace(record, url) {
  const host = new URL(url).host;
  return record.outcome === 'unavailable'
    ? '# ' + host + ' has no robots.txt, so everything may be fetched.\n'
    : '# The robots.txt of ' + host + ' cannot be had, so nothing may be fetched for now.\nUser-agent: *\nDisallow: /\n';
}

addEventListener('offline', () => message('You are offline: everything works but “Fetch a site…”.'));
addEventListener('online', () => message(''));

// The beginning.

function useExample(key, undoable) {
  const e = examples[key];
  state.crawlers = e.crawlers.map(([dialect, ...tokens]) => ({ dialect, tokens }));
  setURLs(e.urls);
  drawCrawlers();
  setFile(encoder.encode(e.text), undoable);
  state.pristine = true;
}

function restore(saved) {
  state.crawlers = saved.crawlers;
  state.before = saved.before;
  setURLs(saved.urls);
  drawCrawlers();
  setFile(saved.file, false);
  if (state.before) {
    openTab('changes');
  }
}

async function fromFragment() {
  if (location.hash.length < 2) {
    return false;
  }
  try {
    restore(await link.read(location.hash, [...dialects, all]));
    return true;
  } catch (error) {
    message(error.message);
    return false;
  }
}

addEventListener('hashchange', async () => (await fromFragment()) || useExample('shop', true));

if (!(await fromFragment())) {
  useExample('shop', false);
}
show.changes(null);
engine.ask('dialects', () => [], (answer) => {
  directory = new Map((answer.crawlers || []).map((c) => [c.tokens[0].toLowerCase(), c]));
  drawCrawlers();
});

// For the tests of the page: what it holds, and its link.
const busy = () => Boolean(slow) || engine.busy() || Boolean(prover?.busy());
globalThis.page = { copies, matrix, units, snapshot, link, restore, busy, state };
