package bulk

// Queue says where shards are messages.
type Queue struct{}

// Progress is how far a run has come.
type Progress struct{}
