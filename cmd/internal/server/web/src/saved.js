// The work in this browser. IndexedDB has the work of the last tabs. A write that is done is on the disk, so that it survives a browser
// that is closed, crashes or is killed; Chromium writes sessionStorage and localStorage up to a minute later. sessionStorage has the
// work of this tab as it was when its page went, since a page that goes waits for nothing.

const key = 'robots-work';
const most = 10; // works, the newest of different tabs

let tab = ''; // the name of this tab's work
let last = 0; // the time of its last write
let base = null; // the database, once it is open

const outcome = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

async function open() {
  const request = indexedDB.open(key, 1);
  request.onupgradeneeded = () => request.result.createObjectStore('works', { keyPath: 'tab' }).createIndex('at', 'at');
  base = await outcome(request);
  base.onversionchange = () => base.close();
}

// isOther reports whether another tab has the name: this one is its duplicate.
function isOther(name) {
  if (!navigator.locks) {
    return false; // the page has no secure address
  }
  return new Promise((resolve) => {
    navigator.locks.request(key + name, { ifAvailable: true }, (lock) => {
      resolve(!lock);
      return lock && new Promise(() => {}); // until the page goes
    }).catch(() => resolve(true));
  });
}

// newest returns the work of the database that was written last, and deletes the oldest ones.
async function newest(works) {
  const names = await outcome(works.index('at').getAllKeys());
  names.slice(0, -most).forEach((name) => works.delete(name));
  return names.length ? outcome(works.get(names.at(-1))) : null;
}

// read returns the work of this tab or, in a new tab, the one that was written last; null if there is none or storage is not permitted.
export async function read() {
  let here = null;
  try {
    here = JSON.parse(sessionStorage.getItem(key));
  } catch {}
  const isDuplicate = Boolean(here) && await isOther(here.tab);
  tab = here && !isDuplicate ? here.tab : String(crypto.getRandomValues(new Uint32Array(4)));
  if (tab !== here?.tab) {
    isOther(tab);
  }
  try {
    await open();
    const works = base.transaction('works', 'readwrite').objectStore('works');
    const stored = await (here ? outcome(works.get(tab)) : newest(works));
    here = stored && !(here?.at >= stored.at) ? stored : here;
  } catch {}
  last = here?.at || 0;
  return here?.work || null;
}

// write reports whether there was room. A page that goes writes at once.
export async function write(work, isGoing) {
  last = Math.max(Date.now(), last + 1);
  const entry = { tab, at: last, work };
  let kept = false;
  if (isGoing || !base || !write.begun) {
    try {
      sessionStorage.setItem(key, JSON.stringify(entry));
      kept = true;
    } catch {}
  }
  write.begun = true;
  try {
    const change = base.transaction('works', 'readwrite', { durability: 'strict' });
    const done = new Promise((resolve, reject) => {
      change.oncomplete = resolve;
      change.onabort = () => reject(change.error);
    });
    change.objectStore('works').put(entry);
    change.commit();
    await done;
    kept = true;
  } catch {}
  return kept;
}
