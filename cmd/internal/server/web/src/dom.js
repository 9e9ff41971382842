// Elements of the document.

export const $ = (id) => document.getElementById(id);

// narrow matches a window with room for one crawler only: it shows the picked column, and each row is a card that opens.
export const narrow = matchMedia('screen and (max-width: 767px), screen and (max-height: 500px)');

// element makes an element with attributes and children. Strings become text, never markup.
export function element(name, attributes, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === 'onclick') {
      e.addEventListener('click', value);
    } else if (value === true) {
      e.setAttribute(key, '');
    } else if (value !== false && value !== null && value !== undefined) {
      e.setAttribute(key, value);
    }
  }
  e.append(...children.filter((c) => c !== null && c !== undefined && c !== false));
  return e;
}
