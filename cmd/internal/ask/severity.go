package ask

import "github.com/robotskit/robots/lint"

// NeverFail is the value of --fail-on that keeps the exit status 0.
const NeverFail = "never"

// Severities are the names of severities.
func Severities() []string {
	return []string{lint.Note.String(), lint.Warning.String(), lint.Error.String()}
}

// FailLevel returns the lowest severity that fails: for a value that is no severity, above all.
func FailLevel(failOn string) lint.Severity {
	if s, ok := lint.ParseSeverity(failOn); ok {
		return s
	}
	return lint.Error + 1
}
