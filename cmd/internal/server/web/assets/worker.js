// Runs the engine, so that typing never waits for it. A message is a question, {id, verb, args}; its answer is {id, answer}. An
// argument null is the last file that came, which many questions are about.
'use strict';

importScripts('wasm_exec.js');

self.ready = () => postMessage({ ready: true });

const go = new Go();
// A server compresses the engine; a static host has it compressed as a file, which some hosts send with Content-Encoding.
const start = async () => {
  if (self.location.hash !== '#static') {
    return WebAssembly.instantiateStreaming(fetch('robots.wasm'), go.importObject);
  }
  const file = await (await fetch('robots.wasm.gzip')).blob();
  const zipped = new Uint8Array(await file.slice(0, 1).arrayBuffer())[0] === 0x1f;
  const stream = zipped ? file.stream().pipeThrough(new DecompressionStream('gzip')) : file.stream();
  return WebAssembly.instantiate(await new Response(stream).arrayBuffer(), go.importObject);
};
start()
  .then(({ instance }) => go.run(instance))
  .then(() => { throw new Error('the engine has stopped'); })
  .catch((error) => postMessage({ failed: String(error && error.message || error) }));

let file;

onmessage = ({ data: { id, verb, args } }) => {
  const values = args.map((a) => {
    file = a instanceof Uint8Array ? a : file;
    return a === null ? file : a;
  });
  try {
    postMessage({ id, answer: self.robots(verb, ...values) });
  } catch (error) {
    postMessage({ failed: String(error && error.message || error) });
  }
};
