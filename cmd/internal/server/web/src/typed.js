// What people type and paste: crawlers and lists of URLs. The engine reads it; a question that it leaves open is asked in a bar,
// with a button for each answer.

import { element } from './dom.js';

// createQuestion returns a function that asks a question in a bar: a sentence, then buttons, pairs of a label and what they do. The
// first has the focus. Without buttons it is a remark. After an answer or Escape the focus returns to the field that asked.
export function createQuestion(bar) {
  let back = null;
  const close = () => {
    bar.hidden = true;
    bar.replaceChildren();
  };
  bar.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') {
      event.stopPropagation();
      end();
    } else if (event.key === 'Enter' && event.repeat) {
      event.preventDefault(); // the key is held since it asked the question
    }
  });
  function end() {
    close();
    back?.focus();
  }
  function ask(sentence, buttons = [], field = null) {
    back = field;
    const button = (label, run) => element('button', { type: 'button', onclick() {
      end();
      run();
    } }, label);
    const dismiss = element('button', { type: 'button', class: 'quiet', 'aria-label': 'Dismiss', onclick: end }, '×');
    bar.replaceChildren(element('span', {}, sentence), ...buttons.map(([label, run]) => button(label, run)), dismiss);
    bar.hidden = false;
    if (buttons.length) {
      bar.querySelector('button').focus();
    }
  }
  ask.close = close;
  return ask;
}

const quote = (text) => '“' + (text.length > 60 ? text.slice(0, 60) + '…' : text) + '”';

// openCrawler returns the question that a mention leaves open, null if it means one crawler that the table does not have. add adds
// what a text means, exactly adds it as it is typed.
export function openCrawler(mention, text, { add, exactly }) {
  if (mention.duplicate !== null) {
    return [mention.title + ' is already in the table.', []];
  }
  if (mention.browser) {
    return ['This is the User-Agent of a browser. It names no crawler, and browsers do not read robots.txt.', [['Add * (all other crawlers)', () => add('*')], ['Add it as typed', exactly]]];
  }
  if (mention.similar.length) {
    return [quote(text) + ' is not the name of a crawler. Did you mean', [...mention.similar.map((name) => [name, () => add(name)]), ['Add ' + quote(text) + ' as typed', exactly]]];
  }
  return null;
}

const sources = { csv: ' from a CSV text', sitemap: ' from a sitemap', lines: '' };

// openList returns the question or remark about a list, null if its only URL is new. use takes the text as the robots.txt.
export function openList(list, use) {
  const n = (count, word) => count.toLocaleString('en') + ' ' + word + (count === 1 ? '' : 's');
  switch (list.kind) {
    case 'robots':
      return ['This is a robots.txt, not a list of URLs.', [['Use it as the file', use]]];
    case 'index':
      return ['This sitemap index names ' + n(list.urls.length + list.duplicates.length, 'sitemap') + ', not pages. Paste or open one of them.', []];
    case 'markup':
      return ['This text has no URLs: it is HTML or XML, and not a sitemap.', []];
  }
  const added = n(list.urls.length, 'URL') + ' added' + sources[list.kind];
  const were = (count, what) => (count ? '; ' + count.toLocaleString('en') + (count === 1 ? ' was ' : ' were ') + what : '');
  const remark = added + were(list.duplicates.length, 'in the table already') + were(list.dropped, 'left out, as the table has at most 1,000') + '.';
  return list.urls.length + list.duplicates.length + list.dropped > 1 ? [remark, []] : null;
}
