// Tabs, the views of a narrow window, menus and the help.

import { drawComparing } from './compare.js';
import { askAccess, askOutlook, askShow } from './details.js';
import { $, narrow } from './dom.js';
import { editor } from './file.js';
import { drawFindings } from './lint.js';
import { state } from './state.js';
import { matrix, summary } from './table.js';

const tabs = ['why', 'changes', 'lint', 'more'];
const topics = ['ai', 'rates', 'sitemaps', 'page'];

export function openTab(name) {
  state.tab = name;
  for (const t of tabs) {
    $('tab-' + t).setAttribute('aria-selected', String(t === name));
    $('tab-' + t).tabIndex = t === name ? 0 : -1;
    $('panel-' + t).hidden = t !== name;
  }
  if (name === 'changes') {
    drawComparing();
  }
  askShow();
  askAccess();
  askOutlook();
  drawFindings();
}

function openTopic(name) {
  state.topic = name;
  for (const t of topics) {
    document.querySelector('[data-topic=' + t + ']').setAttribute('aria-pressed', String(t === name));
    $(t).hidden = t !== name;
  }
  askShow();
  askAccess();
  askOutlook();
}

topics.forEach((t) => document.querySelector('[data-topic=' + t + ']').addEventListener('click', () => openTopic(t)));

tabs.forEach((t, i) => {
  $('tab-' + t).addEventListener('click', () => openTab(t));
  $('tab-' + t).addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) {
      event.preventDefault();
      const next = tabs[(i + step + tabs.length) % tabs.length];
      openTab(next);
      $('tab-' + next).focus();
    }
  });
  $('panel-' + t).addEventListener('keydown', (event) => {
    if (event.key === 'Escape') {
      view('results');
      matrix.focus();
    }
  });
});

// view chooses the part that a narrow window shows.
export function view(name) {
  document.body.dataset.view = name;
  document.querySelectorAll('.views button').forEach((b) => (b.dataset.view === name ? b.setAttribute('aria-current', 'true') : b.removeAttribute('aria-current')));
  editor.measure();
}

document.querySelectorAll('.views button').forEach((b) => b.addEventListener('click', () => view(b.dataset.view)));

// A narrow window has one menu.
const fold = () => { $('actions').open = !narrow.matches; };

narrow.addEventListener('change', () => {
  fold();
  summary();
  const now = matrix.chosen();
  now && matrix.choose(now.row, now.col);
});
fold();

const openMenus = () => [...document.querySelectorAll('details.menu[open]')].filter((m) => narrow.matches || m.id !== 'actions');

document.addEventListener('keydown', (event) => {
  if (event.key === '?' && !event.target.closest('input, textarea, select, [contenteditable=true]')) {
    event.preventDefault();
    $('helping').showModal();
  } else if (event.key === 'Escape') {
    const open = openMenus().at(-1);
    if (open) {
      open.open = false;
      open.querySelector('summary').focus();
    }
  }
});

document.addEventListener('click', (event) => {
  openMenus().forEach((m) => {
    if (!m.contains(event.target) || event.target.closest('.sheet button')) {
      if (m.querySelector('.sheet').contains(document.activeElement)) {
        m.querySelector('summary').focus();
      }
      m.open = false;
    }
  });
});
$('help').addEventListener('click', () => $('helping').showModal());
