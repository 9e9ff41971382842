// Opening a file: from the disk, the clipboard, a drop, or a site, which only the server can fetch.

import { $ } from './dom.js';
import { request } from './engine.js';
import { editor, setFile } from './file.js';
import * as link from './link.js';
import { message, say } from './messages.js';
import { changed, engine } from './questions.js';
import { state, stated } from './state.js';
import { undo } from './steps.js';
import { capital, decode, encode } from './text.js';
import { setURLs, takeList } from './urls.js';
import { view } from './views.js';
import { restore } from './work.js';

const mostFile = 8 << 20; // bytes of a file that is opened

export async function openFile(blob) {
  if (blob.size > mostFile) {
    message('The file has ' + blob.size.toLocaleString('en') + ' bytes; this page opens at most ' + mostFile.toLocaleString('en') + '.');
    return;
  }
  const bytes = new Uint8Array(await blob.arrayBuffer());
  if (blob.name?.endsWith('.robots.json')) {
    try {
      restore(link.restored(JSON.parse(decode(bytes)), stated), 'opening ' + blob.name);
    } catch {
      message('The file was not saved by this page.');
    }
    return;
  }
  engine.ask('urls', () => [bytes, state.urls.join('\n')], (list) => {
    if (['csv', 'sitemap', 'index'].includes(list.kind)) {
      takeList(list, null);
    } else {
      setFile(bytes, 'opening ' + (blob.name || 'the file'));
    }
  });
}

$('open').addEventListener('click', () => $('upload').click());

$('upload').addEventListener('change', () => {
  if ($('upload').files[0]) {
    openFile($('upload').files[0]);
  }
  $('upload').value = '';
});

$('paste').addEventListener('click', async () => {
  try {
    setFile(encode(await navigator.clipboard.readText()), 'the paste');
  } catch {
    message('This browser does not let the page read the clipboard: paste into the text with Ctrl+V.');
    editor.focus();
  }
});

document.addEventListener('dragover', (event) => {
  event.preventDefault();
  document.body.classList.add('dropping');
});

document.addEventListener('dragleave', (event) => {
  if (!event.relatedTarget) {
    document.body.classList.remove('dropping');
  }
});

document.addEventListener('drop', (event) => {
  document.body.classList.remove('dropping');
  const dropped = event.dataTransfer?.files?.[0];
  const text = event.dataTransfer?.getData('text/plain');
  if (dropped || text) {
    event.preventDefault();
    event.stopPropagation();
    if (dropped) {
      openFile(dropped);
    } else {
      setFile(encode(text), 'the drop');
    }
  }
}, true);

const site = () => {
  const typed = $('site').value.trim();
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(typed) ? typed : 'https://' + typed;
};

$('fetching').addEventListener('submit', (event) => {
  event.preventDefault();
  fetchSite();
});

// fetchSite shows the robots.txt of a site, which the server fetches. The path of the URL, if there is one, becomes the first URL.
async function fetchSite() {
  const url = site();
  let parsed;
  try {
    parsed = new URL(url);
  } catch {
    message('“' + $('site').value.trim() + '” is not a valid URL.');
    return;
  }
  $('fetchgo').disabled = true;
  message('');
  try {
    const query = 'v1/robots?url=' + encodeURIComponent(url);
    const record = await (await request(query)).json();
    if (record.outcome === 'refused') {
      throw new Error('this server may not fetch that address, which crawlers might reach: ' + record.note);
    }
    if (record.outcome === 'unreachable' && !record.status && !record.last_good) {
      message(parsed.host + ' is unreachable, so the text is as it was: ' + record.note + '. Crawlers would treat every URL of it as blocked for now.');
      return;
    }
    const body = await fetch(query + '&body=1');
    const bytes = body.ok ? new Uint8Array(await body.arrayBuffer()) : encode(replacement(record, parsed.host));
    undo.step('fetching ' + parsed.host, () => {
      setFile(bytes, 'fetching');
      state.live = { host: parsed.host, url, record, bytes };
      state.site = parsed.hostname;
      const path = parsed.pathname + parsed.search;
      if (path !== '/' && path !== '/robots.txt') {
        setURLs([path, ...state.urls.filter((u) => u !== path)]);
      }
    });
    changed();
    view('results');
    say('robots.txt of ' + parsed.host + ' loaded');
  } catch (error) {
    message(capital(error.message) + '.');
  } finally {
    $('fetchgo').disabled = false;
  }
}

// replacement is the text for a site whose robots.txt is missing or unavailable: it has the same effect.
function replacement(record, host) {
  return record.outcome === 'unavailable'
    ? '# ' + host + ' has no robots.txt, so every URL is allowed.\n'
    : '# The robots.txt of ' + host + ' is unavailable, so every URL is blocked for now.\nUser-agent: *\nDisallow: /\n';
}

addEventListener('offline', () => message('You are offline: everything works except fetching a site.'));
addEventListener('online', () => message(''));
