// What the page shows, and the words and limits of it.

const dialects = ['rfc9309', 'google', 'google-cpp', 'google-2019', 'google-legacy', 'seznam', 'bing', 'yandex'];
export const auto = 'auto'; // instead of a dialect: all that the directory documents of the crawler
export const all = 'all'; // instead of a dialect: one column becomes eight
export const historic = ['google-cpp', 'google-2019', 'google-legacy']; // or of a library
export const stated = [auto, ...dialects, all];
export const titles = { auto: 'Auto', rfc9309: 'RFC 9309', google: 'Google', 'google-cpp': 'Google C++ library', 'google-2019': 'Google 2019', 'google-legacy': 'Google before 2019', seznam: 'Seznam', bing: 'Bing', yandex: 'Yandex', all: 'All dialects' };

export const mostURLs = 1000;
export const mostCrawlers = 20;

export const isStatic = document.documentElement.dataset.engine === 'static'; // files alone, without a server

export const state = {
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
  kept: -1, // the version that this browser has
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

export const written = (c) => [c.dialect, ...c.tokens].join('\t');

// columns are the crawlers; one that is read in all dialects has eight columns. The engine names them, and the dialect in which they
// read the file.
export function columns() {
  return state.crawlers.flatMap(({ dialect, tokens }, of) => (dialect === all ? dialects : [dialect]).map((d, i) => {
    const read = state.read.get(written({ dialect: d, tokens }));
    return { name: read?.name || tokens[0] || '*', dialect: d, reads: read?.dialect || d, tokens, of, first: i === 0 };
  })).slice(0, 60);
}

export const inTable = () => state.crawlers.map((c) => written(c.dialect === all ? { ...c, dialect: auto } : c)).join('\n');
