// Questions to the engine: WebAssembly in a worker or, without it, the server. Both use the same function.

import { released } from './press.js';
import { concat, encode } from './text.js';

// Waiting questions are asked in this order, one at a time. Only the newest of each kind waits, so that typing never waits for old
// questions; what people type and paste is all read.
const order = ['directory', 'crawler', 'urls', 'matrix', 'explain', 'hover', 'parse', 'engines', 'show', 'outlook', 'diff', 'lint', 'decides', 'access', 'fix', 'block'];

const everyOne = new Set(['crawler', 'urls', 'block']);

// request sends a request to the server. An error is one sentence for people.
export async function request(url, options) {
  const response = await fetch(url, options).catch(() => { throw new Error('the server does not respond'); });
  if (response.status === 401) {
    throw new Error('this service needs a token, which this page cannot send');
  }
  if (!response.ok) {
    const problem = await response.json().catch(() => ({}));
    throw new Error(problem.detail || 'the server responds with status ' + response.status);
  }
  return response;
}

// createEngine returns ask(kind, args, done): args is called when the question is sent, done with its answer. onMode gets
// loading, wasm, server or failed. If the server must not be used and the engine does not start, every answer is an error.
export function createEngine(wasm, onMode, mayAskServer) {
  const waiting = new Map();
  let ask = null; // (verb, args) => Promise of the text of an answer
  let current = null;

  function next() {
    if (current || !ask) {
      return;
    }
    const kind = order.find((k) => waiting.has(k));
    if (!kind) {
      return;
    }
    current = waiting.get(kind).shift();
    if (!waiting.get(kind).length) {
      waiting.delete(kind);
    }
    const { args, done } = current;
    const values = args();
    const question = current;
    ask({ hover: 'explain', engines: 'matrix' }[kind] || kind, values).then(JSON.parse, (error) => ({ error: error.message, unanswered: true }))
      .then(async (answer) => {
        await released();
        done(answer);
      })
      .finally(() => {
        if (current === question) {
          current = null;
          next();
        }
      });
  }

  function byServer(why) {
    if (!mayAskServer) {
      ask = () => Promise.reject(new Error('the engine does not run in this browser: ' + why));
      onMode('failed', 'the engine does not run in this browser: ' + why);
      next();
      return;
    }
    ask = async (verb, args) => {
      const body = concat([verb, ...args].flatMap((a) => {
        const part = typeof a === 'string' ? encode(a) : a;
        const size = new Uint8Array(4);
        new DataView(size.buffer).setUint32(0, part.length);
        return [size, part];
      }));
      try {
        const response = await request('page/ask', { method: 'POST', headers: { 'Content-Type': 'application/octet-stream' }, body });
        onMode('server', why);
        return response.text();
      } catch (error) {
        onMode('failed', error.message);
        throw error;
      }
    };
    onMode('server', why);
    next();
  }

  if (!wasm || typeof Worker === 'undefined' || typeof WebAssembly === 'undefined') {
    queueMicrotask(() => byServer(''));
  } else {
    onMode('loading');
    const worker = new Worker('page/worker.js' + (document.documentElement.dataset.engine === 'static' ? '#static' : ''));
    let pending = null;
    let count = 0;
    let sent = null; // the file that the worker has
    const unsent = (args) => args.map((a) => {
      const known = a === sent;
      sent = a instanceof Uint8Array ? a : sent;
      return known ? null : a;
    });
    const fail = (why) => {
      worker.terminate();
      const lost = pending;
      pending = null;
      byServer(why);
      if (lost) {
        ask(lost.verb, lost.args).then(lost.resolve, lost.reject);
      }
    };
    worker.onerror = (event) => {
      event.preventDefault();
      fail(event.message || 'its script does not load');
    };
    worker.onmessage = ({ data }) => {
      if (data.failed) {
        fail(data.failed);
      } else if (data.ready) {
        ask = (verb, args) => new Promise((resolve, reject) => {
          pending = { id: ++count, verb, args, resolve, reject };
          worker.postMessage({ id: count, verb, args: unsent(args) });
        });
        onMode('wasm');
        next();
      } else if (pending && data.id === pending.id) {
        const { resolve } = pending;
        pending = null;
        resolve(data.answer);
      }
    };
  }

  return {
    ask(kind, args, done) {
      waiting.set(kind, [...everyOne.has(kind) && waiting.get(kind) || [], { args, done }]);
      next();
    },
    busy: () => current !== null || waiting.size > 0,
  };
}
