// The engine runs here, so that nobody who types waits for it. One message is one
// question: {id, verb, args}; its answer is {id, answer}.
'use strict';

importScripts('wasm_exec.js');

self.ready = () => postMessage({ ready: true });

const go = new Go();
WebAssembly.instantiateStreaming(fetch('robots.wasm'), go.importObject)
  .then(({ instance }) => go.run(instance))
  .then(() => { throw new Error('the engine has stopped'); })
  .catch((error) => postMessage({ failed: String(error && error.message || error) }));

onmessage = ({ data: { id, verb, args } }) => {
  try {
    postMessage({ id, answer: self.robots(verb, ...args) });
  } catch (error) {
    postMessage({ failed: String(error && error.message || error) });
  }
};
