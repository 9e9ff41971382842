package bulk

// maxDamagePerKind is how many rows of one kind of damage an input has.
const maxDamagePerKind = 100

// A damageLog collects the damage of an input: maxDamagePerKind rows of each kind, of which the
// last counts all others.
type damageLog struct {
	rows    []Damage
	lastRow map[string]int // by kind, in rows
	byKind  map[string]int64
}

func newDamageLog() *damageLog {
	return &damageLog{lastRow: map[string]int{}, byKind: map[string]int64{}}
}

func (l *damageLog) add(damage Damage) {
	l.byKind[damage.Kind]++
	if l.byKind[damage.Kind] > maxDamagePerKind {
		l.rows[l.lastRow[damage.Kind]].Count++
		return
	}
	damage.Count = 1
	damage.Detail = truncateMessage(damage.Detail)
	l.lastRow[damage.Kind] = len(l.rows)
	l.rows = append(l.rows, damage)
}
