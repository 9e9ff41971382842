package server

import (
	"fmt"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
)

// Messages of field errors: each is the end of a sentence that begins with the name.
const (
	isMissing   = "is missing"
	isUnknown   = "is unknown"
	notBool     = "must be true or false"
	notAgents   = "must be a string or a list of strings"
	tooManyItem = "must have %d entries or fewer"
)

// wrong returns the problem of one value, whose message is the end of a sentence.
func wrong(t ProblemType, location, value, message string) *Problem {
	return NewProblem(t, describe(location)+" "+message, FieldError{Location: location, Message: message, Value: shortValue(value)})
}

// invalid returns the problem of one value that an error describes in a whole sentence.
func invalid(t ProblemType, location, value string, err error) *Problem {
	return NewProblem(t, err.Error(), FieldError{Location: location, Message: err.Error(), Value: shortValue(value)})
}

// tooMany returns a problem if a list has too many entries.
func tooMany(location string, n, most int) *Problem {
	if n <= most {
		return nil
	}
	return wrong(BadParameter, location, "", fmt.Sprintf(tooManyItem, most))
}

// outOfRange returns a problem if a number is outside its bounds.
func outOfRange(location string, v, least, most float64) *Problem {
	if least <= v && v <= most {
		return nil
	}
	message := fmt.Sprintf("must be from %.0f to %.0f", least, most)
	return NewProblem(BadParameter, describe(location)+" "+message, FieldError{Location: location, Message: message, Value: v})
}

// describe names a location for people: body.questions[3].agent is questions[3].agent.
func describe(location string) string {
	if location == "body" || location == "" {
		return "the body"
	}
	_, name, _ := strings.Cut(location, ".")
	return robots.Printable(ask.Clip(name))
}

// shortValue returns a value for a problem: text of about 80 bytes, a number or a word.
func shortValue(v any) any {
	switch v := v.(type) {
	case string:
		if v == "" {
			return nil
		}
		return strings.ToValidUTF8(ask.Clip(v), "\uFFFD")
	case bool, float64:
		return v
	}
	return nil
}

// A FieldError names an invalid value.
type FieldError struct {
	Location string `json:"location"`
	Message  string `json:"message"`
	Value    any    `json:"value,omitempty"`
}
