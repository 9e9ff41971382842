// The grid of verdicts: a row a URL, a column a crawler. role=grid, arrows move.

const marks = { allow: '✓', disallow: '✕', undefined: '?' };
export const words = { allow: 'allowed', disallow: 'blocked', undefined: 'undefined' };

const drawnAtOnce = 200;

// element makes an element of text and other elements. Text is text, never markup.
export function element(name, attributes, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === 'onclick') {
      e.addEventListener('click', value);
    } else if (value === true) {
      e.setAttribute(key, '');
    } else if (value !== false && value !== null && value !== undefined) {
      e.setAttribute(key, value);
    }
  }
  e.append(...children.filter((c) => c !== null && c !== undefined && c !== false));
  return e;
}

export function mark(word) {
  return element('span', { class: 'mark ' + word, 'aria-hidden': 'true' }, marks[word] || '!');
}

function because(cell) {
  if (cell.line) {
    return 'line ' + cell.line;
  }
  return { 'no-rule': 'no rule', 'no-group': 'no group', 'empty-file': 'no rules', 'robots-txt': 'always', rule: 'empty rule' }[cell.reason] || cell.reason;
}

// inWords is what a cell says, for screen readers and copies.
export function inWords(cell) {
  if (cell.error) {
    return 'not a URL';
  }
  return words[cell.word] + ' ' + because(cell);
}

export function createMatrix(place, { onChoose, onHover, onLeave }) {
  let answer = { columns: [], rows: [] };
  let at = { row: 0, col: 0 }; // where the keyboard is
  let chosen = null;
  let cells = []; // drawn ones, by row
  let body = null;
  let labels = [];

  const observer = new IntersectionObserver((entries) => {
    if (entries.some((e) => e.isIntersecting)) {
      draw(cells.length + drawnAtOnce);
    }
  });

  function cellOf(row, col) {
    return cells[row] && cells[row][col];
  }

  function markChosen() {
    place.querySelectorAll('[aria-selected=true]').forEach((e) => e.setAttribute('aria-selected', 'false'));
    const e = chosen && cellOf(chosen.row, chosen.col);
    if (e) {
      e.setAttribute('aria-selected', 'true');
    }
  }

  function move(row, col, focus) {
    const old = cellOf(at.row, at.col);
    if (old) {
      old.tabIndex = -1;
    }
    at = { row: Math.max(0, Math.min(row, answer.rows.length - 1)), col: Math.max(0, Math.min(col, answer.columns.length - 1)) };
    if (at.row >= cells.length) {
      draw(at.row + drawnAtOnce);
    }
    const e = cellOf(at.row, at.col);
    if (e) {
      e.tabIndex = 0;
      if (focus) {
        e.focus();
        onHover(at.row, at.col);
      }
    }
  }

  function draw(upTo) {
    observer.disconnect();
    const rows = document.createDocumentFragment();
    for (let i = cells.length; i < Math.min(upTo, answer.rows.length); i++) {
      const row = answer.rows[i];
      const drawn = row.cells.map((cell, k) => {
        const others = cell.others || [];
        const label = labels[k] + ', ' + row.url + ': ' + inWords(cell) + (others.length ? '; ' + others.join(', ') + ' answer otherwise' : '');
        return element('td', { role: 'gridcell', tabindex: -1, 'aria-selected': 'false', 'aria-label': label, title: cell.error || null, 'data-row': i, 'data-col': k, class: 'cell ' + (cell.word || 'wrong') },
          element('span', { class: 'verdict' }, mark(cell.word || 'wrong'), element('span', { class: 'word' }, cell.error ? 'not a URL' : words[cell.word]), ' ',
            cell.error ? null : element('span', { class: 'by' }, because(cell)),
            others.length > 0 && element('span', { class: 'badge', 'aria-hidden': 'true', title: 'engines differ: ' + others.join(', ') + ' answer otherwise' }, '⚠')));
      });
      cells.push(drawn);
      rows.append(element('tr', { role: 'row', 'aria-rowindex': i + 2 },
        element('th', { role: 'rowheader', scope: 'row', class: row.error ? 'wrong' : null, title: row.error || row.url }, element('span', { class: 'url' }, row.url)), ...drawn));
    }
    body.append(rows);
    if (cells.length < answer.rows.length) {
      observer.observe(body.lastElementChild);
    }
  }

  place.addEventListener('click', (event) => {
    const e = event.target.closest('td[data-row]');
    if (e) {
      move(+e.dataset.row, +e.dataset.col, false);
      chosen = { ...at };
      markChosen();
      onChoose(at.row, at.col, false);
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
    if (!event.target.closest('td[data-row]') || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-10, 0], PageDown: [10, 0], Home: [0, -Infinity], End: [0, Infinity] };
    const step = steps[event.key];
    if (step) {
      event.preventDefault();
      move(at.row + step[0], at.col + step[1], true);
    } else if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      chosen = { ...at };
      markChosen();
      onChoose(at.row, at.col, true);
    }
  });

  return {
    // show draws an answer; names are how its columns are called.
    show(next, names) {
      const focused = place.contains(document.activeElement) && document.activeElement.matches('td');
      const same = next.columns.length === answer.columns.length && next.rows.length === answer.rows.length;
      answer = next;
      labels = names.map((n) => n.name + ' as ' + n.dialect);
      cells = [];
      body = element('tbody', { role: 'rowgroup' });
      const head = element('tr', { role: 'row', 'aria-rowindex': 1 }, element('th', { role: 'columnheader', scope: 'col' }, 'URL'),
        ...names.map((n, i) => element('th', { role: 'columnheader', scope: 'col', title: answer.columns[i].lines.length ? 'group ' + answer.columns[i].group + ', line ' + answer.columns[i].lines.join(', ') : 'no group is for it' },
          element('span', { class: 'name' }, n.name), element('span', { class: 'dialect' }, n.dialect))));
      const table = element('table', { role: 'grid', 'aria-label': 'Verdicts', 'aria-rowcount': answer.rows.length + 1, 'aria-colcount': names.length + 1 }, element('thead', { role: 'rowgroup' }, head), body);
      place.replaceChildren(answer.rows.length && names.length ? table : element('p', { class: 'empty' }, names.length ? 'Write a URL below, such as /basket.' : 'Add a crawler.'));
      draw(Math.max(drawnAtOnce, at.row + 1));
      if (chosen && (chosen.row >= answer.rows.length || chosen.col >= names.length)) {
        chosen = null;
      }
      move(at.row, at.col, focused && same);
      markChosen();
    },
    stale(yes) {
      place.classList.toggle('stale', yes);
      place.setAttribute('aria-busy', String(yes));
    },
    choose(row, col) {
      move(row, col, false);
      chosen = { ...at };
      markChosen();
    },
    chosen: () => chosen,
    focus: () => move(at.row, at.col, true),
    // light lights the cells that a line decides, of all lines if it is 0.
    light(line) {
      cells.forEach((row, i) => row.forEach((e, k) => e.classList.toggle('lit', line > 0 && answer.rows[i].cells[k].line === line)));
    },
    answer: () => answer,
  };
}

// Copies of the table.

const guarded = (text) => (/^[=+\-@\t\r]/.test(text) ? "'" + text : text);

function rowsOf(answer, names) {
  return [['URL', ...names.map((n) => n.name + ' (' + n.dialect + ')')], ...answer.rows.map((r) => [r.url, ...r.cells.map(inWords)])];
}

export const copies = {
  tsv: (answer, names) => rowsOf(answer, names).map((r) => r.map((c) => guarded(c.replace(/[\t\r\n]/g, ' '))).join('\t')).join('\n') + '\n',
  csv: (answer, names) => rowsOf(answer, names).map((r) => r.map((c) => '"' + guarded(c).replaceAll('"', '""') + '"').join(',')).join('\r\n') + '\r\n',
  markdown(answer, names) {
    const [head, ...rows] = rowsOf(answer, names).map((r) => '| ' + r.map((c) => c.replace(/[\\|`*_<>[\]]/g, '\\$&')).join(' | ') + ' |');
    return [head, '|' + ' --- |'.repeat(names.length + 1), ...rows].join('\n') + '\n';
  },
  // tests is a file for robots test, beside a robots.txt. Such a file has one dialect,
  // here that of the chosen column.
  tests(answer, names, chosen) {
    const { dialect } = names[chosen];
    let out = 'version: 1\nrobots: robots.txt\ndialect: ' + dialect + '\ntests:\n';
    names.forEach((n, k) => {
      const of = (word) => answer.rows.filter((r) => r.cells[k].word === word);
      if (n.dialect !== dialect || of('allow').length + of('disallow').length === 0) {
        return;
      }
      out += '  - name: ' + JSON.stringify(n.name) + '\n    agent: ' + JSON.stringify(n.tokens.length > 1 ? n.tokens : n.tokens[0] || '*') + '\n';
      for (const word of ['allow', 'disallow']) {
        if (of(word).length) {
          out += '    ' + word + ':\n' + of(word).map((r) => '      - ' + (r.cells[k].line ? '{url: ' + JSON.stringify(r.url) + ', line: ' + r.cells[k].line + '}' : JSON.stringify(r.url)) + '\n').join('');
        }
      }
    });
    return out;
  },
};
