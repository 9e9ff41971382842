// The questions to the engine, and when they are asked.

import { askDiff } from './compare.js';
import { begin, offer } from './crawlers.js';
import { askAccess, askShow, askWhy, show } from './details.js';
import { $ } from './dom.js';
import { createEngine } from './engine.js';
import { editor, file } from './file.js';
import { askNever, drawFindings, fix } from './lint.js';
import { message } from './messages.js';
import { isStatic, state } from './state.js';
import { askMatrix, matrix, status } from './table.js';
import { capital } from './text.js';
import { drawRecord, keepSoon } from './work.js';

const pause = 120; // ms without a change until the other questions than for verdicts are asked
const idle = 300; // likewise until the slow ones are, at least
const mostIdle = 2000; // and at most

export const engine = createEngine(document.documentElement.dataset.engine !== 'server', onMode, !isStatic);

// Proofs can take seconds, so they have a separate worker, and no verdict waits for one. It uses the server only if the other
// one does, which the page then says; while the engine loads, nothing is sent.
let prover = null;

export function prove(kind, args, done) {
  const byServer = !isStatic && (state.mode === 'server' || state.mode === 'failed');
  prover ||= createEngine(!byServer, () => {}, byServer);
  prover.ask(kind, args, done);
}

function onMode(mode, why) {
  if (mode === state.mode && mode !== 'failed') {
    return;
  }
  state.mode = mode;
  $('loading').hidden = true;
  clearTimeout(onMode.late);
  document.body.dataset.engine = mode;
  if (mode === 'server') {
    prover = null;
    askSlow();
  }
  const privacy = {
    loading: 'Your text stays in this browser.',
    wasm: 'Your text stays in this browser.',
    server: 'Results come from ' + location.host + ': your text is sent there, and not stored.',
    failed: capital(why || '') + '.',
  };
  $('privacy').textContent = privacy[mode];
  $('privacy').title = mode === 'server' && why ? 'The engine does not run in this browser: ' + why : '';
  if (mode === 'loading') {
    onMode.late = setTimeout(() => { $('loading').hidden = false; }, 3000);
  }
  if (mode === 'wasm' && !isStatic && 'serviceWorker' in navigator) {
    navigator.serviceWorker.register('page/sw.js', { scope: './' }).catch(() => {}); // without it the page needs its server
  }
}

let later;

// askLater asks what the verdicts do not need once nothing has changed for a moment, so that the next keystroke does not wait for it.
function askLater() {
  clearTimeout(later);
  later = setTimeout(() => {
    later = 0;
    askWhy();
    askParse();
    if (!state.begin) {
      askMatrix('engines');
    }
  }, pause);
}

// askParse asks for the kinds of lines, and the crawlers that the file names.
function askParse() {
  engine.ask('parse', () => [file()], withFile((facts) => {
    state.facts = facts;
    offer();
    editor.kinds(facts.kinds);
    $('about').hidden = !facts.notes.length;
    $('about').textContent = facts.notes.map((n) => capital(n.text) + '.').join(' ');
    status();
    if (state.begin) {
      begin(facts.start);
    }
  }));
}

let slow;
let took = 0; // ms, to find the mistakes in the text before

// askSlow asks the slow questions once nothing has changed for a moment, or for as long as they take: they use a core that the
// verdicts need.
function askSlow() {
  clearTimeout(slow);
  slow = setTimeout(() => {
    slow = 0;
    let begun;
    prove('lint', () => {
      begun = Date.now();
      return [file()];
    }, withFile((answer, version) => {
      took = Date.now() - begun;
      state.findings = { ...answer, file: version };
      drawFindings();
      editor.findings(answer.findings, fix);
      status();
    }));
    askNever();
    askShow();
    askDiff();
    askAccess();
  }, Math.min(Math.max(idle, took), mostIdle));
}

// changed asks everything again; until the answers come, the old ones are marked.
export function changed() {
  state.version++;
  show.blocking(null); // it is about an earlier text
  matrix.stale(true);
  document.body.classList.add('waiting');
  if (state.begin) {
    askParse(); // which names the crawlers
  } else {
    askMatrix();
  }
  askLater();
  askSlow();
  drawRecord();
  keepSoon();
}

// withFile calls done with answers about the current text only.
export function withFile(done) {
  const version = state.file;
  return (answer) => {
    if (answer.error) {
      complain(answer);
    } else if (version === state.file) {
      done(answer, version);
    }
  };
}

// complain shows the error of an answer. If the engine gives no answer, the line about privacy says so.
export function complain(answer) {
  if (!answer.unanswered || state.answered < 0) {
    message(capital(answer.error) + '.');
  }
}

// busy reports whether answers are outstanding.
export const busy = () => Boolean(later || slow) || engine.busy() || Boolean(prover?.busy());
