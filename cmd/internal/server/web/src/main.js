// The page: its state, the questions to the engine, and the buttons.

import { createEngine, request } from './engine.js';
import { createEditor, units } from './editor.js';
import { $ } from './dom.js';
import { copies } from './copies.js';
import { element, narrow } from './dom.js';
import { because, createMatrix, groupOf, inWords, loading, short, words } from './matrix.js';
import * as link from './link.js';
import { panels } from './panels.js';
import * as storage from './saved.js';
import { createUndo } from './undo.js';
import { createView } from './view.js';
import { isHeld } from './press.js';
import { createQuestion, openCrawler, openList } from './typed.js';
import { capital, concat, decode, encode } from './text.js';
import shop from '../../../../../examples/shop.txt';
import blog from '../../../../../examples/blog.txt';
import tricky from '../../../../../examples/tricky.txt';


const dialects = ['rfc9309', 'google', 'google-cpp', 'google-2019', 'google-legacy', 'seznam', 'bing', 'yandex'];
const auto = 'auto'; // instead of a dialect: all that the directory documents of the crawler
const all = 'all'; // instead of a dialect: one column becomes eight
const historic = ['google-cpp', 'google-2019', 'google-legacy']; // or of a library
const stated = [auto, ...dialects, all];
const titles = { auto: 'Auto', rfc9309: 'RFC 9309', google: 'Google', 'google-cpp': 'Google C++ library', 'google-2019': 'Google 2019', 'google-legacy': 'Google before 2019', seznam: 'Seznam', bing: 'Bing', yandex: 'Yandex', all: 'All dialects' };

const mostURLs = 1000;
const mostCrawlers = 20;
const mostOffered = 100; // crawlers of the file that are suggested
const mostFile = 8 << 20; // bytes of a file that is opened
const keepAfter = 1000; // ms from a change until it is kept in this browser
const pause = 120; // ms without a change until the other questions than for verdicts are asked
const noteBytes = 250_000; // a file with more is near the limit of some crawlers
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
  pristine: true, // the text is an example, or there is none: a paste replaces it
  lent: null, // crawlers and URLs of an example, which go when one's own file comes
  begin: false, // the table has no crawlers yet for one's own file
  order: [], // of the rows that are shown: the indexes of their URLs
  answer: null, // to the last matrix, with all rows
  site: '', // the host that the file was fetched from
  from: '', // the link that the work began with
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
  live: null, // the file that was fetched last: its host, URL, record and bytes
  picked: null, // the URL that is selected after the table is drawn anew, for a crawler or the selected one
  refocus: '', // what has the focus after the table is drawn anew
  directory: new Map(), // of crawlers, by their names in lower case
  checks: new Map(), // of lint, by their ids
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

// message shows a sentence, with buttons: pairs of a label and what they do.
function message(sentence, ...buttons) {
  const button = (label, onclick) => element('button', { type: 'button', class: label === '×' ? null : 'answer', 'aria-label': label === '×' ? 'Dismiss' : null, onclick }, label);
  $('message').hidden = !sentence;
  $('message').replaceChildren(...(sentence ? [element('span', {}, sentence), ...buttons.map(([label, run]) => button(label, () => {
    message('');
    run();
  })), button('×', () => message(''))] : []));
}

const question = createQuestion($('asking'));

// The file.

function file() {
  if (state.bytes) {
    return state.bytes;
  }
  state.encoded ||= encode(editor.text());
  return state.encoded;
}

const text = () => editor.text();

// setFile shows another file. The name completes "Undo …"; without one the change cannot be undone.
function setFile(bytes, name) {
  const replace = () => {
    setText(bytes, Boolean(name));
    state.site = '';
    returnLent();
  };
  name ? undo.step(name, replace) : replace();
  changed();
}

// setText replaces the text.
function setText(bytes, undoable) {
  remember();
  message('');
  question.close();
  editor.replace(decode(bytes), undoable);
  state.bytes = bytes;
  state.pristine = false;
}

// returnLent removes the crawlers and URLs of an example from the table. Without crawlers the engine names some for the file.
function returnLent() {
  if (state.lent) {
    state.crawlers = state.crawlers.filter((c) => !state.lent.crawlers.includes(written(c)));
    setURLs(state.urls.filter((u) => !state.lent.urls.includes(u)));
    state.lent = null;
    state.begin = !state.crawlers.length;
  }
}

// begin adds the first crawlers and URL for one's own file.
function begin(names) {
  state.begin = false;
  state.crawlers = names.map((name) => ({ dialect: auto, tokens: [name] }));
  if (!state.urls.length) {
    setURLs(['/']);
  }
  undo.amend();
  changed();
}

// aside is what belongs to the text and is beside it, as undoing restores it.
const aside = () => ({
  table: { crawlers: state.crawlers.map((c) => ({ ...c })), urls: state.urls }, bytes: state.bytes, pristine: state.pristine, lent: state.lent, site: state.site,
  before: state.before,
});

const undo = createUndo({
  editor: { undo: () => editor.undo(), redo: () => editor.redo() },
  aside,
  restore({ table, bytes, pristine, site, lent, before }, withText) {
    if (table) {
      Object.assign(state, { crawlers: table.crawlers.map((c) => ({ ...c })), urls: table.urls, lent, begin: false });
      if (before !== state.before) {
        compareWith(before);
      }
    }
    if (withText) {
      Object.assign(state, { bytes, pristine, site });
    }
    changed();
  },
  onChange(undone, redone) {
    $('undo').disabled = !undone;
    $('undo').replaceChildren('Undo', element('span', {}, undone && ' ' + undone));
    $('undo').title = undone ? 'Undo ' + undone + ' (Ctrl+Z)' : 'Nothing to undo';
    $('redo').hidden = !redone;
    $('redo').title = 'Redo ' + redone + ' (Ctrl+Shift+Z)';
  },
});

// goBack undoes the last step, or that of the text. forth redoes it.
function goBack(onlyText) {
  const name = undo.undo(onlyText);
  say(name ? 'Undone: ' + name : 'Nothing to undo');
}

function goForth(onlyText) {
  const name = undo.redo(onlyText);
  say(name ? 'Redone: ' + name : 'Nothing to redo');
}
$('undo').addEventListener('click', () => goBack(false));
$('redo').addEventListener('click', () => goForth(false));
document.addEventListener('keydown', (event) => {
  const key = event.key.toLowerCase();
  if (!(event.ctrlKey || event.metaKey) || event.altKey || !['z', 'y'].includes(key) || event.defaultPrevented || event.target.closest('input, textarea, select, [contenteditable=true]')) {
    return;
  }
  event.preventDefault();
  key === 'y' || event.shiftKey ? goForth(false) : goBack(false);
});

const editor = createEditor($('text'), nonce, {
  onChange(byProgram, step) {
    const before = aside();
    state.file++;
    state.bytes = null;
    state.encoded = null;
    if (!byProgram) {
      state.pristine = !editor.length();
    }
    if (step) {
      undo.typed(step, before);
    }
    if (!byProgram) {
      changed();
    }
  },
  onUndo: () => goBack(true),
  onRedo: () => goForth(true),
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
    setFile(encode(text), 'the paste');
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
      restore(link.restored(JSON.parse(decode(bytes)), stated), 'opening ' + blob.name);
    } catch {
      message('The file was not saved by this page.');
    }
    return;
  }
  engine.ask('urls', () => [bytes, state.urls.join('\n')], (list) => {
    if (['csv', 'sitemap', 'index'].includes(list.kind)) {
      takeList(list, null);
    } else {
      setFile(bytes, 'opening ' + (blob.name || 'the file'));
    }
  });
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

const were = (n) => n.toLocaleString('en') + (n === 1 ? ' was' : ' were');
const inTable = () => state.crawlers.map((c) => written(c.dialect === all ? { ...c, dialect: auto } : c)).join('\n');

// addCrawlers adds crawlers that are typed: product tokens with commas, most specific first, a full User-Agent header, or a name
// that people use. The engine reads them. asTyped adds them whatever they resemble.
function addCrawlers(texts, asTyped) {
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
function sortButton(sort, column, title) {
  const order = shown.order(sort, column);
  return element('button', { type: 'button', class: 'quiet sort', 'data-sort': sort + column, title: sort === 'url' ? 'Sort by URL' : 'Sort by verdict, blocked first', onclick() {
    state.refocus = '[data-sort="' + sort + column + '"]';
    shown.press(sort, column);
  } }, element('span', {}, title), element('span', { 'aria-hidden': 'true', class: 'order' }, { ascending: '↑', descending: '↓' }[order] || '↕'));
}

// heads returns the heads of the columns.
function heads() {
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
function offer() {
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
      button('Remove', () => removeURL(row, '.picked'))),
  ];
}

// removeURL removes the URL of a row that is shown. The cell below it gets the focus, in the column with the selector.
function removeURL(row, column) {
  undo.step('removing ' + state.urls[state.order[row]], () => setURLs(state.urls.filter((u, i) => i !== state.order[row])));
  state.refocus = state.order.length > 1 ? column + '[data-row="' + Math.min(row, state.order.length - 2) + '"]' : '#newurl';
  changed();
}

// setURLs replaces the URLs of the table.
function setURLs(urls) {
  if (urls.length > mostURLs) {
    message('The table has at most ' + mostURLs.toLocaleString('en') + ' URLs; the other ' + were(urls.length - mostURLs) + ' left out.');
  }
  state.urls = urls.slice(0, mostURLs);
}

// addURLs adds the URLs of a text that is typed or pasted, which the engine reads.
function addURLs(text) {
  engine.ask('urls', () => [text, state.urls.join('\n')], (list) => takeList(list, text));
}

// takeList adds what the engine read in a text, null for a file.
function takeList(list, text) {
  if (list.error) {
    complain(list);
    return;
  }
  const open = openList(list, () => setFile(encode(text), 'the paste'));
  if (open) {
    question(...open, $('newurl'));
  } else {
    question.close();
  }
  if (['robots', 'index', 'markup'].includes(list.kind) || list.urls.length + list.duplicates.length + list.dropped === 0) {
    return;
  }
  if (list.dropped) {
    message('The table has at most ' + mostURLs.toLocaleString('en') + ' URLs; the other ' + were(list.dropped) + ' left out.');
  }
  state.picked = { url: list.urls[0] || list.duplicates[0], news: list.urls.length ? '' : 'Already in the table: ' };
  shown.clear();
  undo.step('adding ' + (list.urls.length === 1 ? list.urls[0] : list.urls.length + ' URLs'), () => setURLs([...state.urls, ...list.urls]));
  changed();
}

// shown is the view of the table: which rows it shows, in what order.
const shown = createView({ bar: $('view'), find: $('find'), show: $('show'), crawler: $('showfor'), count: $('shown'), reset: $('showall') }, () => changed());
$('clear').addEventListener('click', () => {
  undo.step('removing all URLs', () => setURLs([]));
  shown.clear();
  state.refocus = '#newurl';
  changed();
});

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
  if (/[\r\n<]/.test(text.trim())) {
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
    askParse();
    if (!state.begin) {
      askMatrix('engines');
    }
  }, pause);
}

// askParse asks for the kinds of lines, and the crawlers that the file names.
function askParse() {
  engine.ask('parse', () => [file()], withFile((facts) => {
    state.facts = facts;
    offer();
    editor.kinds(facts.kinds);
    $('about').hidden = !facts.notes.length;
    $('about').textContent = facts.notes.map((n) => capital(n.text) + '.').join(' ');
    status();
    if (state.begin) {
      begin(facts.start);
    }
  }));
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
  if (state.begin) {
    askParse(); // which names the crawlers
  } else {
    askMatrix();
  }
  askLater();
  askSlow();
  drawRecord();
  keepSoon();
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
  state.order = state.urls.map((url, i) => i);
  matrix.show({ columns: names.map(() => ({ group: null })), rows: state.urls.map((url) => ({ url, cells: names.map(() => ({ pending })) })), rules: {} }, names);
}

// askMatrix asks for the verdicts, and as the kind engines also for the dialects that differ.
function askMatrix(kind = 'matrix') {
  let asked;
  let names;
  engine.ask(kind, () => {
    asked = state.version;
    names = columns();
    return [file(), names.map(written).join('\n'), state.urls.join('\n'), shown.question({ engines: kind === 'engines', site: state.site })];
  }, (answer) => {
    if (answer.error) {
      complain(answer);
      if (state.answered < 0) {
        drawWithout('no result');
      }
      return;
    }
    answer.rows.forEach((row, i) => { row.url = state.urls[i] ?? row.url; });
    state.answer = answer;
    state.order = answer.shown;
    state.answered = asked;
    state.read = new Map(answer.columns.map((c, i) => [written(names[i]), c]));
    names = names.map((n, i) => ({ ...n, name: answer.columns[i].name, reads: answer.columns[i].dialect }));
    state.names = names;
    state.refocus ||= focusedHead();
    matrix.show({ ...answer, rows: answer.shown.map((i) => answer.rows[i]), all: answer.rows.length, view: shown.question({}) }, names, kind === 'engines');
    shown.draw(names.map((n) => n.name), answer.shown.length, answer.rows.length);
    const fresh = asked === state.version;
    matrix.stale(!fresh);
    document.body.classList.toggle('waiting', !fresh);
    if (fresh && kind === 'engines') {
      drawCounts();
    }
    const row = state.picked ? matrix.answer().rows.findIndex((r) => r.url === state.picked.url) : -1;
    if (state.picked && fresh && names.length && row >= 0) {
      const col = names.findIndex((c) => written(c) === state.picked.crawler);
      matrix.choose(row, col < 0 ? matrix.chosen()?.col || 0 : col);
      if (!state.refocus) {
        document.querySelector('#grid [aria-selected=true]').scrollIntoView({ block: 'nearest', inline: 'nearest' });
      }
      sayChosen(state.picked.news);
      state.picked = null;
      askWhy();
    } else if (!matrix.chosen()) {
      if (answer.shown.length && names.length) {
        matrix.choose(0, matrix.column());
      }
      askWhy();
    }
    if (state.refocus) {
      document.querySelector(state.refocus)?.focus();
      state.refocus = '';
    }
    summary();
  });
}

// focusedHead is the selector of what has the focus in the head of the table, which is drawn anew, "" if nothing has.
function focusedHead() {
  const e = document.activeElement;
  if (!e.closest('#grid thead')) {
    return '';
  }
  const { sort, crawler } = e.dataset;
  return sort ? '[data-sort="' + sort + '"]' : crawler ? 'select[data-crawler="' + crawler + '"]' : e.matches('.picker, .resize') ? '.' + e.className : '';
}

function drawCounts() {
  const n = new Map();
  for (const row of state.answer?.rows || []) {
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
  const url = at && state.urls[state.order[at.row]];
  return crawler && url !== undefined ? { crawler, url, at } : null;
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
  const url = state.urls[state.order[row]];
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
    prove('access', () => [file()], withFile((table) => show.ai(table, state.directory)));
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
    show.lint(state.findings, state.checks, state.applied?.file === state.findings.file ? state.applied.text : '');
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

// remember keeps the text in this browser, to compare with or restore later.
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
addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'hidden') {
    keep();
    remember();
  }
});
addEventListener('pagehide', () => keep());

function compareWith(bytes) {
  state.before = bytes;
  $('before').value = bytes ? decode(bytes) : '';
  drawComparing();
  askDiff();
}

function drawComparing() {
  const comparing = Boolean(state.before);
  $('compare').setAttribute('aria-pressed', String(comparing));
  $('before').hidden = $('stop').hidden = $('restore').hidden = !comparing;
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
$('restore').addEventListener('click', () => {
  setFile(state.before.slice(), 'restoring the other text');
  say('The text compared with is the text now');
});

function askDiff() {
  if (!state.before) {
    show.changes(null);
    return;
  }
  let compared;
  prove('diff', () => {
    compared = columns();
    return [state.before, file(), compared.map(written).join('\n')];
  }, withFile((answer) => show.changes(answer, compared, state.directory)));
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
  const inPanel = $('lint').contains(document.activeElement);
  editor.edit(decode(concat(parts)), 'the fix of line ' + finding.line);
  inPanel ? $('panel-lint').focus({ preventScroll: true }) : editor.focus();
  say('Fixed line ' + finding.line);
}

function fixAll() {
  const lines = [...new Set(state.findings.findings.filter((f) => f.fix?.safe).map((f) => f.line))];
  prove('fix', () => [file()], withFile((answer) => {
    editor.edit(decode(link.fromBase64(answer.body)), 'all safe fixes');
    $('panel-lint').focus({ preventScroll: true });
    state.applied = { file: state.file, text: 'All safe fixes are applied, to ' + (lines.length === 1 ? 'line ' : 'lines ') + lines.slice(0, 20).join(', ') + (lines.length > 20 ? ' and ' + (lines.length - 20) + ' more' : '') + '. No verdict changes (proved). Ctrl+Z undoes it.' };
    say(state.applied.text);
  }));
}

function reveal(line) {
  view('file');
  editor.reveal(line);
  editor.focus();
}

const show = panels({
  titles,
  reveal,
  fix,
  fixAll,
  addCrawlers,
  blockTraining() {
    prove('block', () => [file()], withFile((answer) => {
      const lines = answer.added.replace(/\r\n?|\n$/g, '').split('\n').length;
      const showLines = () => editor.reveal(answer.line, lines);
      if (answer.added) {
        undo.step('blocking AI training', () => setText(link.fromBase64(answer.body), true));
        changed();
        showLines();
      }
      show.blocking(answer, () => goBack(false), () => {
        view('file');
        showLines();
        editor.focus();
      });
      say(answer.added ? 'Crawlers for AI training are blocked' : 'Nothing was changed');
    }));
  },
  addURL(url, crawler) {
    state.picked = { url, crawler: written(crawler), news: '' };
    shown.clear();
    undo.step('adding ' + url, () => {
      setURLs([url, ...state.urls.filter((u) => u !== url)]);
      if (!state.crawlers.some((c) => c.dialect === all || written(c) === written(crawler))) {
        state.crawlers.push({ dialect: crawler.dialect, tokens: crawler.tokens });
      }
    });
    changed();
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
    const index = state.order[row];
    const old = state.urls[index];
    const url = value.trim();
    if (url === old) {
      return;
    }
    if (!url) {
      removeURL(row, 'input.url');
      return;
    }
    engine.ask('urls', () => [url, state.urls.filter((u, i) => i !== index).join('\n')], (list) => {
      if (list.error || !list.urls.length) {
        question(list.error ? capital(list.error) + '.' : list.duplicates.length ? list.duplicates[0] + ' is already in the table.' : 'This is not a URL.');
      } else {
        undo.step('editing ' + old, () => setURLs(state.urls.flatMap((u, i) => (i !== index ? [u] : list.urls))));
      }
      changed();
    });
  },
  onRemove: removeURL,
  sortButton,
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
  const rows = state.answer?.rows || [];
  const names = state.names || [];
  const blocked = (col) => rows.filter((r) => r.cells[col]?.verdict === 'disallow').length;
  const parts = names.slice(0, 4).map((n, i) => n.name + ' ' + (i ? blocked(i) : blocked(i) + ' of ' + rows.length + ' blocked'));
  $('summary').textContent = !state.urls.length || !names.length ? '' : narrow.matches ? blocked(matrix.chosen()?.col) + ' of ' + rows.length + ' URLs blocked' : parts.join(' · ') + (names.length > 4 ? ' …' : '');
  state.cells = rows.length * names.length;
  status();
}

function status() {
  if (state.facts.bytes === undefined) {
    return; // there is no answer yet
  }
  const found = state.findings?.problems;
  const parts = [(state.cells || 0).toLocaleString('en') + (state.cells === 1 ? ' result' : ' results')];
  if (state.facts.bytes > noteBytes) {
    parts.unshift(state.facts.bytes.toLocaleString('en') + ' bytes'); // where a limit is near
  }
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
      if (m.querySelector('.sheet').contains(document.activeElement)) {
        m.querySelector('summary').focus();
      }
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
    setFile(encode(await navigator.clipboard.readText()), 'the paste');
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
      setFile(encode(text), 'the drop');
    }
  }
}, true);

// save downloads a file.
function save(content, kind, name) {
  const address = URL.createObjectURL(new Blob([content], { type: kind }));
  element('a', { href: address, download: name }).click();
  URL.revokeObjectURL(address);
}
$('copy').addEventListener('click', () => clipboard(text(), 'robots.txt'));
$('download').addEventListener('click', () => {
  save(file(), 'text/plain', 'robots.txt');
  say('robots.txt downloaded');
});
$('startover').addEventListener('click', () => {
  remember();
  undo.step('starting over', () => {
    editor.replace('', true);
    Object.assign(state, { bytes: null, pristine: true, crawlers: [], site: '', lent: null, begin: true, live: null, from: '' });
    setURLs([]);
    compareWith(null);
  });
  history.replaceState(null, '', location.pathname);
  shown.clear();
  message('');
  question.close();
  changed();
  view('file');
  editor.focus();
  say('Started over; Undo brings everything back');
});

for (const [key, example] of Object.entries(examples)) {
  document.querySelector('#examples .sheet').append(element('button', { type: 'button', onclick: () => useExample(key, example.title) }, example.title));
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
    save(JSON.stringify(link.portable(snapshot())), 'application/json', 'page.robots.json');
    message('The link would have ' + fragment.length.toLocaleString('en') + ' characters. Everything was saved to page.robots.json instead; “Open” reads it.');
    return;
  }
  history.replaceState(null, '', fragment);
  state.from = fragment;
  keep();
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
    clipboard(curl(state.names[at.col], answer.rows[at.row].url), 'Command');
  } else if (kind === 'sentence') {
    clipboard(cell.error ? answer.rows[at.row].url + ' is not a valid URL.' : sentence(state.names[at.col], answer.rows[at.row].url, cell), 'Sentence');
  } else if (kind === 'download') {
    save(copies.csv(answer, state.names), 'text/csv', 'robots-verdicts.csv');
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
    if (record.outcome === 'unreachable' && !record.status && !record.last_good) {
      message(parsed.host + ' is unreachable, so the text is as it was: ' + record.note + '. Crawlers would treat every URL of it as blocked for now.');
      return;
    }
    const body = await fetch(query + '&body=1');
    const bytes = body.ok ? new Uint8Array(await body.arrayBuffer()) : encode(replacement(record, parsed.host));
    undo.step('fetching ' + parsed.host, () => {
      setFile(bytes, 'fetching');
      state.live = { host: parsed.host, url, record, bytes };
      state.site = parsed.hostname;
      const path = parsed.pathname + parsed.search;
      if (path !== '/' && path !== '/robots.txt') {
        setURLs([path, ...state.urls.filter((u) => u !== path)]);
      }
    });
    changed();
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

// useExample shows an example. URLs and crawlers that are not of an example stay in the table. With a title it can be undone.
function useExample(key, title) {
  const e = examples[key];
  const show = () => {
    setFile(encode(e.text), title && 'the example');
    const crawlers = e.crawlers.map(([dialect, ...tokens]) => ({ dialect, tokens }));
    const known = new Set(state.crawlers.map(written));
    const urls = e.urls.filter((u) => !state.urls.includes(u));
    const fresh = crawlers.filter((c) => !known.has(written(c)));
    state.lent = { crawlers: fresh.map(written), urls };
    state.crawlers = [...state.crawlers, ...fresh].slice(0, mostCrawlers);
    setURLs([...state.urls, ...urls]);
    Object.assign(state, { pristine: true, begin: false });
  };
  title ? undo.step('the example ' + title, show) : show();
  shown.clear();
  changed();
}

// restore shows work of a link, a file or this browser.
function restore(saved, name) {
  const set = () => {
    setFile(saved.file, name);
    Object.assign(state, { crawlers: saved.crawlers, before: saved.before, lent: null, begin: false });
    setURLs(saved.urls);
  };
  name ? undo.step(name, set) : set();
  shown.clear();
  changed();
  $('before').value = state.before ? decode(state.before) : '';
  if (state.before) {
    openTab('changes');
  }
}

// keep writes the work into this browser.
function keep() {
  clearTimeout(keepSoon.timer);
  keepSoon.timer = 0;
  if (!keepSoon.begun) {
    return;
  }
  const { live } = state;
  const kept = { ...link.portable(snapshot()), from: state.from, pristine: state.pristine, lent: state.lent, site: state.site };
  if (live && isLive()) {
    kept.live = { ...live, bytes: undefined };
  }
  if (!storage.write(kept) && !keepSoon.told) {
    keepSoon.told = true;
    message('This browser has no room to keep the text: download it before you close the page.');
  }
}

// keepSoon keeps the work in a moment, so that a crash loses no more than that.
function keepSoon() {
  keepSoon.timer ||= setTimeout(keep, keepAfter);
}

// isLive reports whether the text is the one that was fetched.
function isLive() {
  const now = file();
  const { bytes } = state.live || {};
  return Boolean(bytes) && (now === bytes || now.length === bytes.length && now.every((b, i) => b === bytes[i]));
}

// drawRecord shows the outcome of a fetch as long as the text is the file that was fetched.
function drawRecord() {
  const fresh = isLive();
  if (fresh && drawRecord.drawn !== state.live) {
    show.record(state.live.record, state.live.url);
    drawRecord.drawn = state.live;
  }
  $('record').hidden = !fresh;
}

// resume shows the work that this browser kept, and reports whether there was some.
function resume(saved) {
  try {
    restore(link.restored(saved, stated), '');
  } catch {
    return false;
  }
  const { from, pristine, lent, site, live } = saved;
  Object.assign(state, { from: from || '', pristine: Boolean(pristine), lent: lent || null, site: site || '' });
  if (live) {
    state.live = { ...live, bytes: file() };
    drawRecord();
  }
  return true;
}

// fromFragment shows the content of the link, if it has some that can be read; instead says what is shown if not.
async function fromFragment(instead, name) {
  const fragment = location.hash;
  if (fragment.length < 2) {
    return;
  }
  try {
    restore(await link.read(fragment, stated), name);
    state.from = fragment;
  } catch (error) {
    message(`${error.message} ${instead}`);
  }
}

addEventListener('hashchange', () => fromFragment('Nothing has changed.', 'opening the link'));

// start shows what this browser kept, else the example, and then the link, unless it is the one that was edited last.
async function start() {
  const saved = storage.read();
  const resumed = Boolean(saved) && resume(saved);
  if (!resumed) {
    useExample('shop', '');
  }
  if (!resumed || location.hash !== state.from) {
    await fromFragment(resumed ? 'Your last work is shown.' : 'The example is shown.', resumed ? 'opening the link' : '');
    return;
  }
  const shared = location.hash.length > 1 && await link.read(location.hash, stated).catch(() => null);
  if (shared && JSON.stringify(link.portable(shared)) !== JSON.stringify(link.portable(snapshot()))) {
    message('This is the link as you edited it.', ['Show it as it was shared', () => fromFragment('Nothing has changed.', 'opening the link')]);
  }
}

await start();
keepSoon.begun = true;
keepSoon();
show.changes(null);
if (state.answered < 0) { // the table is there before the engine
  drawWithout(loading);
}
engine.ask('directory', () => [], (answer) => {
  state.directory = new Map((answer.crawlers || []).map((c) => [c.name.toLowerCase(), c]));
  state.checks = new Map((answer.checks || []).map((c) => [c.id, c]));
  offer();
  drawFindings();
});

// For the tests of the page.
const busy = () => Boolean(later || slow) || engine.busy() || Boolean(prover?.busy());
globalThis.page = { copies, decode, encode, matrix, units, snapshot, link, restore, busy, isHeld, state, setURLs, changed, curl, file, addURLs, undo, insert: (t) => editor.edit(t + text(), 'an insertion'), own: () => { state.lent = null; } };
