// The table of results, and what is selected in it.

import { heads, sortButton } from './crawlers.js';
import { askShow, askWhy, light } from './details.js';
import { $, element, narrow } from './dom.js';
import { file, reveal, text } from './file.js';
import { drawCounts } from './lint.js';
import { because, createMatrix, groupOf, inWords, words } from './matrix.js';
import { question, say } from './messages.js';
import { changed, complain, engine } from './questions.js';
import { columns, state, written } from './state.js';
import { undo } from './steps.js';
import { capital } from './text.js';
import { removeURL, setURLs } from './urls.js';
import { createView } from './view.js';
import { openTab, view } from './views.js';

const noteBytes = 250_000; // a file with more is near the limit of some crawlers

// shown is the view of the table: which rows it shows, in what order.
export const shown = createView({ bar: $('view'), find: $('find'), show: $('show'), crawler: $('showfor'), count: $('shown'), reset: $('showall') }, () => changed());

export const matrix = createMatrix($('grid'), {
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

// drawWithout draws the table without results.
export function drawWithout(pending) {
  const names = columns();
  state.order = state.urls.map((url, i) => i);
  matrix.show({ columns: names.map(() => ({ group: null })), rows: state.urls.map((url) => ({ url, cells: names.map(() => ({ pending })) })), rules: {} }, names);
}

// askMatrix asks for the verdicts, and as the kind engines also for the dialects that differ.
export function askMatrix(kind = 'matrix') {
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

// chosen is the crawler and URL of the chosen cell.
export function chosen() {
  const at = matrix.chosen();
  const crawler = at && columns()[at.col];
  const url = at && state.urls[state.order[at.row]];
  return crawler && url !== undefined ? { crawler, url, at } : null;
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

function sayChosen(news) {
  const now = chosen();
  if (!now) {
    return; // it was removed, and the table is not drawn anew yet
  }
  const cell = matrix.answer().rows[now.at.row].cells[now.at.col];
  say(news + now.crawler.name + ', ' + now.url + ': ' + (cell.verdict ? words[cell.verdict] + (cell.line ? ' by ' : ', ') + because(cell) : inWords(cell)));
}

export function summary() {
  const rows = state.answer?.rows || [];
  const names = state.names || [];
  const blocked = (col) => rows.filter((r) => r.cells[col]?.verdict === 'disallow').length;
  const parts = names.slice(0, 4).map((n, i) => n.name + ' ' + (i ? blocked(i) : blocked(i) + ' of ' + rows.length + ' blocked'));
  $('summary').textContent = !state.urls.length || !names.length ? '' : narrow.matches ? blocked(matrix.chosen()?.col) + ' of ' + rows.length + ' URLs blocked' : parts.join(' · ') + (names.length > 4 ? ' …' : '');
  state.cells = rows.length * names.length;
  status();
}

export function status() {
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
