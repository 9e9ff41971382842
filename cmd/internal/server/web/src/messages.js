// What the page tells: sentences for screen readers, messages, and questions.

import { $, element } from './dom.js';
import { createQuestion } from './typed.js';

let lastSaid = 0;
let sayLater;

// say announces a sentence to screen readers, at most one a second.
export function say(sentence) {
  clearTimeout(sayLater);
  sayLater = setTimeout(() => {
    lastSaid = Date.now();
    $('said').textContent = sentence;
  }, Math.max(0, lastSaid + 1000 - Date.now()));
}

// message shows a sentence, with buttons: pairs of a label and what they do.
export function message(sentence, ...buttons) {
  const button = (label, onclick) => element('button', { type: 'button', class: label === '×' ? null : 'answer', 'aria-label': label === '×' ? 'Dismiss' : null, onclick }, label);
  $('message').hidden = !sentence;
  $('message').replaceChildren(...(sentence ? [element('span', {}, sentence), ...buttons.map(([label, run]) => button(label, () => {
    message('');
    run();
  })), button('×', () => message(''))] : []));
}

export const question = createQuestion($('asking'));

export const were = (n) => n.toLocaleString('en') + (n === 1 ? ' was' : ' were');
