// The page.

import { copies } from './copies.js';
import { offer } from './crawlers.js';
import { show } from './details.js';
import { units } from './editor.js';
import { editor, file, text } from './file.js';
import * as link from './link.js';
import { drawFindings } from './lint.js';
import { loading } from './matrix.js';
import { isHeld } from './press.js';
import { busy, changed, engine } from './questions.js';
import { curl } from './share.js';
import { state } from './state.js';
import { undo } from './steps.js';
import { drawWithout, matrix } from './table.js';
import { decode, encode } from './text.js';
import { addURLs, setURLs } from './urls.js';
import { keepSoon, restore, snapshot, start } from './work.js';

await start();
keepSoon.begun = true;
keepSoon();
show.changes(null);
if (state.answered < 0) { // the table is there before the engine
  drawWithout(loading);
}

engine.ask('directory', () => [], (answer) => {
  state.directory = new Map((answer.crawlers || []).map((c) => [c.name.toLowerCase(), c]));
  state.checks = new Map((answer.checks || []).map((c) => [c.id, c]));
  offer();
  drawFindings();
});

// For the tests of the page.
globalThis.page = { copies, decode, encode, matrix, units, snapshot, link, restore, busy, isHeld, state, setURLs, changed, curl, file, addURLs, undo, insert: (t) => editor.edit(t + text(), 'an insertion'), own: () => { state.lent = null; } };
