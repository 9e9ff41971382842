package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"
	"github.com/robotskit/robots"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/redis"
)

const (
	// get is as many GET commands as a page takes scripts.
	get         = "get"
	pageScripts = 3 // Acquire, Start at an address, Release

	redisSites = 200 // in turn, so that each is ready
)

// redisPages compares the CPU time of a redis-server for the scripts of a page with that for GET commands over the same
// connection.
func redisPages(n int) *work {
	if _, err := exec.LookPath("redis-server"); err != nil {
		return &work{skipped: "no redis-server on this machine"}
	}
	return &work{ops: n, children: true, engines: []engine{redisServer(ours, n, pagesOf), redisServer(get, n, getsOf)}}
}

// redisServer returns an engine that starts a server, requests so many pages, and adds the CPU time of the server for them.
// Pages returns a function for each page, and one for the end.
func redisServer(name string, n int, pages func(client rueidis.Client) (page func(i int), end func())) engine {
	return engine{name, func(int) (made int) {
		address := unusedAddress()
		_, port, _ := net.SplitHostPort(address)
		_, stop := startServer(
			exec.Command("redis-server", "--bind", "127.0.0.1", "--port", port, "--save", ""), regexp.MustCompile(`Ready to accept`),
		)
		defer stop()
		client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{address}, DisableCache: true, PipelineMultiplex: -1})
		if err != nil {
			panic(err)
		}
		defer client.Close()
		page, end := pages(client)
		defer end()
		var first sync.WaitGroup
		for i := range redisSites { // the first page of an address waits
			first.Go(func() { page(i) })
		}
		first.Wait()
		before := redisTime(client)
		for i := range n {
			page(i)
		}
		childTime += redisTime(client) - before
		return n
	}}
}

// unusedAddress returns an address on which a server can listen.
func unusedAddress() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// redisTime returns the CPU time of a server.
func redisTime(client rueidis.Client) (sum time.Duration) {
	text, err := client.Do(context.Background(), client.B().Info().Section("cpu").Build()).ToString()
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"used_cpu_sys", "used_cpu_user"} {
		_, value, _ := strings.Cut(text, name+":")
		value, _, _ = strings.Cut(value, "\r")
		seconds, err := strconv.ParseFloat(value, 64)
		if err != nil {
			panic(err)
		}
		sum += time.Duration(seconds * float64(time.Second))
	}
	return sum
}

// pagesOf requests pages of sites in turn, each site at an address of its own.
func pagesOf(client rueidis.Client) (page func(i int), end func()) {
	const interval = time.Millisecond
	limiter, err := redis.New(client, redis.Options{Options: pace.Options{AddressInterval: interval}})
	if err != nil {
		panic(err)
	}
	schedule, err := pace.NewSchedule(nil, pace.Policy{Default: interval})
	if err != nil {
		panic(err)
	}
	requests := make([]pace.Request, redisSites)
	for i := range requests {
		origin, _, err := robots.ParseURL(fmt.Sprintf("http://site-%07d.example/", i))
		if err != nil {
			panic(err)
		}
		requests[i] = pace.Request{Origin: origin, Schedule: schedule}
	}
	page = func(i int) {
		site := i % redisSites
		for result := (pace.Result{Unused: true}); result.Unused; {
			p, err := limiter.Acquire(context.Background(), requests[site])
			if err != nil {
				panic(err)
			}
			if err = limiter.Start(context.Background(), p, netip.AddrFrom4([4]byte{192, 0, 2, byte(site)})); err == nil {
				result = pace.Result{Status: 200}
			} else if !errors.As(err, new(*pace.MissedError)) { // which a busy machine can cause
				panic(err)
			}
			if err := limiter.Release(context.Background(), p, result); err != nil {
				panic(err)
			}
		}
	}
	return page, func() { _ = limiter.Close() }
}

// getsOf reads a value with the number of commands that a page takes.
func getsOf(client rueidis.Client) (page func(i int), end func()) {
	do := func(command rueidis.Completed) {
		if err := client.Do(context.Background(), command).Error(); err != nil {
			panic(err)
		}
	}
	const key = "site"
	do(client.B().Set().Key(key).Value(strings.Repeat("x", 64)).Build())
	page = func(int) {
		for range pageScripts {
			do(client.B().Get().Key(key).Build())
		}
	}
	return page, func() {}
}
