// The panel of AI crawlers: what each is for, which group it follows, and blocking those for training.

import { element } from './dom.js';

const titles = {
  'ai-training': ['AI training', 'collect text to train models'], 'ai-search': ['AI search', 'build an index that AI answers are based on'],
  'ai-user': ['AI user fetchers', 'fetch a page when a person asks a model'], search: ['Search engines', 'build a search index'],
};
const accesses = { all: 'everything allowed', part: 'partly blocked', none: 'everything blocked', undecided: 'undecided' };
const plural = (n, one, many) => n.toLocaleString('en') + ' ' + (n === 1 ? one : many);

// follow is how many crawlers of a category follow which group.
function follow(c, total) {
  const parts = [
    [c.named, 'named by the file', 'named by the file'], [c.fallback, 'follows the group of another name', 'follow the group of another name'],
    [c.star, 'follows the group of *', 'follow the group of *'], [c.exempt, 'is not addressed by the group of *', 'are not addressed by the group of *'],
    [c.none, 'has no group, so everything is allowed', 'have no group, so everything is allowed'],
  ].filter(([n]) => n);
  return 'Of ' + plural(total, 'crawler', 'crawlers') + ' in use, ' + parts.map(([n, one, many]) => n + ' ' + (n === 1 ? one : many)).join('; ') + '.';
}

// aiPanel draws into the places table and result.
export function aiPanel(places, { addCrawlers, block, lineButton, written, capital }) {
  function one(c, status) {
    const notes = [
      c.fallback && 'by the group of ' + c.fallback.token, ['opt-out', 'token'].includes(status) && 'an opt-out token, which sends no requests',
      c.obeys === 'no' && 'does not obey robots.txt', c.obeys === 'ignores-star' && 'obeys only a group that names it',
    ].filter(Boolean);
    return element('li', {}, element('strong', {}, c.name), element('span', { class: 'soft' }, ' ' + c.operator + ': ' + [accesses[c.access], ...notes].join('; ')));
  }

  // category shows a purpose: first the crawlers whose documents state that they obey, then a folded list of the others.
  function category(c, table, directory) {
    const [title, does] = titles[c.purpose];
    const item = (i) => one(table[i], directory.get(table[i].name.toLowerCase())?.status);
    return element('div', { class: 'category' }, element('h3', {}, title),
      element('p', { class: 'soft' }, capital(does) + '. ' + follow(c, c.obeying.length + c.others.length)),
      element('p', {}, plural(c.obeying.length, 'states', 'state') + ' to obey robots.txt:'),
      element('ul', {}, ...c.obeying.map(item)),
      element('div', { class: 'tools' }, element('button', { type: 'button', onclick: () => addCrawlers(c.obeying.map((i) => table[i].name)) }, 'Add these to the table')),
      c.others.length ? element('details', {}, element('summary', {}, plural(c.others.length, 'other, which does not state it', 'others, which do not state it')), element('ul', {}, ...c.others.map(item))) : null);
  }

  return {
    ai({ crawlers, categories }, directory) {
      const open = new Set([...places.table.querySelectorAll('details[open]')].map((e) => e.parentNode.firstChild.textContent));
      places.table.replaceChildren(
        element('p', {}, element('button', { type: 'button', class: 'primary', onclick: block }, 'Block AI training, keep search'), element('span', { class: 'soft' }, ' Adds lines as robots block does, and proves that no URL changes for search engines.')),
        element('p', { class: 'soft' }, 'Rules do not bind crawlers that do not obey robots.txt. Opt-out tokens such as Google-Extended limit how an operator uses what other crawlers fetch.'),
        ...categories.map((c) => category(c, crawlers, directory)));
      places.table.querySelectorAll('details').forEach((e) => { e.open = open.has(e.parentNode.firstChild.textContent); });
    },
    // blocking shows what was added to block crawlers, or why nothing was; undo takes it back, reveal shows it in the text.
    blocking(b, undo, reveal) {
      if (!b) {
        places.result.replaceChildren();
        return;
      }
      const open = b.crawlers.filter((c) => c.result === 'open');
      const undecided = b.crawlers.some((c) => c.result === 'undecided') || b.effects.some((e) => e.path === '');
      const by = (rule) => (rule ? ' by line ' + rule.line + ', ' + written(rule) : '');
      const newly = b.crawlers.filter((c) => c.result === 'newly_blocked').length;
      const lead = b.added ? newly + ' newly blocked; ' + b.unchanged + ' of ' + b.others + ' others' + (b.star ? ', and *,' : '') + ' unchanged for all URLs (proved).'
        : !b.changed && !open.length && !undecided ? 'All ' + b.crawlers.length + ' crawlers for AI training are already blocked (proved).' : 'Nothing was changed.';
      places.result.replaceChildren(
        element('p', { class: 'lead', tabindex: -1 }, lead),
        element('ul', { class: 'notes' }, ...open.map((c) => element('li', {}, c.name + ' may still fetch ' + c.path + by(c.rule) + '.')),
          ...b.effects.filter((e) => e.path).map((e) => element('li', {}, 'Also changes ' + e.name + ': ' + e.result + ' ' + e.path + by(e.rule) + '.')),
          undecided ? element('li', {}, 'Not everything is decided: a proof stopped at its limit. Use robots block.') : null),
        b.added ? element('p', {}, 'Added from ', lineButton(b.line), ' on:') : '',
        b.added ? element('pre', { tabindex: 0 }, b.added) : '',
        b.added ? element('div', { class: 'tools' }, element('button', { type: 'button', onclick: undo }, 'Undo'), element('button', { type: 'button', onclick: reveal }, 'Show the lines')) : '');
      places.result.querySelector('.lead').focus({ preventScroll: true });
      places.result.scrollIntoView({ block: 'nearest' });
    },
  };
}
