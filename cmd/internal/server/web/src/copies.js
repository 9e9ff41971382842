// Copies of the table: for spreadsheets, documents and tests.

import { inWords } from './matrix.js';

const guarded = (text) => (/^[=+\-@\t\r]/.test(text) ? "'" + text : text);

function rowsOf(answer, names) {
  return [['URL', ...names.map((n) => n.name + ' (' + n.reads + ')')], ...answer.rows.map((r) => [r.url, ...r.cells.map(inWords)])];
}

// code is text as code in a cell of a table: no character of it is Markdown, and no name in it notifies anybody.
function code(text) {
  const line = text.replace(/[\p{Cc}\u2028\u2029]/gu, ' ');
  let fence = '`';
  while (line.includes(fence)) {
    fence += '`';
  }
  const pad = fence.length > 1 || /^ |^$/.test(line) ? ' ' : '';
  return (fence + pad + line + pad + fence).replaceAll('|', '\\|');
}

// yaml is text in double quotes. YAML reads the characters that it escapes as ends of lines, or refuses them.
const yaml = (text) => JSON.stringify(text.toWellFormed()).replace(/[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g, (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));

// listOf has a row for each URL and crawler, in the columns of robots check --format csv. A cell that does not apply is empty.
function listOf(answer, names) {
  const rows = answer.rows.flatMap((r) => r.cells.map((c, k) => [r.url, names[k].name, names[k].reads,
    ...c.error || c.pending ? ['', c.pending || 'invalid URL', '', '', ''] : [c.verdict, c.reason, c.line || '', answer.rules[c.line] || '', answer.columns[k].group?.token || '']]));
  return [['url', 'crawler', 'dialect', 'verdict', 'reason', 'line', 'rule', 'group'], ...rows.map((r) => r.map((c) => guarded(String(c))))];
}

// field is text as a cell of CSV (RFC 4180).
const field = (text) => (/[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text);

export const copies = {
  tsv: (answer, names) => listOf(answer, names).map((r) => r.map((c) => c.replace(/[\t\r\n]/g, ' ')).join('\t')).join('\n') + '\n',
  csv: (answer, names) => listOf(answer, names).map((r) => r.map(field).join(',')).join('\n') + '\n',
  markdown(answer, names) {
    const [head, ...rows] = rowsOf(answer, names);
    const row = (cells) => '| ' + cells.join(' | ') + ' |\n';
    return row([head[0], ...head.slice(1).map(code)]) + '|' + ' --- |'.repeat(head.length) + '\n' + rows.map((r) => row([code(r[0]), ...r.slice(1)])).join('');
  },
  // tests is a file for robots test, for the robots.txt beside it. It has one dialect, that of the chosen column.
  tests(answer, names, chosen) {
    const { dialect } = names[chosen];
    let out = 'version: 1\nrobots: robots.txt\ndialect: ' + dialect + '\ntests:\n';
    names.forEach((n, k) => {
      const of = (word) => answer.rows.filter((r) => r.cells[k].verdict === word);
      if (n.dialect !== dialect || of('allow').length + of('disallow').length === 0) {
        return;
      }
      out += '  - name: ' + yaml(n.name) + '\n    agent: ' + (n.tokens.length > 1 ? '[' + n.tokens.map(yaml).join(',') + ']' : yaml(n.tokens[0] || '*')) + '\n';
      for (const word of ['allow', 'disallow']) {
        if (of(word).length) {
          out += '    ' + word + ':\n' + of(word).map((r) => '      - ' + (r.cells[k].line ? '{url: ' + yaml(r.url) + ', line: ' + r.cells[k].line + '}' : yaml(r.url)) + '\n').join('');
        }
      }
    });
    return out;
  },
};
