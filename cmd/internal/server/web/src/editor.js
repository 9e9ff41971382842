// The text: CodeMirror or, if it does not start, the plain textarea. The engine classifies the lines (the letters of parse).

import { EditorState, StateEffect, StateField, RangeSet, Transaction, Annotation } from '@codemirror/state';
import { EditorView, Decoration, GutterMarker, ViewPlugin, gutter, keymap, lineNumbers, highlightActiveLine, highlightSpecialChars, drawSelection } from '@codemirror/view';
import { defaultKeymap, history, isolateHistory, redo, undo, undoDepth } from '@codemirror/commands';
import { search, searchKeymap, highlightSelectionMatches } from '@codemirror/search';
import { lintGutter, setDiagnostics, lintKeymap } from '@codemirror/lint';

const setKinds = StateEffect.define();
const setLit = StateEffect.define();
const setCounts = StateEffect.define();
const program = Annotation.define(); // a change that was not typed
const named = Annotation.define(); // what a change is called
const kept = 200; // steps of the text that can be undone, at least

// nameOf completes "Undo …" for a change.
function nameOf(tr) {
  const events = { 'input.paste': 'the paste', 'input.drop': 'the drop', 'delete.cut': 'the cut', delete: 'deleting', move: 'moving lines' };
  const event = Object.keys(events).find((e) => tr.isUserEvent(e));
  return tr.annotation(named) || events[event] || 'typing';
}

// kinds has one letter for each line. Between two answers of the engine it follows the text; new lines have a space.
const kinds = StateField.define({
  create: () => '',
  update(value, tr) {
    for (const e of tr.effects) {
      if (e.is(setKinds)) {
        return e.value;
      }
    }
    if (!tr.docChanged || value === '') {
      return value;
    }
    let out = '';
    let line = 0; // of the old text, from 0, that is copied next
    tr.changes.iterChangedRanges((fromA, toA, fromB, toB) => {
      const first = tr.startState.doc.lineAt(fromA).number - 1;
      const last = tr.startState.doc.lineAt(toA).number - 1;
      const now = tr.state.doc.lineAt(toB).number - tr.state.doc.lineAt(fromB).number + 1;
      out += value.slice(line, Math.max(line, first + 1)) + ' '.repeat(now - 1);
      line = last + 1;
    });
    return out + value.slice(line);
  },
});

const names = { u: 'agent', a: 'allow', d: 'disallow', s: 'sitemap', r: 'rate', o: 'other', '?': 'unknown', '!': 'malformed', g: 'lenient', x: 'ignored', '#': 'comment' };
const lineOf = Object.fromEntries(Object.entries(names).map(([k, n]) => [k, Decoration.line({ class: 'kind-' + n, attributes: k === 'g' ? { title: 'Google reads this line, RFC 9309 does not' } : k === 'x' ? { title: 'past the size limit: this line is ignored' } : undefined })]));
const field = Decoration.mark({ class: 'field' });
const value = Decoration.mark({ class: 'value' });
const comment = Decoration.mark({ class: 'comment' });
const won = Decoration.line({ class: 'won' });
const lost = Decoration.line({ class: 'lost' });

const lit = StateField.define({
  create: () => ({ won: 0, lost: [] }),
  update(v, tr) {
    for (const e of tr.effects) {
      if (e.is(setLit)) {
        return e.value;
      }
    }
    return tr.docChanged ? { won: 0, lost: [] } : v;
  },
});

// paint decorates only visible lines: a file can have 13,000.
function paint(view) {
  const { doc } = view.state;
  const letters = view.state.field(kinds);
  const { won: winner, lost: losers } = view.state.field(lit);
  const ranges = [];
  for (const { from, to } of view.visibleRanges) {
    for (let line = doc.lineAt(from); ; line = doc.line(line.number + 1)) {
      const kind = letters[line.number - 1];
      if (lineOf[kind]) {
        ranges.push(lineOf[kind].range(line.from));
      }
      if (line.number === winner) {
        ranges.push(won.range(line.from));
      } else if (losers.includes(line.number)) {
        ranges.push(lost.range(line.from));
      }
      if (kind !== 'x' && line.length < 10000) {
        const hash = line.text.indexOf('#');
        const end = hash < 0 ? line.length : hash;
        const colon = line.text.slice(0, end).indexOf(':');
        if (colon > 0) {
          ranges.push(field.range(line.from, line.from + colon));
          if (colon + 1 < end) {
            ranges.push(value.range(line.from + colon + 1, line.from + end));
          }
        }
        if (hash >= 0) {
          ranges.push(comment.range(line.from + hash, line.to));
        }
      }
      if (line.to >= to || line.number === doc.lines) {
        break;
      }
    }
  }
  return Decoration.set(ranges, true);
}

const painter = ViewPlugin.fromClass(class {
  constructor(view) {
    this.decorations = paint(view);
  }
  update(u) {
    if (u.docChanged || u.viewportChanged || u.startState.field(kinds) !== u.state.field(kinds) || u.startState.field(lit) !== u.state.field(lit)) {
      this.decorations = paint(u.view);
    }
  }
}, { decorations: (p) => p.decorations });

class Count extends GutterMarker {
  constructor(n, never) {
    super();
    this.n = n;
    this.never = never;
  }
  eq(other) {
    return other.n === this.n && other.never === this.never;
  }
  toDOM() {
    const e = document.createElement('span');
    e.className = this.never ? 'count never' : 'count';
    e.textContent = this.never ? '∅' : String(this.n);
    e.title = this.never ? 'never decides for the crawlers in the table (proved for all URLs)' : 'decides ' + this.n + (this.n === 1 ? ' result' : ' results') + ' in the table';
    return e;
  }
}

const counts = StateField.define({
  create: () => RangeSet.empty,
  update(v, tr) {
    v = v.map(tr.changes);
    for (const e of tr.effects) {
      if (e.is(setCounts)) {
        const list = [];
        for (const [line, n, never] of e.value) {
          if (line <= tr.state.doc.lines) {
            list.push(new Count(n, never).range(tr.state.doc.line(line).from));
          }
        }
        v = RangeSet.of(list, true);
      }
    }
    return v;
  },
});

// units converts a byte offset in a line to UTF-16 units. A single surrogate is one byte (text.js) or U+FFFD, three bytes.
export function units(text, bytes) {
  let at = 0;
  while (at < text.length && bytes > 0) {
    const c = text.charCodeAt(at);
    if (c < 0x80 || c >= 0xdc80 && c < 0xdd00) {
      bytes -= 1;
    } else if (c < 0x800) {
      bytes -= 2;
    } else if (c >= 0xd800 && c < 0xdc00 && text.charCodeAt(at + 1) >= 0xdc00 && text.charCodeAt(at + 1) < 0xe000) {
      bytes -= 4;
      at++;
    } else {
      bytes -= 3;
    }
    at++;
  }
  return at;
}

function createCodeMirror(textarea, nonce, { onChange, onLine, onPaste, onLeave, onUndo, onRedo }) {
  const view = new EditorView({
    state: EditorState.create({
      extensions: [
        EditorView.cspNonce.of(nonce),
        kinds, lit, counts, painter,
        lineNumbers(),
        gutter({ class: 'cm-counts', markers: (v) => v.state.field(counts), initialSpacer: () => new Count(88, false) }),
        lintGutter(),
        history({ minDepth: kept }), drawSelection(), highlightSpecialChars(), highlightActiveLine(), search({ top: true }), highlightSelectionMatches(),
        EditorState.tabSize.of(4), EditorView.lineWrapping,
        EditorView.contentAttributes.of({ 'aria-label': 'robots.txt text', tabindex: '0', spellcheck: 'false', autocapitalize: 'off' }),
        keymap.of([{ key: 'Mod-Enter', run: () => (onLeave(), true) }, ...defaultKeymap.filter((k) => k.key !== 'Mod-Enter'), { key: 'Mod-z', run: () => (onUndo(), true), shift: () => (onRedo(), true) }, { key: 'Mod-y', run: () => (onRedo(), true) }, ...searchKeymap, ...lintKeymap]),
        EditorView.updateListener.of((u) => {
          if (u.docChanged) {
            const back = u.transactions.some((tr) => tr.isUserEvent('undo') || tr.isUserEvent('redo'));
            const isStep = !back && undoDepth(u.state) !== undoDepth(u.startState);
            onChange(u.transactions.some((tr) => tr.annotation(program)), isStep ? nameOf(u.transactions.find((tr) => tr.docChanged)) : '');
          }
        }),
        EditorView.domEventHandlers({
          paste: (event) => onPaste(event),
          mousemove(event, v) {
            const at = v.posAtCoords({ x: event.clientX, y: event.clientY }, false);
            onLine(at === null ? 0 : v.state.doc.lineAt(at).number);
          },
          mouseleave: () => onLine(0),
        }),
      ],
    }),
  });
  textarea.replaceWith(view.dom);
  const lineAt = (n) => view.state.doc.line(Math.max(1, Math.min(n, view.state.doc.lines)));
  return {
    text: () => view.state.doc.toString(),
    length: () => view.state.doc.length,
    replace(text, undoable) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text }, annotations: [program.of(true), Transaction.addToHistory.of(undoable), isolateHistory.of('full')], selection: { anchor: 0 }, scrollIntoView: true });
    },
    undo: () => undo(view),
    redo: () => redo(view),
    // edit replaces what differs, so that the cursor stays. The name completes "Undo …".
    edit(edited, name) {
      const text = edited.replace(/\r\n?/g, '\n'); // as CodeMirror has line ends
      const old = view.state.doc.toString();
      const most = Math.min(old.length, text.length);
      let start = 0;
      while (start < most && old.charCodeAt(start) === text.charCodeAt(start)) {
        start++;
      }
      let end = 0;
      while (end < most - start && old.charCodeAt(old.length - 1 - end) === text.charCodeAt(text.length - 1 - end)) {
        end++;
      }
      view.dispatch({ changes: { from: start, to: old.length - end, insert: text.slice(start, text.length - end) }, annotations: [named.of(name), isolateHistory.of('full')] });
    },
    kinds: (letters) => view.dispatch({ effects: setKinds.of(letters) }),
    light: (winner, losers) => view.dispatch({ effects: setLit.of({ won: winner, lost: losers }) }),
    counts: (list) => view.dispatch({ effects: setCounts.of(list) }),
    findings(list, fix) {
      const places = list.map((f) => {
        const from = lineAt(f.line);
        const to = lineAt(f.end_line);
        const start = Math.min(from.from + units(from.text, f.column - 1), view.state.doc.length);
        return {
          from: start,
          to: Math.max(start, Math.min(to.from + units(to.text, f.end_column - 1), view.state.doc.length)),
          severity: { error: 'error', warning: 'warning' }[f.severity] || 'info',
          source: f.id,
          message: f.message + (f.advice ? '. ' + f.advice : ''),
          actions: f.fix ? [{ name: f.fix.safe ? 'Fix (safe)' : 'Change', apply: () => fix(f) }] : [],
        };
      });
      view.dispatch(setDiagnostics(view.state, places.sort((a, b) => a.from - b.from)));
    },
    // reveal selects a line's beginning, or some lines.
    reveal(n, lines = 0) {
      const line = lineAt(n);
      view.dispatch({ selection: { anchor: line.from, head: lines ? lineAt(n + lines - 1).to : line.from }, effects: EditorView.scrollIntoView(line.from, { y: 'center' }) });
    },
    focus: () => view.focus(),
    measure: () => view.requestMeasure(),
  };
}

function createTextarea(textarea, { onChange, onPaste, onLeave }) {
  textarea.addEventListener('input', () => onChange(false));
  textarea.addEventListener('paste', (event) => onPaste(event) && event.preventDefault());
  textarea.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      onLeave();
    }
  });
  const set = (text) => {
    textarea.value = text;
    onChange(true);
  };
  const nothing = () => {};
  return {
    text: () => textarea.value, length: () => textarea.value.length, replace: set, edit: (text) => { textarea.value = text; onChange(false); }, undo: () => false, redo: () => false,
    kinds: nothing, light: nothing, counts: nothing, findings: nothing, measure: nothing,
    reveal(n) {
      const start = textarea.value.split('\n').slice(0, n - 1).reduce((sum, l) => sum + l.length + 1, 0);
      textarea.setSelectionRange(start, start);
    },
    focus: () => textarea.focus(),
  };
}

export function createEditor(textarea, nonce, handlers) {
  try {
    return createCodeMirror(textarea, nonce, handlers);
  } catch {
    return createTextarea(textarea, handlers);
  }
}
