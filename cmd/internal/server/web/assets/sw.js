// Keeps the files of the page, so that it opens after the server has stopped. The server comes first, so that a newer program
// shows its newer page.
'use strict';

const kept = 'page';
const files = ['/', '/page/page.css', '/page/page.js', '/page/worker.js', '/page/wasm_exec.js', '/page/robots.wasm'];

addEventListener('install', (event) => {
  skipWaiting();
  // A program without the engine has no file of it.
  event.waitUntil(caches.open(kept).then((cache) => Promise.all(files.map((file) => cache.add(file).catch(() => {})))));
});

addEventListener('activate', (event) => event.waitUntil(clients.claim()));

addEventListener('fetch', (event) => {
  const { request } = event;
  const { pathname } = new URL(request.url);
  if (request.method !== 'GET' || !files.includes(pathname)) {
    return;
  }
  event.respondWith(fetch(request).then(async (response) => {
    if (response.ok) {
      (await caches.open(kept)).put(pathname, response.clone());
    }
    return response;
  }, async (error) => {
    const copy = await caches.match(pathname);
    if (copy) {
      return copy;
    }
    throw error;
  }));
});
