// The width of the URL column: dragged, or set with arrow keys.

const key = 'robots-url-width';
const least = 120; // pixels
const step = 24;

// resizer returns the handle at the edge of the URL column of a place. The width is kept in this browser.
export function createResizer(place, element) {
  let width = 0; // what is free

  function set(pixels) {
    width = pixels && Math.max(least, Math.round(pixels));
    place.classList.toggle('sized', width > 0);
    place.style.setProperty('--url', width + 'px');
    try {
      localStorage.setItem(key, width);
    } catch {}
  }

  try {
    set(+localStorage.getItem(key) || 0);
  } catch {}

  return function handle() {
    const column = () => place.querySelector('thead th').getBoundingClientRect().width;
    const e = element('span', { class: 'resize', role: 'separator', tabindex: 0, 'aria-orientation': 'vertical', 'aria-label': 'Width of the URL column', 'aria-valuenow': width || 100, title: 'Drag to resize; double-click for the free width' });
    e.addEventListener('pointerdown', (event) => {
      event.preventDefault();
      e.setPointerCapture(event.pointerId);
      const start = column() - event.clientX;
      const drag = (moved) => set(start + moved.clientX);
      e.addEventListener('pointermove', drag);
      e.addEventListener('lostpointercapture', () => e.removeEventListener('pointermove', drag), { once: true });
    });
    e.addEventListener('dblclick', () => set(0));
    e.addEventListener('keydown', (event) => {
      const by = { ArrowLeft: -step, ArrowRight: step }[event.key];
      if (by) {
        event.preventDefault();
        set(column() + by);
        e.setAttribute('aria-valuenow', width);
      } else if (event.key === 'Home') {
        event.preventDefault();
        set(0);
      }
    });
    return e;
  };
}
