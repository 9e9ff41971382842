// The panels about the selected result and about the file.

import { addCrawlers } from './crawlers.js';
import { $ } from './dom.js';
import { editor, file, reveal, setText } from './file.js';
import * as link from './link.js';
import { fix, fixAll } from './lint.js';
import { say } from './messages.js';
import { panels } from './panels.js';
import { changed, engine, prove, withFile } from './questions.js';
import { all, auto, columns, state, titles, written } from './state.js';
import { goBack, undo } from './steps.js';
import { chosen, shown } from './table.js';
import { setURLs } from './urls.js';
import { view } from './views.js';

export const show = panels({
  titles,
  reveal,
  fix,
  fixAll,
  addCrawlers,
  blockTraining() {
    prove('block', () => [file()], withFile((answer) => {
      const lines = answer.added.replace(/\r\n?|\n$/g, '').split('\n').length;
      const showLines = () => editor.reveal(answer.line, lines);
      if (answer.added) {
        undo.step('blocking AI training', () => setText(link.fromBase64(answer.body), true));
        changed();
        showLines();
      }
      show.blocking(answer, () => goBack(false), () => {
        view('file');
        showLines();
        editor.focus();
      });
      say(answer.added ? 'Crawlers for AI training are blocked' : 'Nothing was changed');
    }));
  },
  addURL(url, crawler) {
    state.picked = { url, crawler: written(crawler), news: '' };
    shown.clear();
    undo.step('adding ' + url, () => {
      setURLs([url, ...state.urls.filter((u) => u !== url)]);
      if (!state.crawlers.some((c) => c.dialect === all || written(c) === written(crawler))) {
        state.crawlers.push({ dialect: crawler.dialect, tokens: crawler.tokens });
      }
    });
    changed();
    view('results');
  },
});

export function askWhy() {
  if (!chosen()) {
    $('why').replaceChildren();
    $('rates').replaceChildren();
    $('sitemaps').replaceChildren();
    editor.light(0, []);
    askOutlook();
    return;
  }
  let cell;
  engine.ask('explain', () => {
    cell = chosen() || { crawler: { dialect: auto, tokens: [], name: '*' }, url: '/' };
    return [file(), written(cell.crawler), cell.url];
  }, (answer) => {
    if (!answer.unanswered && chosen()) {
      show.why(answer, cell);
      light(answer);
    }
  });
  askOutlook();
}

export function light(answer) {
  if (answer.error) {
    editor.light(0, []);
    return;
  }
  editor.light(answer.rule?.line || 0, answer.matches.filter((m) => !m.won).map((m) => m.line));
}

// askShow asks what the file declares for a crawler: its crawl rate and sitemaps.
export function askShow() {
  const crawler = chosen()?.crawler || columns()[0];
  if (!crawler || state.tab !== 'more' || !['rates', 'sitemaps'].includes(state.topic)) {
    return;
  }
  engine.ask('show', () => [file(), written(crawler), String(Math.floor(Date.now() / 1000))], withFile((facts) => {
    show.rates(facts, crawler);
    show.sitemaps(facts);
  }));
}

// askAccess asks for the access of AI crawlers.
export function askAccess() {
  if (state.tab === 'more' && state.topic === 'ai') {
    prove('access', () => [file()], withFile((table) => show.ai(table, state.directory)));
  }
}

// askOutlook asks what a search engine can do with the selected URL if it answers with the pasted headers.
export function askOutlook() {
  const cell = chosen();
  if (!cell || state.tab !== 'more' || state.topic !== 'page' || !$('headers').value.trim()) {
    $('outlook').replaceChildren();
    return;
  }
  engine.ask('outlook', () => [file(), written(cell.crawler), cell.url, $('headers').value], withFile((answer) => show.outlook(answer, cell)));
}

$('headers').addEventListener('input', askOutlook);
