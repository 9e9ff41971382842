// The URLs of the table.

import { $ } from './dom.js';
import { setFile } from './file.js';
import { message, question, were } from './messages.js';
import { changed, complain, engine } from './questions.js';
import { mostURLs, state } from './state.js';
import { undo } from './steps.js';
import { shown } from './table.js';
import { encode } from './text.js';
import { openList } from './typed.js';

// setURLs replaces the URLs of the table.
export function setURLs(urls) {
  if (urls.length > mostURLs) {
    message('The table has at most ' + mostURLs.toLocaleString('en') + ' URLs; the other ' + were(urls.length - mostURLs) + ' left out.');
  }
  state.urls = urls.slice(0, mostURLs);
}

// addURLs adds the URLs of a text that is typed or pasted, which the engine reads.
export function addURLs(text) {
  engine.ask('urls', () => [text, state.urls.join('\n')], (list) => takeList(list, text));
}

// takeList adds what the engine read in a text, null for a file.
export function takeList(list, text) {
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

// removeURL removes the URL of a row that is shown. The cell below it gets the focus, in the column with the selector.
export function removeURL(row, column) {
  undo.step('removing ' + state.urls[state.order[row]], () => setURLs(state.urls.filter((u, i) => i !== state.order[row])));
  state.refocus = state.order.length > 1 ? column + '[data-row="' + Math.min(row, state.order.length - 2) + '"]' : '#newurl';
  changed();
}

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
