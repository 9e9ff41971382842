package web

// The scripts of the page in one file. npm ci --ignore-scripts in src downloads esbuild and what
// the scripts import, and runs nothing of it.
//go:generate src/node_modules/.bin/esbuild src/main.js --bundle --minify --format=esm --target=es2022 --loader:.txt=text --legal-comments=none --banner:js=/*CodeMirror:MIT,see/page/licenses.txt*/ --outfile=assets/page.js --log-level=warning
