module github.com/robotskit/robots

go 1.26.0

require (
	github.com/hashicorp/golang-lru/v2 v2.0.7
	github.com/redis/rueidis v1.0.79
	go.etcd.io/bbolt v1.5.0
	golang.org/x/net v0.62.0
	golang.org/x/sync v0.24.0
	golang.org/x/tools v0.52.0
)

require (
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)
