// The work: examples, links, and what this browser keeps.

import { compareWith, remember } from './compare.js';
import { show } from './details.js';
import { $, element } from './dom.js';
import { editor, file, setFile } from './file.js';
import * as link from './link.js';
import { message, question, say } from './messages.js';
import { changed } from './questions.js';
import * as storage from './saved.js';
import { mostCrawlers, state, stated, written } from './state.js';
import { undo } from './steps.js';
import { shown } from './table.js';
import { decode, encode } from './text.js';
import { setURLs } from './urls.js';
import { openTab, view } from './views.js';
import blog from '../../../../../examples/blog.txt';
import shop from '../../../../../examples/shop.txt';
import tricky from '../../../../../examples/tricky.txt';

const keepAfter = 500; // ms from a change until it is written into this browser, which takes some more

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

for (const [key, example] of Object.entries(examples)) {
  document.querySelector('#examples .sheet').append(element('button', { type: 'button', onclick: () => useExample(key, example.title) }, example.title));
}

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

// returnLent removes the crawlers and URLs of an example from the table. Without crawlers the engine names some for the file.
export function returnLent() {
  if (state.lent) {
    state.crawlers = state.crawlers.filter((c) => !state.lent.crawlers.includes(written(c)));
    setURLs(state.urls.filter((u) => !state.lent.urls.includes(u)));
    state.lent = null;
    state.begin = !state.crawlers.length;
  }
}

// restore shows work of a link, a file or this browser.
export function restore(saved, name) {
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

export function snapshot() {
  return { file: file(), urls: state.urls, crawlers: state.crawlers, before: state.before };
}

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

// keep writes the work into this browser. A page that goes writes at once.
export async function keep(isGoing) {
  clearTimeout(keepSoon.timer);
  keepSoon.timer = 0;
  if (!keepSoon.begun) {
    return;
  }
  const { live, version } = state;
  const kept = { ...link.portable(snapshot()), from: state.from, pristine: state.pristine, lent: state.lent, site: state.site };
  if (live && isLive()) {
    kept.live = { ...live, bytes: undefined };
  }
  if (await storage.write(kept, isGoing)) {
    state.kept = version;
  } else if (!keepSoon.told) {
    keepSoon.told = true;
    message('This browser has no room to keep the text: download it before you close the page.');
  }
}

// keepSoon keeps the work in a moment, so that a crash loses no more than that.
export function keepSoon() {
  keepSoon.timer ||= setTimeout(() => keep(false), keepAfter);
}

addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'hidden') {
    keep(true);
    remember();
  }
});
addEventListener('pagehide', () => keep(true));

// isLive reports whether the text is the one that was fetched.
function isLive() {
  const now = file();
  const { bytes } = state.live || {};
  return Boolean(bytes) && (now === bytes || now.length === bytes.length && now.every((b, i) => b === bytes[i]));
}

// drawRecord shows the outcome of a fetch as long as the text is the file that was fetched.
export function drawRecord() {
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
export async function start() {
  const saved = await storage.read();
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
