package server

import (
	"encoding/json"
	"errors"
)

// Agents are the product tokens of one crawler, most specific first: in JSON a string or a
// list of strings.
type Agents []string

// UnmarshalJSON reads both forms.
func (a *Agents) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*a = nil
		if one != "" && one != "*" {
			*a = Agents{one}
		}
		return nil
	}
	if json.Unmarshal(text, (*[]string)(a)) != nil {
		return errors.New(notAgents)
	}
	return nil
}

// A LineError is the answer to an invalid question of a batch.
type LineError struct {
	Error string `json:"error"`
	Code  string `json:"code"`
}
