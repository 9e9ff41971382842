package web

// The scripts of the page in one file. npm ci --ignore-scripts in src downloads what
// they import: npm runs nothing of it.
//go:generate go run github.com/evanw/esbuild/cmd/esbuild@v0.28.2 src/main.js --bundle --minify --format=esm --target=es2022 --loader:.txt=text --legal-comments=none --banner:js=/*CodeMirror:MIT,see/page/licenses.txt*/ --outfile=assets/page.js --log-level=warning
