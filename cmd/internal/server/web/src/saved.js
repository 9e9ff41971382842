// The work in this browser. sessionStorage has that of a tab, through reloads and restored tabs, localStorage the newest of all tabs.

const key = 'robots-work';
const stores = () => [globalThis.sessionStorage, globalThis.localStorage];

// read returns what write wrote last, null if there is nothing or storage is not permitted.
export function read() {
  try {
    for (const store of stores()) {
      const text = store.getItem(key);
      if (text) {
        return JSON.parse(text);
      }
    }
  } catch {}
  return null;
}

// write reports whether there was room in one of the stores.
export function write(work) {
  const text = JSON.stringify(work);
  let kept = false;
  for (const i of [0, 1]) {
    try {
      stores()[i].setItem(key, text);
      kept = true;
    } catch {}
  }
  return kept;
}
