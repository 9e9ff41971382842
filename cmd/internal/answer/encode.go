package answer

import "encoding/json"

// JSON encodes an answer for the HTTP API, the page and its engine in browsers. It panics on values that JSON
// lacks, which no answer has.
func JSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}
