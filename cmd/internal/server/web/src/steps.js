// Undoing: what is beside the text, and the buttons and keys.

import { compareWith } from './compare.js';
import { $, element } from './dom.js';
import { editor } from './file.js';
import { say } from './messages.js';
import { changed } from './questions.js';
import { state } from './state.js';
import { createUndo } from './undo.js';

const mostLabel = 36; // characters of the button for undoing; its title has all of them

// aside is what belongs to the text and is beside it, as undoing restores it.
export const aside = () => ({
  table: { crawlers: state.crawlers.map((c) => ({ ...c })), urls: state.urls }, bytes: state.bytes, pristine: state.pristine, lent: state.lent, site: state.site,
  before: state.before,
});

export const undo = createUndo({
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
    $('undo').replaceChildren('Undo', element('span', {}, undone && ' ' + (undone.length > mostLabel ? undone.slice(0, mostLabel - 1) + '…' : undone)));
    $('undo').title = undone ? 'Undo ' + undone + ' (Ctrl+Z)' : 'Nothing to undo';
    $('redo').hidden = !redone;
    $('redo').title = 'Redo ' + redone + ' (Ctrl+Shift+Z)';
  },
});

// goBack undoes the last step, or that of the text. forth redoes it.
export function goBack(onlyText) {
  const name = undo.undo(onlyText);
  say(name ? 'Undone: ' + name : 'Nothing to undo');
}

export function goForth(onlyText) {
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
