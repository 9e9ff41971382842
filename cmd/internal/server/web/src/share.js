// Copies, downloads and links.

import { copies } from './copies.js';
import { $, element } from './dom.js';
import { file, text } from './file.js';
import * as link from './link.js';
import { because, words } from './matrix.js';
import { message, say } from './messages.js';
import { isStatic, state, titles } from './state.js';
import { matrix } from './table.js';
import { keep, snapshot } from './work.js';

// save downloads a file.
function save(content, kind, name) {
  const address = URL.createObjectURL(new Blob([content], { type: kind }));
  element('a', { href: address, download: name }).click();
  URL.revokeObjectURL(address);
}

$('copy').addEventListener('click', () => clipboard(text(), 'robots.txt'));

$('download').addEventListener('click', () => {
  save(file(), 'text/plain', 'robots.txt');
  say('robots.txt downloaded');
});

async function clipboard(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    say(what + ' copied');
    $('status').textContent = what + ' copied.';
  } catch {
    message('This browser does not let the page copy. The text is: ' + text.slice(0, 2000));
  }
}

async function copyLink() {
  const fragment = await link.write(snapshot());
  if (fragment.length > link.mostLink) {
    save(JSON.stringify(link.portable(snapshot())), 'application/json', 'page.robots.json');
    message('The link would have ' + fragment.length.toLocaleString('en') + ' characters. Everything was saved to page.robots.json instead; “Open” reads it.');
    return;
  }
  history.replaceState(null, '', fragment);
  state.from = fragment;
  keep(false);
  await clipboard(location.href, 'Link');
  if (location.href.length > link.noteAbove) {
    message('The link was copied. It has ' + location.href.length.toLocaleString('en') + ' characters; some mail programs truncate links over ' + link.noteAbove.toLocaleString('en') + '.');
  }
}

const quoted = (s) => "'" + s.replaceAll("'", "'\\''") + "'";

// curl is a command that gets the selected result from the API, with the text as it is.
export function curl({ tokens, dialect }, url) {
  const question = { url, agent: tokens.length ? tokens : '*', dialect };
  try {
    question.robots = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(file());
  } catch {
    question.robots_b64 = btoa(Array.from(file(), (b) => String.fromCharCode(b)).join(''));
  }
  const server = isStatic ? 'http://127.0.0.1:8780/' : location.href;
  return 'curl -s -H ' + quoted('Content-Type: application/json') + ' -d ' + quoted(JSON.stringify({ questions: [question] })) + ' ' + quoted(new URL('v1/check', server).href);
}

// sentence is the selected result for a ticket.
function sentence(crawler, url, cell) {
  const rule = cell.line ? ' by line ' + cell.line + ' of robots.txt (' + (text().split(/\r\n?|\n/)[cell.line - 1] || '').trim() + ')' : ': ' + because(cell);
  return url + ' is ' + words[cell.verdict] + ' for ' + crawler.name + rule + ', as ' + titles[crawler.reads] + ' reads it.';
}

document.querySelectorAll('[data-copy]').forEach((b) => b.addEventListener('click', () => {
  const kind = b.dataset.copy;
  if (kind === 'link') {
    copyLink();
    return;
  }
  const answer = matrix.answer();
  const at = matrix.chosen() || { row: 0, col: 0 };
  const cell = answer.rows[at.row]?.cells[at.col];
  if (!cell) {
    message('There is no result to copy yet.');
  } else if (kind === 'curl') {
    clipboard(curl(state.names[at.col], answer.rows[at.row].url), 'Command');
  } else if (kind === 'sentence') {
    clipboard(cell.error ? answer.rows[at.row].url + ' is not a valid URL.' : sentence(state.names[at.col], answer.rows[at.row].url, cell), 'Sentence');
  } else if (kind === 'download') {
    save(copies.csv(answer, state.names), 'text/csv', 'robots-verdicts.csv');
  } else {
    clipboard(copies[kind](answer, state.names, at.col), b.textContent);
    const { dialect } = state.names[at.col];
    const others = state.names.filter((n) => n.dialect !== dialect).map((n) => n.name + ' as ' + titles[n.dialect]);
    if (kind === 'tests' && others.length) {
      message('A test file has one dialect. This one is for ' + titles[dialect] + ', without ' + others.join(', ') + '.');
    }
  }
}));
