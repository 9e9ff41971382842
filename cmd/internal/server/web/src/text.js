// The text of a file is its bytes as UTF-8. A byte that is not UTF-8 is a single surrogate, U+DC80 to U+DCFF as in PEP 383, so
// that no edit changes it.

const encoder = new TextEncoder();
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const lenient = new TextDecoder('utf-8', { ignoreBOM: true });

const low = (s) => Uint8Array.from(s, (c) => c.charCodeAt(0)); // the low byte of each unit

export function concat(parts) {
  const bytes = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  parts.reduce((at, p) => (bytes.set(p, at), at + p.length), 0);
  return bytes;
}

export function decode(bytes) {
  try {
    return strict.decode(bytes);
  } catch {}
  // This encoding has the bytes from 0x80 at U+F780 to U+F7FF: first bytes of characters start at U+F7C0.
  return new TextDecoder('x-user-defined').decode(bytes).replace(/[\uf7c0-\uf7ff][\uf780-\uf7bf]*|[\uf780-\uf7bf]/g, (s) => {
    const character = lenient.decode(low(s));
    return character.includes('\ufffd') ? s.replace(/[^]/g, (c) => String.fromCharCode(c.charCodeAt(0) - 0xf700 + 0xdc00)) : character;
  });
}

// encode is the inverse. A file is nearly always ASCII, for which a loop takes a tenth of the time of TextEncoder: it runs at each
// keystroke.
export function encode(text) {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c > 0x7f) {
      return encodeAny(text);
    }
    bytes[i] = c;
  }
  return bytes;
}

function encodeAny(text) {
  if (text.isWellFormed()) {
    const bytes = new Uint8Array(3 * text.length);
    return bytes.slice(0, encoder.encodeInto(text, bytes).written);
  }
  const parts = text.split(/([\udc80-\udcff]+)/u); // every second one is bytes
  return concat(parts.map((p, i) => (i % 2 ? low(p) : encoder.encode(p))));
}

export const capital = (s) => s && s[0].toUpperCase() + s.slice(1);
