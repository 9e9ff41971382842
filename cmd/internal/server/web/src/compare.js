// Comparing: with the text at one time, an earlier version, the file of a site, or any other text.

import { show } from './details.js';
import { $, element } from './dom.js';
import { file, setFile, text } from './file.js';
import { say } from './messages.js';
import { prove, withFile } from './questions.js';
import { columns, state, written } from './state.js';
import { decode, encode } from './text.js';
import { openTab, view } from './views.js';

const mostVersions = 20; // of the text, kept in this browser
const mostVersion = 100 << 10; // characters of one

const versions = () => {
  try {
    return JSON.parse(localStorage.getItem('robots-versions')) || [];
  } catch {
    return [];
  }
};

// remember keeps the text in this browser, to compare with or restore later.
export function remember() {
  const now = text();
  const list = versions();
  if (state.pristine || !now.trim() || now.length > mostVersion || list[0]?.text === now) {
    return;
  }
  try {
    localStorage.setItem('robots-versions', JSON.stringify([{ at: Date.now(), text: now }, ...list].slice(0, mostVersions)));
  } catch {} // no room, or not permitted: there are no earlier versions then
}

export function compareWith(bytes) {
  state.before = bytes;
  $('before').value = bytes ? decode(bytes) : '';
  drawComparing();
  askDiff();
}

export function drawComparing() {
  const comparing = Boolean(state.before);
  $('compare').setAttribute('aria-pressed', String(comparing));
  $('before').hidden = $('stop').hidden = $('restore').hidden = !comparing;
  const option = (value, label) => element('option', { value }, label);
  $('version').replaceChildren(option('', comparing ? 'the text below' : 'choose…'), option('now', 'the text as it is now'), option('other', 'another text'),
    ...state.live ? [option('live', 'the live file of ' + state.live.host)] : [],
    ...versions().map((v, i) => option(String(i), 'version of ' + new Date(v.at).toLocaleString([], { dateStyle: 'short', timeStyle: 'short' }) + ', ' + v.text.length.toLocaleString('en') + ' characters')),
    ...versions().length ? [option('forget', 'delete all earlier versions')] : []);
}

$('version').addEventListener('change', () => {
  const choice = $('version').value;
  if (choice === 'now') {
    compareWith(file().slice());
  } else if (choice === 'other') {
    compareWith(new Uint8Array());
    $('before').focus();
  } else if (choice === 'live') {
    compareWith(state.live.bytes);
  } else if (choice === 'forget') {
    localStorage.removeItem('robots-versions');
    drawComparing();
  } else if (choice) {
    compareWith(encode(versions()[choice].text));
  }
});

$('before').addEventListener('input', () => {
  state.before = encode($('before').value);
  askDiff();
});
$('stop').addEventListener('click', () => compareWith(null));

$('restore').addEventListener('click', () => {
  setFile(state.before.slice(), 'restoring the other text');
  say('The text compared with is the text now');
});

$('compare').addEventListener('click', () => {
  openTab('changes');
  view('details');
  if (state.before) {
    compareWith(null);
  } else {
    compareWith(file().slice());
    say('Comparing with the text as it is now');
  }
});

export function askDiff() {
  if (!state.before) {
    show.changes(null);
    return;
  }
  let compared;
  prove('diff', () => {
    compared = columns();
    return [state.before, file(), compared.map(written).join('\n')];
  }, withFile((answer) => show.changes(answer, compared, state.directory)));
}
