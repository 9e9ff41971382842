package ask

import "strings"

// Kinds describe the values of flags and settings by the type of the flag; other types return their own errors.
var Kinds = map[string]string{
	"bool": "true or false", "int": "a whole number", "duration": "a time such as 10s or 1m30s", "size": "a size such as 64MiB or 16384",
}

// Clip limits how much of an invalid value a message repeats.
func Clip(s string) string {
	const most = 80
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

// Nearest returns the name with the fewest edits from s, "" if all differ too much.
func Nearest(s string, names []string) string {
	best := ""
	least := min(3, len(s)/2+1)
	for _, name := range names {
		if n := Edits(strings.ToLower(s), name); n < least {
			best = name
			least = n
		}
	}
	return best
}

// mostListed is how many names a message lists.
const mostListed = 20

// Hint ends a message about an unknown name: with the name that was probably meant, else with all if they are few.
func Hint(unknown string, names []string) string {
	if near := Nearest(unknown, names); near != "" {
		return " (did you mean " + near + "?)"
	}
	if len(names) > mostListed {
		return ""
	}
	return " (known: " + strings.Join(names, ", ") + ")"
}

// Edits returns how many letters must be added, dropped, changed or swapped with their
// neighbors to turn a into b; for a long a, at least the difference in length.
func Edits(a, b string) int {
	x := []rune(Clip(a))
	y := []rune(b)
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		for j := range rows[i] {
			switch {
			case i == 0 || j == 0:
				rows[i][j] = i + j
				continue
			case x[i-1] == y[j-1]:
				rows[i][j] = rows[i-1][j-1]
			default:
				rows[i][j] = 1 + min(rows[i-1][j-1], rows[i-1][j], rows[i][j-1])
			}
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				rows[i][j] = min(rows[i][j], 1+rows[i-2][j-2])
			}
		}
	}
	return rows[len(x)][len(y)]
}
