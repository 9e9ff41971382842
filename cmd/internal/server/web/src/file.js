// The text: the bytes of a robots.txt in an editor.

import { remember } from './compare.js';
import { $ } from './dom.js';
import { createEditor } from './editor.js';
import { message, question } from './messages.js';
import { openFile } from './open.js';
import { changed } from './questions.js';
import { state } from './state.js';
import { aside, goBack, goForth, undo } from './steps.js';
import { matrix } from './table.js';
import { decode, encode } from './text.js';
import { view } from './views.js';
import { returnLent } from './work.js';

const nonce = document.querySelector('script[nonce]')?.nonce || '';

export function file() {
  if (state.bytes) {
    return state.bytes;
  }
  state.encoded ||= encode(editor.text());
  return state.encoded;
}

export const text = () => editor.text();

// setFile shows another file. The name completes "Undo …"; without one the change cannot be undone.
export function setFile(bytes, name) {
  const replace = () => {
    setText(bytes, Boolean(name));
    state.site = '';
    returnLent();
  };
  name ? undo.step(name, replace) : replace();
  changed();
}

// setText replaces the text.
export function setText(bytes, undoable) {
  remember();
  message('');
  question.close();
  editor.replace(decode(bytes), undoable);
  state.bytes = bytes;
  state.pristine = false;
}

export const editor = createEditor($('text'), nonce, {
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

export function reveal(line) {
  view('file');
  editor.reveal(line);
  editor.focus();
}
