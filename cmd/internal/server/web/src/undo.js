// What can be undone: changes of the text, whose contents the editor keeps, and of everything beside it, in the order in which they
// were made. A step has a name that completes "Undo …".

const mostSteps = 500;

// createUndo returns the steps. aside returns what is beside the text, restore sets it, onChange gets the names of the steps that
// can be undone and redone, "" for none.
export function createUndo({ editor, aside, restore, onChange }) {
  const done = [];
  const undone = [];
  let open = null; // the step whose changes are being made

  const tell = () => onChange(done.at(-1)?.name || '', undone.at(-1)?.name || '');

  function add(step) {
    done.push(step);
    done.splice(0, done.length - mostSteps);
    undone.length = 0;
    tell();
  }

  // move takes the last step of a list back, or that of the text, and puts it on the other list. The editor drops the oldest
  // contents, whose steps are dropped too.
  function move(from, to, revert, side, onlyText) {
    for (let i = from.length - 1; i >= 0; i--) {
      const step = from[i];
      if (onlyText && !step.text) {
        continue;
      }
      from.splice(i, 1);
      if (step.text && !revert()) {
        continue;
      }
      const isLast = i === from.length; // else what is beside the text belongs to later steps
      restore(isLast ? step[side] : { ...step[side], table: null }, step.text);
      to.push(step);
      tell();
      return step.name;
    }
    tell();
    return '';
  }

  return {
    // step makes changes that are undone together. Steps within it are part of it.
    step(name, change) {
      if (open) {
        change();
        return;
      }
      open = { name, text: false, before: aside() };
      const step = open;
      try {
        change();
      } finally {
        open = null;
      }
      step.after = aside();
      if (step.text || JSON.stringify(step.before.table) !== JSON.stringify(step.after.table)) {
        add(step);
      }
    },
    // typed notes that the text was changed, with what was beside it before.
    typed(name, before) {
      if (open) {
        open.text = true;
      } else {
        add({ name, text: true, before: { ...before, table: null }, after: { ...aside(), table: null } });
      }
    },
    // amend adds what is beside the text now to the last step: it was only known later.
    amend() {
      if (done.length) {
        done.at(-1).after = aside();
      }
    },
    undo: (onlyText) => move(done, undone, editor.undo, 'before', onlyText),
    redo: (onlyText) => move(undone, done, editor.redo, 'after', onlyText),
  };
}
