// To a person a press is one act; to the page it is two, the press and the release. An answer that came between them could draw what
// is pressed anew, or move it, and the click would be lost. So answers wait for the release.

let release = null; // not null while something is pressed
let until = null;
let waiting = 0;

function hold() {
  if (!release) {
    until = new Promise((resolve) => { release = resolve; });
  }
}

function letGo() {
  if (release) {
    setTimeout(release); // the click follows in this task
    release = null;
  }
}

// A list of options takes the release of its press.
document.addEventListener('pointerdown', (event) => event.button === 0 && !event.target.closest('select') && hold(), true);
document.addEventListener('keydown', (event) => [' ', 'Enter'].includes(event.key) && event.target.closest('button, summary') && hold(), true);
for (const type of ['pointerup', 'pointercancel', 'contextmenu', 'keyup']) {
  document.addEventListener(type, letGo, true);
}
// A release outside of the window is not told.
document.addEventListener('pointermove', (event) => event.buttons === 0 && letGo(), true);
addEventListener('blur', letGo);

// released returns when nothing is pressed.
export async function released() {
  waiting++;
  while (release) {
    await until;
  }
  waiting--;
}

// isHeld reports whether an answer waits for a release.
export const isHeld = () => waiting > 0;
