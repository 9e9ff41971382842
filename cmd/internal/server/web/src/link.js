// The link that holds everything (contract): #v1= and base64url of raw deflate of
// JSON with the members t text, or o its bytes in base64, u URLs, c crawlers as
// [dialect, tokens...], b the text before.

import { concat } from './text.js';

export const noteAbove = 2000; // characters; longer links are cut by mail programs
export const mostLink = 32 << 10;
const mostInflated = 1 << 20; // bytes that are read

function base64(bytes) {
  let s = '';
  for (let i = 0; i < bytes.length; i += 0x8000) {
    s += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  }
  return btoa(s);
}

export function fromBase64(text) {
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}

// through runs bytes through a stream and gives up above most.
async function through(stream, bytes, most) {
  const writer = stream.writable.getWriter();
  const written = writer.write(bytes).then(() => writer.close()).catch(() => {}); // the reader says what is wrong
  const reader = stream.readable.getReader();
  const parts = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) {
      break;
    }
    size += value.length;
    if (size > most) {
      reader.cancel().catch(() => {});
      throw new Error('too large');
    }
    parts.push(value);
  }
  await written;
  return concat(parts);
}

// portable returns a state as it is written to links and files.
export function portable(state) {
  const out = {};
  const decoded = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const put = (bytes, text, raw) => {
    try {
      out[text] = decoded.decode(bytes);
    } catch {
      out[raw] = base64(bytes);
    }
  };
  put(state.file, 't', 'o');
  out.u = state.urls;
  out.c = state.crawlers.map((c) => [c.dialect, ...c.tokens]);
  if (state.before) {
    put(state.before, 'b', 'p'); // p is b in base64, as o is t
  }
  return out;
}

const texts = (list, most) => Array.isArray(list) && list.length <= most && list.every((x) => typeof x === 'string');

// restored is the state of what portable returned; anything else throws.
export function restored(data, dialects) {
  if (typeof data !== 'object' || data === null) {
    throw new Error('no object');
  }
  const bytes = (text, raw) => {
    if (typeof text === 'string') {
      return new TextEncoder().encode(text);
    }
    return typeof raw === 'string' ? fromBase64(raw) : null;
  };
  const file = bytes(data.t, data.o);
  const crawlers = data.c === undefined ? [] : data.c;
  const urls = data.u === undefined ? [] : data.u;
  if (!file || !texts(urls, 1000) || urls.some((u) => /[\r\n]/.test(u)) || !Array.isArray(crawlers) || crawlers.length > 60 ||
    !crawlers.every((c) => texts(c, 21) && dialects.includes(c[0]) && c.every((t) => !/[\t\r\n]/.test(t)))) {
    throw new Error('not a state');
  }
  return { file, urls, crawlers: crawlers.map(([dialect, ...tokens]) => ({ dialect, tokens })), before: bytes(data.b, data.p) };
}

export async function write(state) {
  const json = new TextEncoder().encode(JSON.stringify(portable(state)));
  const packed = await through(new CompressionStream('deflate-raw'), json, Infinity);
  return '#v1=' + base64(packed).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

// read returns the state of a fragment. An error is one sentence for people.
export async function read(fragment, dialects) {
  const [, version, packed] = /^#v(\d+)=([\s\S]*)$/.exec(fragment) || [];
  if (version === undefined) {
    throw new Error('This link has no content for this page.');
  }
  if (version !== '1') {
    throw new Error('This link was made by a newer version of this page.');
  }
  try {
    const bytes = fromBase64(packed.replaceAll('-', '+').replaceAll('_', '/'));
    const json = await through(new DecompressionStream('deflate-raw'), bytes, mostInflated);
    return restored(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(json)), dialects);
  } catch {
    throw new Error('This link is damaged or truncated.');
  }
}
