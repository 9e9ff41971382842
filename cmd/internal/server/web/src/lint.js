// Findings and their fixes, and the rules that never decide.

import { show } from './details.js';
import { $ } from './dom.js';
import { editor, file } from './file.js';
import * as link from './link.js';
import { say } from './messages.js';
import { prove, withFile } from './questions.js';
import { columns, state, written } from './state.js';
import { concat, decode, encode } from './text.js';

// drawFindings draws the findings only where they are seen: a hostile file has hundreds.
export function drawFindings() {
  if (state.findings && state.tab === 'lint') {
    show.lint(state.findings, state.checks, state.applied?.file === state.findings.file ? state.applied.text : '');
  }
}

// fix applies the edits of a finding to the bytes that they are about.
export function fix(finding) {
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

export function fixAll() {
  const lines = [...new Set(state.findings.findings.filter((f) => f.fix?.safe).map((f) => f.line))];
  prove('fix', () => [file()], withFile((answer) => {
    editor.edit(decode(link.fromBase64(answer.body)), 'all safe fixes');
    $('panel-lint').focus({ preventScroll: true });
    state.applied = { file: state.file, text: 'All safe fixes are applied, to ' + (lines.length === 1 ? 'line ' : 'lines ') + lines.slice(0, 20).join(', ') + (lines.length > 20 ? ' and ' + (lines.length - 20) + ' more' : '') + '. No verdict changes (proved). Ctrl+Z undoes it.' };
    say(state.applied.text);
  }));
}

export function drawCounts() {
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

export function askNever() {
  prove('decides', () => [file(), columns().map(written).join('\n')], withFile((answer) => {
    state.never = answer.lines;
    drawCounts();
  }));
}
