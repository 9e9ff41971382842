//go:build js

// Wasm is the engine of the page in a browser: it registers the function
// robots(verb, ...arguments) in the worker that runs it, and waits. An argument
// is a string or a Uint8Array, whose bytes are taken as they are: a file that was
// dropped on the page is bytes and no text.
package main

import (
	"syscall/js"

	"github.com/robotskit/robots/cmd/internal/server/page"
)

func main() {
	bytes := js.Global().Get("Uint8Array")
	js.Global().Set("robots", js.FuncOf(func(_ js.Value, values []js.Value) any {
		args := make([]string, len(values))
		for i, v := range values {
			if v.InstanceOf(bytes) {
				b := make([]byte, v.Get("length").Int())
				js.CopyBytesToGo(b, v)
				args[i] = string(b)
				continue
			}
			args[i] = v.String()
		}
		if len(args) == 0 {
			return page.Ask("")
		}
		return page.Ask(args[0], args[1:]...)
	}))
	if ready := js.Global().Get("ready"); ready.Type() == js.TypeFunction {
		ready.Invoke()
	}
	select {}
}
