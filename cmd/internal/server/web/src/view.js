// Which rows of the table are shown, and in what order. The engine selects them: this is what it is asked for.

import { element } from './dom.js';

const empty = { show: '', crawler: null, text: '', sort: '', descending: false };

// createView returns the view. onChange is called when a person changes it.
export function createView({ bar, find, show, crawler, count, reset }, onChange) {
  let now = { ...empty };

  const set = (change) => {
    now = { ...now, ...change };
    onChange();
  };
  find.addEventListener('input', () => set({ text: find.value.trim() }));
  find.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && find.value) {
      event.stopPropagation();
      find.value = '';
      set({ text: '' });
    }
  });
  show.addEventListener('change', () => set({ show: show.value }));
  crawler.addEventListener('change', () => set({ crawler: crawler.value === '' ? null : +crawler.value }));
  reset.addEventListener('click', () => {
    clear();
    onChange();
    find.focus();
  });

  function clear() {
    now = { ...empty };
    find.value = '';
    show.value = '';
  }

  // next is the order after the one now, when the head of a column is pressed: forwards, backwards, none.
  function next(sort, column) {
    const isSame = now.sort === sort && (sort === 'url' || now.crawler === column);
    if (!isSame) {
      return { sort, descending: false, ...sort === 'url' ? {} : { crawler: column } };
    }
    return now.descending ? { sort: '', descending: false, ...now.show ? {} : { crawler: null } } : { descending: true };
  }

  return {
    clear,
    // isFiltered reports whether rows can be hidden.
    isFiltered: () => Boolean(now.text || now.show),
    question: (more) => JSON.stringify({ ...now, ...more }),
    press: (sort, column) => set(next(sort, column)),
    // order is the order of a column, as aria-sort has it, null for none.
    order: (sort, column) => (now.sort !== sort || sort === 'verdict' && now.crawler !== column ? null : now.descending ? 'descending' : 'ascending'),
    // draw shows the view of a table with crawlers of these names.
    draw(names, shown, all) {
      bar.hidden = !all;
      crawler.replaceChildren(element('option', { value: '' }, 'for any crawler'), ...names.map((n, i) => element('option', { value: i, selected: now.crawler === i }, 'for ' + n)));
      crawler.hidden = !now.show && now.sort !== 'verdict' || names.length < 2;
      reset.hidden = !now.text && !now.show && !now.sort;
      count.textContent = shown === all ? '' : shown.toLocaleString('en') + ' of ' + all.toLocaleString('en');
    },
  };
}
