// The table of results: a row for each URL that the view shows, a column for each crawler. It is a grid: arrow keys move the focus.

import { createResizer } from './columns.js';
import { element, narrow } from './dom.js';

const marks = { allow: '✓', disallow: '✕', undefined: '?' };
export const words = { allow: 'allowed', disallow: 'blocked', undefined: 'undefined' };

export const loading = 'loading'; // the pending of a cell that waits for its result

const drawnAtOnce = 200;

// parts is a URL with its scheme and host paler, since they are those of most URLs of a table.
function parts(url) {
  const [, origin, rest] = /^([a-z][a-z0-9+.-]*:\/\/[^/?#]*)([^]*)$/i.exec(url) || ['', '', url];
  return origin ? [element('span', { class: 'soft' }, origin), rest] : [rest];
}

export function mark(word) {
  return element('span', { class: 'mark ' + word, 'aria-hidden': 'true' }, marks[word] || '!');
}

export function because(cell) {
  if (cell.line) {
    return 'line ' + cell.line;
  }
  return { 'no-rule': 'no matching rule', 'no-group': 'no group', 'empty-file': 'no rules', 'robots-txt': 'always', rule: 'empty rule' }[cell.reason] || cell.reason;
}

// inWords is a cell as screen readers and copies have it.
export function inWords(cell) {
  if (cell.pending) {
    return cell.pending;
  }
  if (cell.error) {
    return 'invalid URL';
  }
  return words[cell.verdict] + ' ' + because(cell);
}

// remarks are what a verdict for a crawler depends on besides the file: a fallback, and whom the file addresses.
export function remarks({ fallback_reason: reason, binds }) {
  const addressed = {
    'not-by-star': 'only a group that names this crawler addresses it, not that of *',
    no: 'a person requests the pages of this crawler, so the file does not address it',
  }[binds];
  return [reason, addressed].filter(Boolean);
}

// short is remarks as the head of a column has them.
export function short(column) {
  const addressed = { 'not-by-star': 'addressed by name', no: 'not addressed' }[column?.binds];
  return [column?.fallback && 'group of ' + column.fallback.token, addressed].filter(Boolean);
}

export function groupOf({ group, ...column }) {
  const lines = group && group.lines.join(', ') + (group.lines_dropped ? ' and ' + group.lines_dropped + ' more' : '');
  return [group ? 'group ' + group.token + ', line ' + lines : 'no group applies to this crawler', ...remarks(column)].join('; ');
}

// createMatrix draws the results in place. heads returns the elements in the head of each column, card
// those in the open card of a narrow window.
export function createMatrix(place, { heads, card, onChoose, onHover, onLeave, onURL, onRemove, sortButton }) {
  let answer = { columns: [], rows: [], rules: {} };
  let at = { row: 0, col: 0 }; // the cell with the keyboard focus; column -1 is the URL
  let chosen = null;
  let picked = 0; // the column of a narrow window
  let opened = null; // the URL of its open card
  let cells = []; // drawn ones, by row
  let body = null;
  let labels = [];
  let names = [];
  let key = ''; // of what only a new table shows
  const handle = createResizer(place, element);

  const observer = new IntersectionObserver((entries) => {
    if (entries.some((e) => e.isIntersecting)) {
      draw(cells.length + drawnAtOnce);
    }
  });

  const cellOf = (row, col) => cells[row] && cells[row][col + 1];

  function markChosen() {
    place.querySelectorAll('.card').forEach((e) => e.replaceChildren());
    place.querySelector('.picker').value = picked;
    const head = names.findIndex((n) => n.of === names[picked].of); // eight columns can have one head
    place.querySelectorAll('thead th').forEach((th, i) => th.classList.toggle('picked', i === head + 1));
    cells.forEach((row, i) => row.slice(1).forEach((e, k) => {
      const isChosen = chosen?.row === i && chosen.col === k;
      const isOpen = narrow.matches && isChosen && answer.rows[i].url === opened;
      e.ariaSelected = String(isChosen);
      e.ariaExpanded = narrow.matches && k === picked ? String(isOpen) : null;
      e.classList.toggle('picked', k === picked);
      if (isOpen && !answer.rows[i].cells[k].pending) {
        e.parentNode.lastElementChild.append(...card(i, answer.rows[i].cells[k], answer.columns[k], () => onChoose(true)));
      }
    }));
  }

  function move(row, col, focus) {
    const old = cellOf(at.row, at.col);
    if (old) {
      old.tabIndex = -1;
    }
    at = { row: Math.max(0, Math.min(row, answer.rows.length - 1)), col: Math.max(-1, narrow.matches && col >= 0 ? picked : Math.min(col, answer.columns.length - 1)) };
    if (at.row >= cells.length) {
      draw(at.row + drawnAtOnce);
    }
    const e = cellOf(at.row, at.col);
    if (e) {
      e.tabIndex = 0;
      if (focus) {
        e.focus();
        if (at.col >= 0) {
          onHover(at.row, at.col);
        }
      }
    }
  }

  // choose selects a cell; toggle opens its card, or closes it.
  function choose(row, col, toggle) {
    picked = Math.max(0, col);
    move(row, picked, false);
    if (toggle) {
      opened = chosen?.row === row && opened === answer.rows[row].url ? null : answer.rows[row].url;
    }
    chosen = { ...at };
    markChosen();
  }

  // fill draws the result in a cell.
  function fill(i, k) {
    const row = answer.rows[i];
    const cell = row.cells[k];
    const e = cellOf(i, k);
    const others = cell.differing || [];
    e.className = 'cell ' + (cell.verdict || (cell.pending ? '' : 'wrong'));
    e.title = cell.error || '';
    e.ariaLabel = labels[k] + ', ' + row.url + ': ' + inWords(cell) + (others.length ? '; different in ' + others.join(', ') : '');
    e.replaceChildren(cell.pending ? element('span', { class: cell.pending === loading ? 'placeholder' : 'soft' }, cell.pending === loading ? '' : cell.pending) : element('span', { class: 'verdict' }, mark(cell.verdict || 'wrong'), element('span', { class: 'word' }, cell.error ? 'invalid URL' : words[cell.verdict]), ' ',
      cell.error ? '' : element('span', { class: 'by' }, because(cell)),
      others.length ? element('span', { class: 'badge', 'aria-hidden': 'true', title: 'engines differ: the result is different in ' + others.join(', ') }, '⚠') : ''));
  }

  // update draws the next answer for the same crawlers and URLs: what changed. Until an answer has the dialects that differ, those of
  // the same verdict before it stay.
  function update(next, engines) {
    const before = answer;
    answer = next;
    answer.rows.forEach((row, i) => row.cells.forEach((cell, k) => {
      const old = before.rows[i].cells[k];
      if (!engines && old.verdict === cell.verdict) {
        cell.differing = old.differing;
      }
      if (cells[i] && JSON.stringify(cell) !== JSON.stringify(old)) {
        fill(i, k);
      }
    }));
    place.querySelectorAll('thead th').forEach((th, i) => { th.title = answer.columns[i - 1] ? groupOf(answer.columns[i - 1]) : ''; });
    markChosen();
  }

  function draw(upTo) {
    observer.disconnect();
    const rows = document.createDocumentFragment();
    for (let i = cells.length; i < Math.min(upTo, answer.rows.length); i++) {
      const row = answer.rows[i];
      const foreign = row.host && row.host + ' is another host than ' + answer.site + '; judged by this file';
      const input = element('input', { type: 'text', class: 'url', tabindex: -1, value: row.url, 'aria-label': 'URL ' + (i + 1) + (foreign ? ', ' + foreign : ''), title: row.error || row.url, 'data-row': i, autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false' });
      const drawn = row.cells.map((cell, k) => element('td', { role: 'gridcell', tabindex: -1, 'data-row': i, 'data-col': k }));
      cells.push([input, ...drawn]);
      drawn.forEach((e, k) => fill(i, k));
      rows.append(element('tr', { role: 'row', 'aria-rowindex': i + 2 },
        element('th', { role: 'rowheader', scope: 'row', class: row.error ? 'wrong' : null, 'data-row': i }, element('code', { class: 'url', 'aria-hidden': 'true' }, ...parts(row.url)), input,
          foreign ? element('span', { class: 'foreign', title: foreign, 'aria-hidden': 'true' }, 'another host, judged by this file') : null,
          element('button', { type: 'button', class: 'quiet remove', tabindex: -1, 'aria-label': 'Remove ' + row.url, title: 'Remove (Delete)', 'data-remove': i }, '×')), ...drawn, element('td', { role: 'gridcell', class: 'card' })));
    }
    body.append(rows);
    markChosen();
    if (cells.length < answer.rows.length) {
      observer.observe(body.lastElementChild);
    }
  }

  place.addEventListener('click', (event) => {
    const button = event.target.closest('[data-remove]');
    if (button) {
      onRemove(+button.dataset.remove, 'td[data-col="' + Math.max(0, at.col) + '"]');
      return;
    }
    const e = event.target.closest('[data-row]');
    if (e?.matches(narrow.matches ? 'td, th' : 'td')) {
      choose(+e.dataset.row, +(e.dataset.col ?? picked), true);
      onChoose(false);
    }
  });
  place.addEventListener('focusin', (event) => {
    if (event.target.matches('input.url')) {
      move(+event.target.dataset.row, -1, false);
    }
  });
  place.addEventListener('change', (event) => {
    if (event.target.matches('input.url')) {
      onURL(+event.target.dataset.row, event.target.value);
    } else if (event.target.matches('.picker')) {
      choose(chosen?.row ?? 0, +event.target.value);
      onChoose(false);
    }
  });
  place.addEventListener('mouseover', (event) => {
    const e = event.target.closest('td[data-row]');
    if (e) {
      onHover(+e.dataset.row, +e.dataset.col);
    }
  });
  place.addEventListener('mouseleave', () => onLeave());
  place.addEventListener('keydown', (event) => {
    const url = event.target.closest('input.url');
    if (!url && !event.target.closest('td[data-row]') || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    let step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, narrow.matches ? -Infinity : -1], ArrowRight: [0, 1], PageUp: [-10, 0], PageDown: [10, 0], Home: [0, -Infinity], End: [0, Infinity] }[event.key];
    if (url && (event.key === 'ArrowLeft' || event.key === 'Home' || event.key === 'End' || event.key === 'ArrowRight' && (url.selectionEnd < url.value.length || url.selectionStart !== url.selectionEnd))) {
      return; // within the text
    }
    if (url && event.key === 'Escape') {
      url.value = answer.rows[at.row].url;
      step = [0, 1];
    } else if (url && event.key === 'Enter') {
      step = narrow.matches ? [0, 1] : [1, 0];
    }
    if (!url && event.key === 'Delete') {
      event.preventDefault();
      const { row, col } = event.target.closest('td').dataset;
      onRemove(+row, 'td[data-col="' + col + '"]');
    } else if (step) {
      event.preventDefault();
      move(at.row + step[0], at.col + step[1], true);
    } else if (!url && (event.key === 'Enter' || event.key === ' ')) {
      event.preventDefault();
      choose(at.row, at.col, true);
      onChoose(!narrow.matches);
    }
  });

  // keepChosen finds the selected URL among the rows of the next answer. If it was edited or removed, the row in its place is selected.
  function keepChosen(next) {
    const url = chosen && answer.rows[chosen.row]?.url;
    if (!chosen || next.rows[chosen.row]?.url === url) {
      return;
    }
    const row = next.rows.findIndex((r) => r.url === url);
    if (row >= 0) {
      chosen.row = row;
      if (at.row !== row && !place.contains(document.activeElement)) {
        at.row = row;
      }
    } else if (next.view !== answer.view || chosen.row >= next.rows.length) {
      chosen = null;
    }
  }

  return {
    // show draws an answer for crawlers with these names and dialects; engines reports whether it has the dialects that differ.
    show(next, columns, engines) {
      const nextKey = JSON.stringify([columns, narrow.matches, next.columns.map((c) => short(c)), next.rows.map(({ cells: results, ...row }) => row), next.view, next.all]);
      if (nextKey === key) {
        update(next, engines);
        return;
      }
      key = nextKey;
      const active = document.activeElement;
      const focused = place.contains(active) && active.matches('td, input.url');
      const same = next.columns.length === answer.columns.length;
      keepChosen(next);
      answer = next;
      names = columns;
      labels = names.map((n) => n.name + ' as ' + n.reads);
      cells = [];
      body = element('tbody', { role: 'rowgroup' });
      const picker = element('select', { class: 'picker', 'aria-label': 'Crawler' }, ...names.map((n, i) => element('option', { value: i }, names.some((m, k) => k !== i && m.of === n.of) ? labels[i] : n.name)));
      const head = element('tr', { role: 'row', 'aria-rowindex': 1 }, element('th', { role: 'columnheader', scope: 'col' }, sortButton('url', 0, 'URL'), picker, handle()),
        ...heads().map((parts, i) => element('th', { role: 'columnheader', scope: 'col', title: answer.columns[i] ? groupOf(answer.columns[i]) : null }, ...parts)));
      const table = element('table', { role: 'grid', 'aria-label': 'Results', 'aria-rowcount': answer.rows.length + 1, 'aria-colcount': names.length + 1 }, element('thead', { role: 'rowgroup' }, head), body);
      const hint = names.length ? answer.rows.length ? null : answer.shown?.length === 0 && next.all ? 'No URL matches.' : 'Add a path or URL, or paste a list.' : 'Add a crawler.';
      place.replaceChildren(table, ...hint ? [element('p', { class: 'empty' }, hint)] : []);
      if (chosen && (chosen.row >= answer.rows.length || chosen.col >= names.length)) {
        chosen = null;
      }
      picked = Math.max(0, Math.min(picked, names.length - 1));
      draw(Math.max(drawnAtOnce, at.row + 1));
      move(at.row, at.col, focused && same);
    },
    stale(yes) {
      place.classList.toggle('stale', yes);
      place.setAttribute('aria-busy', String(yes));
    },
    choose,
    chosen: () => chosen,
    column: () => picked,
    focus: () => move(at.row, Math.max(0, at.col), true),
    // light marks the cells that a line decides, none if it is 0.
    light(line) {
      cells.forEach((row, i) => row.slice(1).forEach((e, k) => e.classList.toggle('lit', line > 0 && answer.rows[i].cells[k].line === line)));
    },
    answer: () => answer,
  };
}
