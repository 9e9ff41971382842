// Wasm uses what a page in a browser needs of the engine; make wasm weighs it.
package main

import "github.com/robotskit/robots"

// Variables, so that nothing is worked out by the compiler.
var dialect, url, body, agent string

func main() {
	d, _ := robots.DialectByName(dialect)
	_, path, err := robots.ParseURL(url)
	if err != nil {
		panic(err)
	}
	r := robots.Parse([]byte(body)).Rules(d, robots.ProductTokens(agent)...)
	for _, s := range r.Explain(path).Steps {
		println(s.Clause, s.Text)
	}
	println(string(r.AppendJSON(nil, path)), robots.Allowed(r.File().Bytes(), d, path), len(d.Options()))
}
