package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"
	"github.com/robotskit/robots/internal/script"
	paceredis "github.com/robotskit/robots/pace/redis"
)

// A Finding is a problem with the servers of a fleet.
type Finding struct {
	// Check is the check that found it, one of Checks.
	Check string
	// Node is the address of the server, "" where all are meant.
	Node string
	// Text says what is wrong, Do how to fix it: a sentence each, without its full stop. Neither contains a password.
	Text, Do string
}

// Checks returns the names of the checks of Examine.
func Checks() []string {
	return []string{"reach", "rights", "version", "options", "role", "eviction", "memory", "persistence", "replicas", "clock", "latency"}
}

// The limits of Examine.
const (
	mostMemory  = 0.9                   // of maxmemory
	mostSkew    = time.Second           // between the clock of this machine and a server's
	mostLatency = 20 * time.Millisecond // of the fastest of latencyTries round trips

	latencyTries = 20
)

// Examine checks the servers at a Redis URL for what a fleet needs, and returns the problems, the worst first. It joins no fleet and
// changes nothing. An unreachable server is a finding; the error is about the URL and the options, or that of ctx.
func Examine(ctx context.Context, url string, o Options) ([]Finding, error) {
	option, prefix, err := o.check(url)
	if err != nil {
		return nil, err
	}
	client, err := dial(ctx, option)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case script.Says(err, "NOAUTH", "WRONGPASS", "NOPERM"):
		return []Finding{{Check: "rights", Text: serverName(option) + " refuses this user: " + strings.TrimSuffix(err.Error(), "."),
			Do: "give the password of the user that the URL names, and let that user connect (ACL SETUSER)"}}, nil
	case errors.Is(err, errMasterSet):
		return []Finding{{Check: "role", Text: serverName(option) + ": " + err.Error(), Do: "correct the URL"}}, nil
	case err != nil:
		return []Finding{{Check: "reach", Text: serverName(option) + " does not answer: " + err.Error(),
			Do: "start it, or correct the URL; meanwhile no worker starts a request"}}, nil
	}
	defer client.Close()
	var found []Finding
	all := nodes(ctx, client)
	if err := rights(ctx, client, all, prefix); err != nil && !errors.Is(err, context.DeadlineExceeded) { // which is a matter of reach
		found = append(
			found,
			Finding{Check: "rights", Text: err.Error(), Do: "give the user the rights listed in docs/fleet.md (ACL SETUSER), on every node"},
		)
	}
	if err := o.differ(ctx, client, prefix); err != nil {
		found = append(
			found,
			Finding{
				Check: "options", Text: err.Error(),
				Do: "start workers without the option, or change it for the fleet with robots fleet config",
			},
		)
	}
	for _, n := range all {
		found = append(found, n.examine(ctx)...)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	order := Checks()
	slices.SortStableFunc(found, func(a, b Finding) int { return slices.Index(order, a.Check) - slices.Index(order, b.Check) })
	return found, nil
}

// differ returns an error that names options that differ from the fleet's.
func (o Options) differ(ctx context.Context, client rueidis.Client, prefix string) error {
	op, err := paceredis.NewOperator(client, prefix, "")
	if err != nil {
		return err
	}
	c, _ := op.Config(ctx) // what is unreachable is another finding
	return c.Differs(o.Pace)
}

// A node is one of the servers of a fleet.
type node struct {
	addr   string
	client rueidis.Client
	among  bool              // others, in a cluster
	info   map[string]string // the fields of INFO
	err    error             // why they are not known
}

// nodes returns the servers that a client knows, in the order of their addresses, with
// their INFO.
func nodes(ctx context.Context, client rueidis.Client) []node {
	all := client.Nodes()
	list := make([]node, len(all))
	var asking sync.WaitGroup
	for i, addr := range slices.Sorted(maps.Keys(all)) {
		n := &list[i]
		*n = node{addr: addr, client: all[addr], among: client.Mode() == rueidis.ClientModeCluster}
		asking.Go(func() { n.info, n.err = infoOf(ctx, n.client) })
	}
	asking.Wait()
	return list
}

// infoLimit is how long a server may take to say how it is.
const infoLimit = 2 * time.Second

// infoOf returns the fields of a server's INFO.
func infoOf(ctx context.Context, c rueidis.Client) (map[string]string, error) {
	limited, cancel := context.WithTimeout(ctx, infoLimit)
	defer cancel()
	text, err := c.Do(limited, c.B().Info().Build()).ToString()
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("nothing within %s", infoLimit)
	}
	if err != nil {
		return nil, err
	}
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok {
			info[name] = value
		}
	}
	return info, nil
}

func (n *node) number(field string) float64 {
	v, _ := strconv.ParseFloat(n.info[field], 64) // 0 for a field that this server does not have
	return v
}

// replica reports whether a server follows another one.
func (n *node) replica() bool { return n.info["role"] == "slave" }

// evicts returns the policy by which a server drops keys, "" if it drops none, or is a
// replica, or the user may not use INFO.
func (n *node) evicts() string {
	if policy := n.info["maxmemory_policy"]; policy != "noeviction" && (!n.among || !n.replica()) {
		return policy
	}
	return ""
}

// tooOld returns the version of a server whose scripts have no flags, "" if the version is
// 7.0 or later, or missing.
func (n *node) tooOld() string {
	version := n.info["redis_version"]
	major, _, _ := strings.Cut(version, ".")
	if number, err := strconv.Atoi(major); err != nil || number >= 7 {
		return ""
	}
	return version
}

// examine returns what is wrong with a server.
func (n *node) examine(ctx context.Context) (found []Finding) {
	add := func(check, do, text string, args ...any) {
		found = append(found, Finding{Check: check, Node: n.addr, Text: fmt.Sprintf(text, args...), Do: do})
	}
	switch {
	case script.Says(n.err, "NOPERM"):
		add("rights", "ACL SETUSER NAME +info", "the user may not use INFO, which the scripts need")
	case n.err != nil:
		add("reach", "look at its log; until it is back no request to its sites starts", "it does not answer: %v", n.err)
		return found
	default:
		n.examineInfo(n.refusedWrite(ctx), add)
	}
	n.measure(ctx, add)
	return found
}

// refusedWrite returns the error with which a primary refuses permits at present.
func (n *node) refusedWrite(ctx context.Context) *script.WriteError {
	if n.err != nil || n.replica() || n.info["redis_mode"] == "sentinel" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, infoLimit)
	defer cancel()
	return script.RefusedWrite(ctx, n.client)
}

// examineInfo compares the fields of INFO with what a fleet needs, refused is why a primary takes no
// writes, nil if it does.
func (n *node) examineInfo(refused *script.WriteError, add func(check, do, text string, args ...any)) {
	if n.info["redis_mode"] == "sentinel" {
		add("role", "add ?master_set=NAME to the URL", "it is a Sentinel, which keeps no data")
		return
	}
	if version := n.tooOld(); version != "" {
		add("version", "install Redis 7.0 or later, or Valkey", "it is version %s, which does not know the scripts of a fleet", version)
	}
	if n.replica() && !n.among {
		add("role", "name its primary, or the sentinels with ?master_set=NAME", "it is a replica and takes no writes")
	}
	if policy := n.evicts(); policy != "" {
		add(
			"eviction", "CONFIG SET maxmemory-policy noeviction, and the same in its file",
			"maxmemory-policy is %s: a full server drops the state of sites", policy,
		)
	}
	if dropped := n.number("evicted_keys"); dropped > 0 {
		add("eviction", "give it more memory, and noeviction", "it has dropped %.0f keys to make room since it was started", dropped)
	}
	full := false
	if refused != nil {
		check := "persistence"
		do := "free its disk, and look at its log"
		switch refused.Word {
		case "OOM":
			full = true
			check = "memory"
			do = "CONFIG SET maxmemory to more, or add a node and move slots to it"
		case "NOREPLICAS":
			check = "replicas"
			do = "start its replicas, or CONFIG SET min-replicas-to-write to fewer"
		}
		add(check, do, "no request to its sites starts, since it refuses writes: %v", refused)
	}
	used := n.number("used_memory")
	most := n.number("maxmemory")
	switch {
	case full:
	case most == 0:
		add(
			"memory", "CONFIG SET maxmemory to what the machine can spare, less a third for a fork, and the same in its file",
			"maxmemory is not set: the server grows until the system ends it",
		)
	case used > mostMemory*most:
		add(
			"memory", "CONFIG SET maxmemory to more, or add a node and move slots to it",
			"%.0f %% of its memory are used (%.0f of %.0f MiB); when it is full its sites get no permits", 100*used/most, used/(1<<20),
			most/(1<<20),
		)
	}
	switch {
	case n.info["aof_enabled"] == "0":
		add(
			"persistence", "CONFIG SET appendonly yes, and the same in its file; appendfsync everysec is enough",
			"it has no append-only file: a restart loses records, and every site rests for an interval",
		)
	case n.info["aof_last_write_status"] == "err", n.info["aof_last_bgrewrite_status"] == "err":
		add("persistence", "free its disk, and look at its log", "its last write to the append-only file failed")
	}
	if n.info["rdb_last_bgsave_status"] == "err" {
		add(
			"persistence", "free its disk, and look at its log",
			"its last snapshot failed, and by stop-writes-on-bgsave-error it takes no writes then",
		)
	}
	if n.among && !n.replica() && n.info["connected_slaves"] == "0" {
		add(
			"replicas", "give it a replica on another machine (redis-cli --cluster add-node ... --cluster-slave)",
			"it has no replica: while it is unreachable no request to its sites starts",
		)
	}
	if n.replica() && n.info["master_link_status"] == "down" {
		add("replicas", "look at its log and at the network to its primary", "it has lost its primary and falls behind")
	}
}

// measure compares a server's clock with that of this machine, and takes the time of round
// trips. Only the fastest counts, as a busy machine makes any other slow.
func (n *node) measure(ctx context.Context, add func(check, do, text string, args ...any)) {
	var fastest, skew time.Duration
	for i := range latencyTries {
		sent := time.Now()
		reply, err := n.client.Do(ctx, n.client.B().Time().Build()).AsIntSlice()
		took := time.Since(sent)
		if err != nil || len(reply) != 2 {
			return // what is wrong then is a finding of another check
		}
		if i == 0 || took < fastest {
			fastest = took
			skew = time.Unix(reply[0], reply[1]*1000).Sub(sent.Add(took / 2))
		}
	}
	if fastest > mostLatency {
		add(
			"latency", "run the workers near the server: a page takes two round trips or three", "a round trip takes %s or more",
			fastest.Round(time.Millisecond),
		)
	}
	if off := skew.Abs(); off-fastest/2 > mostSkew {
		way := "ahead of"
		if skew < 0 {
			way = "behind"
		}
		add(
			"clock", "have NTP set both; Visit-time and Request-rate hold by the server's clock",
			"its clock is %s %s that of this machine", off.Round(time.Millisecond), way,
		)
	}
}
